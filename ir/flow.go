package ir

// The dataflow: what class each register has before each instruction. Joins
// only ever turn a class into Unset, so that every walk ends.

// registers is a state, indexed by register.
type registers []Class

// join lowers s to what holds in both s and t, and says whether that changed s.
func (s registers) join(t registers) (changed bool) {
	for r, c := range t {
		if s[r] != c && s[r] != Unset {
			s[r], changed = Unset, true
		}
	}
	return changed
}

// clear forgets all registers from r on: a callee's frame lay over them.
func (s registers) clear(r int) {
	for ; r < len(s); r++ {
		s[r] = Unset
	}
}

// Window is the run of registers that an instruction reads.
type Window struct {
	From, N int
	Params  []Class // of a direct call; nil means all Full
	// Call says that it stands behind a link register, which gets the result,
	// and that all registers from the link on are lost.
	Call bool
}

// WindowOf gives the window of an instruction; ok is false for one without.
func WindowOf(p *Program, i Instr) (w Window, ok bool) {
	switch i.Op {
	case OpCall:
		f := &p.Functions[i.Imm]
		return Window{int(i.A) + 1, len(f.Params), f.Params, true}, true
	case OpCallClosure, OpCallNative, OpCallMethod, OpPerform, OpAwaitEmit, OpAwaitEmitAs:
		return Window{int(i.A) + 1, int(i.B), nil, true}, true
	case OpDispatchTool, OpListenBegin:
		return Window{int(i.A) + 1, 3, nil, true}, true
	case OpInterpolate, OpNewArray, OpNewTuple, OpNewClosure, OpSpawn, OpJoinAll, OpRace:
		return Window{int(i.B), int(i.C), nil, false}, true
	case OpParallelFor:
		return Window{int(i.B), 3, nil, false}, true
	case OpNewMap:
		return Window{int(i.B), 2 * int(i.C), nil, false}, true
	case OpNewStruct:
		return Window{int(i.B), len(p.Types[i.Imm].Fields), nil, false}, true
	case OpNewVariant:
		return Window{int(i.B), len(p.Types[i.Imm].Variants[i.C].Fields), nil, false}, true
	case OpSlice:
		return Window{int(i.C), 2, nil, false}, true
	}
	return Window{}, false
}

// keepsReceiver says whether w+1 is Full after the call, however it ends.
func (v *verifier) keepsReceiver(i Instr) bool {
	switch i.Op {
	case OpCall:
		return v.p.Functions[i.Imm].MutSelf
	case OpCallNative:
		return i.B > 0
	case OpCallMethod:
		return v.givesBack[*v.p.Constants[i.Imm].String]
	}
	return false
}

// flow is the dataflow over one function. Its memory serves one function after
// the other.
type flow struct {
	c *codeVerifier
	// listens holds, for each listen, the state that its handlers start from
	// and that it leaves behind, below its window.
	listens []registers

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
		fl.listens = make([]registers, n)
	}
	entry := fl.registers(c.f.Registers)
	clear(entry)
	copy(entry[1:], c.f.Params)
	fl.block(&c.f.Block, entry, nil)
}

// registers gives memory for a state of n registers, for as long as the
// function is checked.
func (fl *flow) registers(n int) registers {
	if fl.used+n > len(fl.slab) {
		fl.slab, fl.used = make([]Class, max(4096, n)), 0
	}
	s := fl.slab[fl.used : fl.used+n : fl.used+n]
	fl.used += n
	return s
}

func (fl *flow) clone(s registers) registers {
	t := fl.registers(len(s))
	copy(t, s)
	return t
}

// block finds the states of b from its entry state and checks every
// instruction against its own. States are kept where control can arrive from
// elsewhere; in between one state is carried along. Each state before an
// instruction is handed to visit, if any, in every walk: what it does must be
// a join.
func (fl *flow) block(b *Block, entry registers, visit func(s registers)) {
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
					at.join(s)
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
			alive = !Table[i.Op].Ends
		}
		again = w.again
	}
}

