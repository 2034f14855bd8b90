package ir

import "fmt"

// codeVerifier checks one function: first each instruction by itself, then
// what flows between them.
type codeVerifier struct {
	*verifier
	index int
	f     *Function
	// begun counts the ListenBegin of each listen: its handlers run over the
	// registers of one place.
	begun []int
	// handler names the handler whose block is checked, "" for the function.
	handler string
}

// function checks the i-th function, using the memory of the flow before.
func (v *verifier) function(i int, fl *flow) {
	c := &codeVerifier{verifier: v, index: i, f: &v.p.Functions[i], begun: make([]int, len(v.p.Functions[i].Listens))}
	c.block(&c.f.Block, false)
	for li := range c.f.Listens {
		l := &c.f.Listens[li]
		c.check(l.Host == -1 || in(l.Host, len(v.p.Hosts)), "%s: listen %d: there is no host %d", c.where(), li, l.Host)
		for hi := range l.Handlers {
			h := &l.Handlers[hi]
			c.handler = fmt.Sprintf(", listen %d, handler %q", li, h.Type)
			c.check(h.Param >= 1 && h.Param < c.f.Registers, "%s: parameter r%d is no register", c.where(), h.Param)
			c.check(h.Schema == -1 || in(h.Schema, len(v.p.Types)), "%s: there is no type %d", c.where(), h.Schema)
			c.block(&h.Block, true)
		}
		c.handler = ""
	}
	for li, n := range c.begun {
		c.check(n == 1, "%s: listen %d is begun at %d places", c.where(), li, n)
	}
	if v.err == nil {
		fl.run(c)
	}
}

// where and at name a place for messages; the text is made only when one is
// shown, since a correct program passes thousands of checks.
func (c *codeVerifier) where() fmt.Stringer              { return c }
func (c *codeVerifier) at(pc int, in Instr) fmt.Stringer { return codePlace{c, pc, in} }

func (c *codeVerifier) String() string {
	return fmt.Sprintf("function %d (%s)%s", c.index, c.f.Name, c.handler)
}

// codePlace is an instruction of a function.
type codePlace struct {
	c  *codeVerifier
	pc int
	in Instr
}

func (p codePlace) String() string { return fmt.Sprintf("%s, @%d %s", p.c, p.pc, p.in) }

// rule is check of one instruction.
func (c *codeVerifier) rule(ok bool, pc int, i Instr, format string, args ...any) {
	if !ok {
		c.check(false, "%s: %s", c.at(pc, i), fmt.Sprintf(format, args...))
	}
}

// block checks what can be seen of each instruction alone.
func (c *codeVerifier) block(b *Block, handler bool) {
	n := len(b.Code)
	if !c.check(n > 0, "%s: no instructions", c.where()) {
		return
	}
	for pc, i := range b.Code {
		info := Describe(i.Op)
		if info == nil {
			c.check(false, "%s, @%d: there is no op %d", c.where(), pc, i.Op)
			return
		}
		for _, o := range info.Operands {
			c.operand(pc, i, o, n)
		}
		c.special(pc, i, handler)
	}
	last := b.Code[n-1]
	c.check(Describe(last.Op).Ends, "%s: control runs off the end, after %s", c.where(), last)
	before := -1
	for _, p := range b.Positions {
		if p.PC <= before || p.PC >= n || p.Line < 0 || p.Column < 0 {
			c.check(false, "%s: position %d:%d:%d", c.where(), p.PC, p.Line, p.Column)
		}
		before = p.PC
	}
	c.regions(b)
	c.inlined(b)
}

// inlined calls must nest, the inner ones listed first.
func (c *codeVerifier) inlined(b *Block) {
	for i, r := range b.Inlined {
		ok := r.From >= 0 && r.From < r.To && r.To <= len(b.Code) && r.Line >= 0 && r.Column >= 0
		c.check(ok, "%s: inlined %d %d is out of bounds", c.where(), r.From, r.To)
		c.check(in(r.Function, len(c.p.Functions)), "%s: inlined %d %d: there is no function %d", c.where(), r.From, r.To, r.Function)
		for _, q := range b.Inlined[:i] {
			apart := q.To <= r.From || r.To <= q.From
			within := r.From <= q.From && q.To <= r.To
			c.check(apart || within, "%s: inlined %d %d and inlined %d %d overlap or stand in the wrong order", c.where(), q.From, q.To, r.From, r.To)
		}
	}
}

func (c *codeVerifier) operand(pc int, i Instr, o Operand, n int) {
	p, x := c.p, i.Get(o.Field)
	ok := true
	switch o.Role {
	case RoleRead, RoleWrite, RoleModify:
		ok = x >= 1 && x < c.f.Registers
	case RoleWindow:
		ok = x >= 1 && x <= c.f.Registers
	case RoleConstant:
		ok = in(x, len(p.Constants))
	case RoleFunction:
		ok = in(x, len(p.Functions))
	case RoleNative:
		ok = in(x, len(p.Natives))
	case RoleType:
		ok = in(x, len(p.Types))
	case RoleListen:
		ok = in(x, len(c.f.Listens))
	case RoleDeclared:
		ok = in(x, c.declared(i.Op))
	case RoleTarget:
		ok = in(x, n) && (x > pc || i.Op == OpForInt || i.Op == OpForIntTo || i.Op == OpLoop)
	}
	if !ok {
		c.check(false, "%s: operand %s is out of bounds", c.at(pc, i), o.Name)
	}
}

// declared counts what a Declared operand of op indexes.
func (c *codeVerifier) declared(op Op) int {
	switch op {
	case OpLoadAgent:
		return len(c.p.Agents)
	case OpLoadHost:
		return len(c.p.Hosts)
	case OpLoadTool:
		return len(c.p.Tools)
	case OpLoadStore:
		return len(c.p.Stores)
	}
	panic("ir: " + op.String() + " has no declarations")
}

