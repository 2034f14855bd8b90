package ir

// The dataflow: the class of each register before each instruction. Joins only turn a class into
// Unset, so the iteration terminates.

// flow is the dataflow of one function. Its memory is reused for further functions.
type flow struct {
	c *codeVerifier
	// listens contains, for each listen, the state of the registers below its window. This is the
	// state at the start of its handlers and after the listen.
	listens []Classes

	depth int     // number of nested blocks that are being visited
	walks []*walk // one walk for each depth of nesting
	slab  []Class // memory for the states of functions
	used  int     // number of elements of slab that the current function uses

	seen func(b *Block, pc int, s Classes) // set by States: receives the state before each instruction
}

// run computes the dataflow of the function's body. Handlers are visited at their listen.
func (fl *flow) run(c *codeVerifier) {
	fl.c, fl.listens, fl.depth, fl.used = c, nil, 0, 0
	if n := len(c.f.Listens); n > 0 {
		fl.listens = make([]Classes, n)
	}
	entry := fl.registers(c.f.Registers)
	clear(entry)
	copy(entry[1:], c.f.Params)
	fl.block(&c.f.Block, entry, nil)
}

// registers allocates a state of n registers. It is valid until the next function is checked.
func (fl *flow) registers(n int) Classes {
	if fl.used+n > len(fl.slab) {
		fl.slab, fl.used = make([]Class, max(4096, n)), 0
	}
	s := fl.slab[fl.used : fl.used+n : fl.used+n]
	fl.used += n
	return s
}

func (fl *flow) clone(s Classes) Classes {
	t := fl.registers(len(s))
	copy(t, s)
	return t
}

// block computes the states of b from its entry state and checks each instruction with the state
// before it. If visit is not nil, it receives the state before each instruction in every iteration.
// It may receive several states for one instruction, and must join them.
func (fl *flow) block(b *Block, entry Classes, visit func(s Classes)) {
	if fl.depth == len(fl.walks) {
		fl.walks = append(fl.walks, &walk{fl: fl})
	}
	w := fl.walks[fl.depth]
	fl.depth++
	w.block, w.code, w.visit = b, b.Code, visit
	w.graph.Build(b.Code, b.Regions)
	copy(w.states.Start(len(w.graph.Runs), len(entry)), entry)
	w.states.Solve(&w.graph, w)
	fl.depth--
}

// walk is the dataflow of one block.
type walk struct {
	fl     *flow
	block  *Block
	code   []Instr
	graph  Graph
	states Forward[Class]
	lost   Classes // buffer for the state after an error in a call
	visit  func(s Classes)
}

// Step checks one instruction with the state before it.
func (w *walk) Step(pc int, s, raised []Class) {
	c, i := w.fl.c, w.code[pc]
	if c.err != nil {
		return
	}
	if w.visit != nil {
		w.visit(s)
	}
	w.raise(i, s, raised)
	if w.fl.seen != nil && i.Op != OpListenBegin {
		w.fl.seen(w.block, pc, s)
	}
	c.step(pc, i, s)
	if i.Op == OpListenBegin && c.err == nil {
		copy(s, w.fl.listen(i, s))
		if w.fl.seen != nil {
			w.fl.seen(w.block, pc, s)
		}
		w.raise(i, s, raised)
		s[i.A] = Full
	}
}

// raise meets raised with the state after an error of the instruction. s is the state before the
// instruction.
func (w *walk) raise(i Instr, s, raised Classes) {
	if raised == nil {
		return
	}
	if Shapes[i.Op].Frame {
		s = append(w.lost[:0], s...)
		w.lost = s
		w.fl.c.calls.Raised(i, s)
	}
	raised.Meet(s)
}

// Catch makes the error readable at the target of a region.
func (w *walk) Catch(s []Class, register int) { s[register] = Full }

// Meet retains the registers that are readable in both states.
func (w *walk) Meet(s, t []Class) bool { return Classes(s).Meet(t) }

// listen visits the handlers of a listen with the state s. It returns the state after the listen,
// for which it assumes that a handler may be left at any instruction.
func (fl *flow) listen(i Instr, s Classes) Classes {
	n, base := int(i.Imm), int(i.A)
	s = fl.clone(s)
	clear(s[base:])
	switch state := fl.listens[n]; {
	case state == nil:
		fl.listens[n] = s
	case !state.Meet(s):
		return fl.clone(state)
	}
	state := fl.listens[n]
	for changed := true; changed && fl.c.err == nil; {
		changed = false
		for hi := range fl.c.f.Listens[n].Handlers {
			h := &fl.c.f.Listens[n].Handlers[hi]
			entry := fl.clone(state)
			entry[h.Param] = Full
			outer := fl.c.handler
			fl.c.handler = outer + ", handler \"" + h.Type + "\""
			fl.block(&h.Block, entry, func(at Classes) {
				changed = state[:base].Meet(at[:base]) || changed
			})
			if fl.c.err != nil {
				return state
			}
			fl.c.handler = outer
		}
	}
	return fl.clone(state)
}

// step checks the registers that instruction i reads in state s, and then changes s to the state
// after i.
func (c *codeVerifier) step(pc int, i Instr, s Classes) {
	shape := &Shapes[i.Op]
	for _, r := range shape.Reads {
		if n := i.Get(r.Field); !s.Fits(n, r.Class) {
			c.misread(pc, i, c.operandNamed(i.Op, r.Field), n, r.Class, s)
		}
	}
	if shape.Window {
		from, n, params := c.p.Window(i)
		for k := range n {
			class := Full
			if params != nil {
				class = params[k]
			}
			if r := from + k; s.Fits(r, class) {
				continue
			} else if shape.Frame && r == int(i.A) {
				c.misread(pc, i, "callee", r, class, s)
			} else {
				c.misread(pc, i, "argument", r, class, s)
			}
		}
	}
	c.calls.Step(i, s)
}

// operandNamed returns the name of the operand in a field.
func (c *codeVerifier) operandNamed(op Op, f Field) string {
	for _, o := range Table[op].Operands {
		if o.Field == f {
			return o.Name
		}
	}
	panic("ir: " + op.String() + " reads what is no operand")
}

// misread returns the error that register r cannot be read with the given class.
func (c *codeVerifier) misread(pc int, i Instr, name string, r int, class Class, s Classes) {
	if s[r] == Unset {
		c.check(false, "%s: %s, r%d, is not set on every way here", c.at(pc, i), name, r)
	} else {
		c.check(false, "%s: %s, r%d, is %s where %s is needed", c.at(pc, i), name, r, s[r], class)
	}
}
