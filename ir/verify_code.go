package ir

import "fmt"

// codeVerifier checks one function. It first checks each instruction separately, then the dataflow.
type codeVerifier struct {
	*verifier
	index int
	f     *Function
	// begun counts the ListenBegin instructions of each listen. There must be exactly one for each
	// listen, because the handlers use the registers with the classes that they have at that
	// instruction.
	begun []int
	// handler is a description of the handler whose block is checked, or "".
	handler string
}

// function checks function i. It reuses the memory of fl.
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

// where and at describe a position for a message. The text is only built if there is a message,
// because a correct program passes thousands of checks.
func (c *codeVerifier) where() fmt.Stringer              { return c }
func (c *codeVerifier) at(pc int, in Instr) fmt.Stringer { return codePlace{c, pc, in} }

func (c *codeVerifier) String() string {
	return fmt.Sprintf("function %d (%s)%s", c.index, c.f.Name, c.handler)
}

// codePlace is the place of an instruction in a function.
type codePlace struct {
	c  *codeVerifier
	pc int
	in Instr
}

func (p codePlace) String() string { return fmt.Sprintf("%s, @%d %s", p.c, p.pc, p.in) }

// block checks each instruction of a block separately.
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
		c.instruction(pc, i, info, site{c.p, c.f, handler}, n)
	}
	last := b.Code[n-1]
	c.check(Shapes[last.Op].Ends, "%s: control runs off the end, after %s", c.where(), last)
	before := -1
	for _, p := range b.Positions {
		if p.PC <= before || p.PC >= n || p.Line < 0 || p.Column < 0 {
			c.check(false, "%s: position %d:%d:%d", c.where(), p.PC, p.Line, p.Column)
		}
		before = p.PC
	}
	c.regions(b)
	c.inlined(b)
	c.locals(b.Locals, 0, n)
	for i := range b.Inlined {
		c.locals(b.Inlined[i].Locals, b.Inlined[i].From, b.Inlined[i].To)
	}
}

// inlined checks that inlined calls nest, and that inner calls come first.
func (c *codeVerifier) inlined(b *Block) {
	for i, r := range b.Inlined {
		ok := r.From >= 0 && r.From < r.To && r.To <= len(b.Code) && r.Line >= 0 && r.Column >= 0
		c.check(ok, "%s: inlined %d %d is out of bounds", c.where(), r.From, r.To)
		c.check(in(r.Function, len(c.p.Functions)), "%s: inlined %d %d: there is no function %d", c.where(), r.From, r.To, r.Function)
		for _, q := range b.Inlined[:i] {
			apart := q.To <= r.From || r.To <= q.From
			within := r.From <= q.From && q.To <= r.To
			c.check(apart || within, "%s: inlined %d %d and inlined %d %d overlap or are in the wrong order", c.where(), q.From, q.To, r.From, r.To)
		}
	}
}

// instruction checks one instruction in a block of length instructions.
func (c *codeVerifier) instruction(pc int, i Instr, info *Info, at site, length int) {
	if info.Since > c.minor {
		c.check(false, "%s: a program of version 1.%d cannot hold it: it came with 1.%d", c.at(pc, i), c.minor, info.Since)
	}
	for k := range info.Operands {
		if wrong := c.operand(pc, i, &info.Operands[k], &at, length); wrong != "" {
			c.check(false, "%s: operand %s: %s", c.at(pc, i), info.Operands[k].Name, wrong)
			return
		}
	}
	if info.Traits.Has(Returns) {
		class := Full
		if len(info.Operands) > 0 {
			class = info.Operands[0].Class
		}
		if wrong := at.back(class); wrong != "" {
			c.check(false, "%s: %s", c.at(pc, i), wrong)
		}
	}
	if from, n, _ := c.p.Window(i); from+n > c.f.Registers {
		c.check(false, "%s: its window reaches beyond the registers", c.at(pc, i))
	}
}

// operand returns a description of the error in an operand, or "".
func (c *codeVerifier) operand(pc int, i Instr, o *Operand, at *site, length int) (wrong string) {
	x := i.Get(o.Field)
	ok := true
	switch o.Role {
	case RoleRead, RoleWrite, RoleModify, RoleFrame:
		ok = x >= 1 && x < c.f.Registers
	case RoleWindow:
		ok = x >= 1 && x <= c.f.Registers
	case RoleLiteral:
	case RoleTarget:
		ok = x > pc && x < length
	case RoleBack:
		ok = in(x, length)
	default:
		n, indexes := c.p.Indexed(o.Role, c.f)
		ok = indexes && in(x, n)
		if ok && o.Role == RoleListen {
			c.begun[x]++
		}
	}
	switch {
	case !ok:
		return "it is out of bounds"
	case o.rule != nil:
		return o.rule(at, i, x)
	}
	return ""
}

// regions checks that regions nest, that inner regions come first, and that their targets are later
// instructions.
func (c *codeVerifier) regions(b *Block) {
	for i, r := range b.Regions {
		ok := r.From >= 0 && r.From < r.To && r.To <= len(b.Code) && r.Target >= r.To && r.Target < len(b.Code)
		c.check(ok, "%s: region catch %d %d %d is out of bounds", c.where(), r.From, r.To, r.Target)
		c.check(r.Register >= 1 && r.Register < c.f.Registers, "%s: region register r%d is no register", c.where(), r.Register)
		for _, q := range b.Regions[:i] {
			apart := q.To <= r.From || r.To <= q.From
			within := r.From <= q.From && q.To <= r.To
			c.check(apart || within, "%s: regions catch %d %d and catch %d %d overlap or are in the wrong order", c.where(), q.From, q.To, r.From, r.To)
		}
	}
}
