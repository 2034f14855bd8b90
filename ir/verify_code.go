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

func (v *verifier) function(i int) {
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
		c.flow()
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
}

func (c *codeVerifier) operand(pc int, i Instr, o Operand, n int) {
	p, x := c.p, i.get(o.Field)
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
		ok = in(x, n) && (x > pc || i.Op == OpForInt || i.Op == OpLoop)
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
	at := func() fmt.Stringer { return c.at(pc, i) }
	switch i.Op {
	case OpLoadIntConst:
		c.check(c.p.Constants[i.Imm].Int != nil, "%s: the constant is no Int", at())
	case OpLoadFloatConst:
		c.check(c.p.Constants[i.Imm].Float != nil, "%s: the constant is no Float", at())
	case OpLoadBool:
		c.check(in(int(i.Imm), 2), "%s: not 0 or 1", at())
	case OpSlice, OpNewRange:
		c.check(in(int(i.Imm), 2), "%s: not 0 or 1", at())
	case OpDivIntK, OpRemIntK:
		c.check(i.Imm != 0, "%s: division by zero", at())
	case OpAnyBinary:
		c.check(in(int(i.Imm), int(AnyGe)+1), "%s: unknown operator", at())
	case OpCallMethod:
		c.text(pc, i)
		c.check(i.B > 0, "%s: a method needs a receiver", at())
	case OpPerform:
		c.text(pc, i)
		c.check(i.C <= 1, "%s: wrap is neither 0 nor 1", at())
	case OpAnyField, OpAnySetField, OpAnyOwnField, OpFault:
		c.text(pc, i)
	case OpErrorField:
		k := c.text(pc, i)
		c.check(k == "message" || k == "kind" || k == "source", "%s: %q is no field of every error", at(), k)
	case OpLoadFunction:
		f := &c.p.Functions[i.Imm]
		c.check(f.ABI == FullABI && f.Captures == 0, "%s: the function cannot be called indirectly", at())
	case OpNewClosure:
		f := &c.p.Functions[i.Imm]
		c.check(f.ABI == FullABI && f.Captures == int(i.C), "%s: the function takes %d captures, abi %s", at(), f.Captures, f.ABI)
	case OpSpawn:
		f := &c.p.Functions[i.Imm]
		c.check(f.ABI == FullABI && f.Captures == 0 && !f.Body && len(f.Params) == int(i.C),
			"%s: the function takes %d arguments and %d captures, abi %s", at(), len(f.Params), f.Captures, f.ABI)
	case OpRace:
		c.check(i.C > 0, "%s: a race of nobody", at())
	case OpReturnLeft:
		c.check(c.f.Body && !handler, "%s: outside the body of a concurrent expression", at())
	case OpCall:
		c.check(c.p.Functions[i.Imm].Captures == 0, "%s: the function needs a closure", at())
	case OpCaptured:
		c.check(int(i.B) < c.f.Captures, "%s: the function has %d captures", at(), c.f.Captures)
	case OpCallNative:
		c.check(i.C <= 1, "%s: wrap is neither 0 nor 1", at())
	case OpAwaitEmit:
		c.check(i.B == 1 || i.B == 2, "%s: takes one or two arguments", at())
	case OpNewStruct:
		kind := c.p.Types[i.Imm].Kind
		c.check(kind == "struct" || kind == "schema" || kind == "error" && c.p.Types[i.Imm].Name != "", "%s: %s is no struct", at(), kind)
	case OpNewVariant:
		t := &c.p.Types[i.Imm]
		c.check(t.Kind == "enum" && int(i.C) < len(t.Variants), "%s: no such variant", at())
	case OpReturn, OpReturnNil:
		c.returns(pc, i, Full, handler)
	case OpReturnInt:
		c.returns(pc, i, Int, handler)
	case OpReturnFloat:
		c.returns(pc, i, Float, handler)
	case OpReturnBool:
		c.returns(pc, i, Bool, handler)
	case OpBlockEnd, OpBlockReply:
		c.check(handler, "%s: outside a handler", at())
	case OpListenBegin:
		c.begun[i.Imm]++
	}
	if c.err != nil {
		return
	}
	if w, ok := windowOf(c.p, i); ok && (w.from+w.n > c.f.Registers || w.call && w.from > c.f.Registers) {
		c.check(false, "%s: its window reaches beyond the registers", at())
	}
}

func (c *codeVerifier) returns(pc int, i Instr, class Class, handler bool) {
	c.check(!handler, "%s: within a handler", c.at(pc, i))
	c.check(c.f.Result == class, "%s: the function's result is %s", c.at(pc, i), c.f.Result)
}

// text gives the constant operand, which must be a String.
func (c *codeVerifier) text(pc int, i Instr) string {
	k := c.p.Constants[i.Imm]
	if !c.check(k.String != nil, "%s: the constant is no String", c.at(pc, i)) {
		return ""
	}
	return *k.String
}
