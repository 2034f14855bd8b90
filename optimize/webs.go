package optimize

import "github.com/concerto-lang/concerto/ir"

// A web is one value's life in a register: the instructions that set it and
// those that read what these set, joined wherever ways meet.
type web struct {
	reg int
	// fixed says that it must stay in its register: a parameter, a part of a
	// window, a call's result, what a region catches.
	fixed bool
	// crosses says that it lives across a call, so that it must stay below the
	// call's window.
	crosses bool
	defs    []int // pcs
	uses    []use
	depth   int // of the loops around its deepest part
}

// use is an operand that reads a web; window says that it is no operand of the
// text but a part of the instruction's window, which reads it as class.
type use struct {
	pc     int
	field  ir.Field
	class  ir.Class
	window bool
}

// webs are the webs of a function. def[pc] is the web that an instruction
// sets, -1 for none.
type webs struct {
	u     *unit
	all   []*web
	def   []int32
	depth []int

	l      *liveness
	parent []int32 // of nodes, by union-find
	nodes  []node
	entry  []map[int]int32 // by block and register
}

// node is a setting of a register, or its arrival at a block.
type node struct {
	reg     int
	pc      int // -1 for an arrival
	fixed   bool
	crosses bool
}

func (u *unit) webs() *webs {
	w := &webs{u: u, l: u.liveness(), def: make([]int32, len(u.code)), depth: u.loopDepth()}
	g := u.graph()
	w.entry = make([]map[int]int32, len(g.blocks))
	for i := range g.blocks {
		w.entry[i] = map[int]int32{}
		in := w.l.in[i]
		if i == 0 {
			for r := 1; r <= len(u.f.Params); r++ {
				in.add(r)
			}
		}
		for r := 1; r < u.f.Registers; r++ {
			if in.has(r) {
				w.entry[i][r] = w.node(node{reg: r, pc: -1, fixed: i == 0})
			}
		}
	}
	for _, r := range u.regions {
		if n, ok := w.entry[g.at[r.Target]][r.Register]; ok {
			w.nodes[n].fixed = true
		}
	}
	uses := make([][]pending, len(g.blocks))
	for i := range g.blocks {
		uses[i] = w.block(i)
	}
	w.collect(uses)
	return w
}

func (w *webs) node(n node) int32 {
	w.nodes = append(w.nodes, n)
	w.parent = append(w.parent, int32(len(w.parent)))
	return int32(len(w.parent) - 1)
}

func (w *webs) find(n int32) int32 {
	for w.parent[n] != n {
		w.parent[n] = w.parent[w.parent[n]]
		n = w.parent[n]
	}
	return n
}

func (w *webs) join(a, b int32) {
	if a, b = w.find(a), w.find(b); a != b {
		w.parent[b] = a
	}
}

// pending is a use whose web is not known yet.
type pending struct {
	node int32
	use  use
}

// block follows the registers through a block.
func (w *webs) block(i int) (uses []pending) {
	u, g := w.u, w.u.graph()
	b := &g.blocks[i]
	var cur [256]int32
	for r := range cur {
		cur[r] = -1
	}
	for r, n := range w.entry[i] {
		cur[r] = n
		w.caught(b, r, n)
	}
	after := w.afterCalls(i)
	for pc := b.from; pc < b.to; pc++ {
		in := u.code[pc]
		w.def[pc] = -1
		if in == nop {
			continue
		}
		uses = w.reads(pc, in, &cur, uses)
		r, keeps := u.written(in)
		if r < 0 {
			continue
		}
		call := false
		if at := u.lost(in); at < 256 {
			call = true
			for r := range at {
				if lives := after[pc]; cur[r] >= 0 && lives.has(r) {
					w.nodes[cur[r]].crosses = true
				}
			}
			for r := at; r < u.f.Registers; r++ {
				cur[r] = -1
			}
		}
		if s := shapeOf(in); s.modify { // stays in one web with what it was
			n := w.node(node{reg: r, pc: pc})
			if cur[r] >= 0 {
				w.join(cur[r], n)
			}
			w.set(b, pc, r, n, &cur)
			continue
		}
		w.set(b, pc, r, w.node(node{reg: r, pc: pc, fixed: call}), &cur)
		if keeps >= 0 {
			cur[keeps] = w.node(node{reg: keeps, pc: -1, fixed: true})
			w.caught(b, keeps, cur[keeps])
		}
	}
	for _, s := range b.succ {
		for r, n := range w.entry[s] {
			if cur[r] >= 0 {
				w.join(n, cur[r])
			}
		}
	}
	return uses
}