// walk is the dataflow over one block.
type walk struct {
	fl      *flow
	b       *Block
	states  []registers // where jumps and regions lead, once reached
	targets []registers // what each region's target knows
	again   bool        // a state changed behind the walk
	visit   func(s registers)
}

// enter starts the walk over a block.
func (fl *flow) enter(b *Block, visit func(s registers)) *walk {
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
func none(old []registers, n int) []registers {
	if n > cap(old) {
		return make([]registers, n, 2*n)
	}
	old = old[:n]
	clear(old)
	return old
}

// arrive joins s into the state of instruction to.
func (w *walk) arrive(from, to int, s registers) {
	switch {
	case w.states[to] == nil:
		w.states[to] = w.fl.clone(s)
	case !w.states[to].join(s):
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
func (w *walk) instruction(pc int, i Instr, s registers) {
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
	for _, o := range Table[i.Op].Operands {
		if o.Role == RoleTarget {
			w.arrive(pc, i.Get(o.Field), s)
		}
	}
}

// raises joins the state before an instruction into the targets of the regions
// that it stands in.
func (w *walk) raises(pc int, i Instr, s registers) {
	for n, r := range w.b.Regions {
		if pc < r.From || pc >= r.To {
			continue
		}
		t := s
		if win, ok := WindowOf(w.fl.c.p, i); ok && win.Call {
			t = w.fl.clone(s)
			t.clear(win.From - 1)
			if w.fl.c.keepsReceiver(i) {
				t[win.From] = Full
			}
		}
		if w.targets[n] == nil {
			w.targets[n] = w.fl.clone(t)
		} else {
			w.targets[n].join(t)
		}
		w.targets[n][r.Register] = Full
	}
}

// listen walks the handlers of a listen from state s and gives the state that
// it leaves behind: a handler may have run up to any instruction.
func (fl *flow) listen(i Instr, s registers) registers {
	n, base := int(i.Imm), int(i.A)
	s = fl.clone(s)
	s.clear(base)
	switch known := fl.listens[n]; {
	case known == nil:
		fl.listens[n] = s
	case !known.join(s):
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
			fl.block(&h.Block, entry, func(at registers) {
				changed = state[:base].join(at[:base]) || changed
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
func (c *codeVerifier) step(pc int, i Instr, s registers) {
	for _, o := range Describe(i.Op).Operands {
		if o.Role == RoleRead || o.Role == RoleModify {
			c.reads(pc, i, o.Name, i.Get(o.Field), o.Class, s)
		}
	}
	if w, ok := WindowOf(c.p, i); ok {
		c.window(pc, i, w, s)
	}
	for _, o := range Describe(i.Op).Operands {
		if o.Role == RoleWrite || o.Role == RoleModify {
			s[i.Get(o.Field)] = o.Class
		}
	}
}

// reads checks that register r may be read as class.
func (c *codeVerifier) reads(pc int, i Instr, name string, r int, class Class, s registers) {
	switch found := s[r]; {
	case found == Unset:
		c.check(false, "%s: %s, r%d, is not set on every way here", c.at(pc, i), name, r)
	case found != class && found != Full:
		c.check(false, "%s: %s, r%d, is %s where %s is needed", c.at(pc, i), name, r, found, class)
	}
}

// window checks the registers of a window; a call leaves its result in the
// register before them and forgets what lies above.
func (c *codeVerifier) window(pc int, i Instr, w Window, s registers) {
	for k := range w.N {
		class := Full
		if w.Params != nil {
			class = w.Params[k]
		}
		c.reads(pc, i, "argument", w.From+k, class, s)
	}
	if !w.Call {
		return
	}
	link := w.From - 1
	result := Full
	if i.Op == OpCall {
		result = c.p.Functions[i.Imm].Result
	}
	if i.Op == OpCallClosure {
		c.reads(pc, i, "callee", link, Full, s)
	}
	s.clear(link)
	s[link] = result
	if c.keepsReceiver(i) {
		s[w.From] = Full
	}
}
