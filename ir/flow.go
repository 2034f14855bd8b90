package ir

// The dataflow: what class each register has before each instruction. Joins
// only ever turn a class into Unset, so that every walk ends.

// flow is the dataflow over one function. Its memory serves one function after
// the other.
type flow struct {
	c *codeVerifier
	// listens holds, for each listen, the state that its handlers start from
	// and that it leaves behind, below its window.
	listens []Classes

	depth int     // how many blocks are being walked, one in the other
	walks []*walk // by depth
	slab  []Class // all of the memory for states
	used  int     // how much of it this function has taken
}

// run runs the dataflow over the function's own block; handlers are walked
// where their listen begins.
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

// registers gives memory for a state of n registers, for as long as the
// function is checked.
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

// block finds the states of b from its entry state and checks every
// instruction against its own. States are kept where control can arrive from
// elsewhere; in between one state is carried along. Each state before an
// instruction is handed to visit, if any, in every walk: what it does must be
// a join.
func (fl *flow) block(b *Block, entry Classes, visit func(s Classes)) {
	w := fl.enter(b, visit)
	defer fl.leave()
	s := fl.registers(len(entry))
	for again := true; again && fl.c.err == nil; {
		w.again = false
		copy(s, entry)
		alive := true
		for pc, i := range b.Code {
			w.landRegions(pc)
			if at := w.states[pc]; at != nil {
				if alive {
					at.Meet(s)
				}
				copy(s, at)
				alive = true
			}
			if !alive {
				continue
			}
			w.instruction(pc, i, s)
			if fl.c.err != nil {
				return
			}
			alive = !Shapes[i.Op].Ends
		}
		again = w.again
	}
}

// walk is the dataflow over one block.
type walk struct {
	fl      *flow
	b       *Block
	states  []Classes // where jumps and regions lead, once reached
	targets []Classes // what each region's target knows
	again   bool      // a state changed behind the walk
	visit   func(s Classes)
}

// enter starts the walk over a block.
func (fl *flow) enter(b *Block, visit func(s Classes)) *walk {
	if fl.depth == len(fl.walks) {
		fl.walks = append(fl.walks, &walk{fl: fl})
	}
	w := fl.walks[fl.depth]
	fl.depth++
	w.b, w.visit, w.again = b, visit, false
	w.states, w.targets = none(w.states, len(b.Code)), none(w.targets, len(b.Regions))
	return w
}

func (fl *flow) leave() { fl.depth-- }

// none gives n states that are not known, in the memory of old when it is
// enough.
func none(old []Classes, n int) []Classes {
	if n > cap(old) {
		return make([]Classes, n, 2*n)
	}
	old = old[:n]
	clear(old)
	return old
}

// arrive joins s into the state of instruction to.
func (w *walk) arrive(from, to int, s Classes) {
	switch {
	case w.states[to] == nil:
		w.states[to] = w.fl.clone(s)
	case !w.states[to].Meet(s):
		return
	}
	w.again = w.again || to <= from
}

// landRegions lets control arrive at the targets of regions here. A target
// stands behind its region.
func (w *walk) landRegions(pc int) {
	for n, r := range w.b.Regions {
		if r.Target == pc && w.targets[n] != nil {
			w.arrive(pc-1, pc, w.targets[n])
		}
	}
}

// instruction checks one instruction against the state before it, and makes
// of s the state after it.
func (w *walk) instruction(pc int, i Instr, s Classes) {
	if w.visit != nil {
		w.visit(s)
	}
	w.raises(pc, i, s)
	w.fl.c.step(pc, i, s)
	if w.fl.c.err != nil {
		return
	}
	if i.Op == OpListenBegin {
		copy(s, w.fl.listen(i, s))
		w.raises(pc, i, s)
		s[i.A] = Full
	}
	if Shapes[i.Op].Target {
		w.arrive(pc, int(i.Imm), s)
	}
}

// raises joins the state before an instruction into the targets of the regions
// that it stands in.
func (w *walk) raises(pc int, i Instr, s Classes) {
	for n, r := range w.b.Regions {
		if pc < r.From || pc >= r.To {
			continue
		}
		t := s
		if Shapes[i.Op].Frame {
			t = w.fl.clone(s)
			w.fl.c.calls.Raised(i, t)
		}
		if w.targets[n] == nil {
			w.targets[n] = w.fl.clone(t)
		} else {
			w.targets[n].Meet(t)
		}
		w.targets[n][r.Register] = Full
	}
}

// listen walks the handlers of a listen from state s and gives the state that
// it leaves behind: a handler may have run up to any instruction.
func (fl *flow) listen(i Instr, s Classes) Classes {
	n, base := int(i.Imm), int(i.A)
	s = fl.clone(s)
	clear(s[base:])
	switch known := fl.listens[n]; {
	case known == nil:
		fl.listens[n] = s
	case !known.Meet(s):
		return fl.clone(known)
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

// step checks what instruction i reads from state s and applies what it sets.
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

// operandNamed is the name of the operand in a field.
func (c *codeVerifier) operandNamed(op Op, f Field) string {
	for _, o := range Table[op].Operands {
		if o.Field == f {
			return o.Name
		}
	}
	panic("ir: " + op.String() + " reads what is no operand")
}

// misread says why register r may not be read as class.
func (c *codeVerifier) misread(pc int, i Instr, name string, r int, class Class, s Classes) {
	if s[r] == Unset {
		c.check(false, "%s: %s, r%d, is not set on every way here", c.at(pc, i), name, r)
	} else {
		c.check(false, "%s: %s, r%d, is %s where %s is needed", c.at(pc, i), name, r, s[r], class)
	}
}