func (w *webs) set(b *block, pc, r int, n int32, cur *[256]int32) {
	cur[r] = n
	w.def[pc] = n
	w.caught(b, r, n)
}

// caught joins a value with what the targets of the regions around it see.
func (w *webs) caught(b *block, r int, n int32) {
	for k, c := range b.catches {
		at, ok := w.entry[c][r]
		if ok && r != b.caught[k].Register {
			w.join(at, n)
		}
	}
	if r == 1 && w.u.f.MutSelf {
		w.nodes[n].fixed = true
	}
}

// afterCalls gives what lives behind each call of a block.
func (w *webs) afterCalls(i int) map[int]regs {
	var out map[int]regs
	w.l.backwards(i, func(pc int, after *regs) {
		if w.u.code[pc] != nop && w.u.lost(w.u.code[pc]) < 256 {
			if out == nil {
				out = map[int]regs{}
			}
			out[pc] = *after
		}
	})
	return out
}

func (w *webs) reads(pc int, in ir.Instr, cur *[256]int32, uses []pending) []pending {
	s := shapeOf(in)
	for _, o := range s.reads {
		if n := cur[in.Get(o.field)]; n >= 0 {
			uses = append(uses, pending{n, use{pc, o.field, o.class, false}})
		}
	}
	if !s.window {
		return uses
	}
	if win, ok := ir.WindowOf(w.u.p, in); ok {
		from := win.From
		if in.Op == ir.OpCallClosure {
			from--
		}
		for r := from; r < win.From+win.N; r++ {
			n := cur[r]
			if n < 0 {
				continue
			}
			class := ir.Full
			if win.Params != nil {
				class = win.Params[r-win.From]
			}
			w.nodes[n].fixed = true
			uses = append(uses, pending{n, use{pc, 0, class, true}})
		}
	}
	return uses
}

// collect numbers the webs and lists what belongs to each.
func (w *webs) collect(uses [][]pending) {
	number := make([]int32, len(w.nodes))
	for n := range number {
		number[n] = -1
	}
	of := func(n int32) *web {
		root := w.find(n)
		if number[root] < 0 {
			number[root] = int32(len(w.all))
			w.all = append(w.all, &web{reg: w.nodes[n].reg})
		}
		return w.all[number[root]]
	}
	for n := range w.nodes {
		x, from := of(int32(n)), w.nodes[n]
		x.fixed = x.fixed || from.fixed
		x.crosses = x.crosses || from.crosses
		if from.pc >= 0 {
			x.defs = append(x.defs, from.pc)
			x.depth = max(x.depth, w.depth[from.pc])
		}
	}
	for _, list := range uses {
		for _, p := range list {
			x := of(p.node)
			x.uses = append(x.uses, p.use)
			x.depth = max(x.depth, w.depth[p.use.pc])
		}
	}
	for pc, n := range w.def {
		if n >= 0 {
			w.def[pc] = number[w.find(n)]
		}
	}
}

// loopDepth counts the loops around each instruction.
func (u *unit) loopDepth() []int {
	depth := make([]int, len(u.code)+1)
	for pc, in := range u.code {
		if in != nop && (in.Op == ir.OpLoop || in.Op == ir.OpForInt) {
			depth[in.Imm]++
			depth[pc+1]--
		}
	}
	for pc := 1; pc < len(depth); pc++ {
		depth[pc] += depth[pc-1]
	}
	return depth
}