// regions must nest, be listed innermost first, and lead forwards.
func (c *codeVerifier) regions(b *Block) {
	for i, r := range b.Regions {
		ok := r.From >= 0 && r.From < r.To && r.To <= len(b.Code) && r.Target >= r.To && r.Target < len(b.Code)
		c.check(ok, "%s: region catch %d %d %d is out of bounds", c.where(), r.From, r.To, r.Target)
		c.check(r.Register >= 1 && r.Register < c.f.Registers, "%s: region register r%d is no register", c.where(), r.Register)
		for _, q := range b.Regions[:i] {
			apart := q.To <= r.From || r.To <= q.From
			within := r.From <= q.From && q.To <= r.To
			c.check(apart || within, "%s: regions catch %d %d and catch %d %d overlap or stand in the wrong order", c.where(), q.From, q.To, r.From, r.To)
		}
	}
}

// special checks what the table's roles do not say.
func (c *codeVerifier) special(pc int, i Instr, handler bool) {
	if c.err != nil {
		return
	}
	switch i.Op {
	case OpLoadIntConst:
		c.rule(c.p.Constants[i.Imm].Int != nil, pc, i, "the constant is no Int")
	case OpLoadFloatConst:
		c.rule(c.p.Constants[i.Imm].Float != nil, pc, i, "the constant is no Float")
	case OpLoadBool:
		c.rule(in(int(i.Imm), 2), pc, i, "not 0 or 1")
	case OpSlice, OpNewRange:
		c.rule(in(int(i.Imm), 2), pc, i, "not 0 or 1")
	case OpDivIntK, OpRemIntK:
		c.rule(i.Imm != 0, pc, i, "division by zero")
	case OpAnyBinary:
		c.rule(in(int(i.Imm), int(AnyGe)+1), pc, i, "unknown operator")
	case OpCallMethod:
		c.text(pc, i)
		c.rule(i.B > 0, pc, i, "a method needs a receiver")
	case OpPerform:
		c.text(pc, i)
		c.rule(i.C <= 1, pc, i, "wrap is neither 0 nor 1")
	case OpAnyField, OpAnySetField, OpAnyOwnField, OpFault:
		c.text(pc, i)
	case OpErrorField:
		k := c.text(pc, i)
		c.rule(k == "message" || k == "kind" || k == "source", pc, i, "%q is no field of every error", k)
	case OpLoadFunction:
		f := &c.p.Functions[i.Imm]
		c.rule(f.ABI == FullABI && f.Captures == 0, pc, i, "the function cannot be called indirectly")
	case OpNewClosure:
		f := &c.p.Functions[i.Imm]
		c.rule(f.ABI == FullABI && f.Captures == int(i.C), pc, i, "the function takes %d captures, abi %s", f.Captures, f.ABI)
	case OpSpawn:
		f := &c.p.Functions[i.Imm]
		c.rule(f.ABI == FullABI && f.Captures == 0 && !f.Body && len(f.Params) == int(i.C), pc, i, "the function takes %d arguments and %d captures, abi %s", len(f.Params), f.Captures, f.ABI)
	case OpRace:
		c.rule(i.C > 0, pc, i, "a race of nobody")
	case OpReturnLeft:
		c.rule(c.f.Body && !handler, pc, i, "outside the body of a concurrent expression")
	case OpCall:
		c.rule(c.p.Functions[i.Imm].Captures == 0, pc, i, "the function needs a closure")
	case OpCaptured:
		c.rule(int(i.B) < c.f.Captures, pc, i, "the function has %d captures", c.f.Captures)
	case OpCallNative:
		c.rule(i.C <= 1, pc, i, "wrap is neither 0 nor 1")
	case OpAwaitEmit, OpAwaitEmitAs:
		c.rule(i.B == 1 || i.B == 2, pc, i, "takes one or two arguments")
	case OpNewStruct:
		kind := c.p.Types[i.Imm].Kind
		c.rule(kind == "struct" || kind == "schema" || kind == "error" && c.p.Types[i.Imm].Name != "", pc, i, "%s is no struct", kind)
	case OpNewVariant:
		t := &c.p.Types[i.Imm]
		c.rule(t.Kind == "enum" && int(i.C) < len(t.Variants), pc, i, "no such variant")
	case OpReturn, OpReturnNil:
		c.returns(pc, i, Full, handler)
	case OpReturnInt:
		c.returns(pc, i, Int, handler)
	case OpReturnFloat:
		c.returns(pc, i, Float, handler)
	case OpReturnBool:
		c.returns(pc, i, Bool, handler)
	case OpBlockEnd, OpBlockReply:
		c.rule(handler, pc, i, "outside a handler")
	case OpListenBegin:
		c.begun[i.Imm]++
	}
	if c.err != nil {
		return
	}
	if w, ok := WindowOf(c.p, i); ok && (w.From+w.N > c.f.Registers || w.Call && w.From > c.f.Registers) {
		c.rule(false, pc, i, "its window reaches beyond the registers")
	}
}

func (c *codeVerifier) returns(pc int, i Instr, class Class, handler bool) {
	c.rule(!handler, pc, i, "within a handler")
	c.rule(c.f.Result == class, pc, i, "the function's result is %s", c.f.Result)
}

// text gives the constant operand, which must be a String.
func (c *codeVerifier) text(pc int, i Instr) string {
	k := c.p.Constants[i.Imm]
	if k.String == nil {
		c.rule(false, pc, i, "the constant is no String")
		return ""
	}
	return *k.String
}
