package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// A web is the life of one value in a register: the instructions that set it
// and those that read what these set, joined where paths meet.
type web struct {
	reg int
	// fixed means that the web must stay in its register: it is a parameter, a part of a window, a
	// call's result, or an error that a region catches.
	fixed bool
	// crosses means that the web lives across a call, so that it must stay below the call's window.
	crosses bool
	defs    []int32 // pcs
	uses    []use
	depth   int32 // of the loops around its deepest part
}

// use is an operand that reads a web. With window it is not an operand of the
// instruction's text but a register in its window, which is read as class.
type use struct {
	pc     int32
	field  ir.Field
	class  ir.Class
	window bool
}

// webs are the webs of a function's first blocks; registers that are live after these blocks are
// fixed. def[pc] is the web that an instruction sets, of[operands*pc+field] the one that an operand
// reads; -1 for none.
type webs struct {
	u      *unit
	blocks int
	all    []web
	def    []int32
	of     []int32
	depth  []int32

	l      *liveness
	parent []int32 // of nodes, by union-find
	nodes  []node
	// entry is the first arrival node of each block: the nodes of the registers
	// that are live there are consecutive.
	entry []int32
	cur   []int32 // the node in each register, -1 for none
	reads []pending
	after []regs // the registers that are live after the calls of a block, from its end

	number     []int32
	defs       []int32
	uses       []use
	defN, useN []int32
}

// operands is how many fields can name a register: A, B and C.
const operands = 3

// node is a setting of a register, or its arrival at a block.
type node struct {
	pc      int32 // -1 for an arrival
	reg     uint8
	fixed   bool
	crosses bool
}

// pending is a use whose web is not known yet.
type pending struct {
	node int32
	use  use
}

func (u *unit) webs() *webs {
	w := &u.s.webs
	g := u.graph()
	w.u, w.l = u, u.liveness()
	w.nodes, w.parent, w.reads = w.nodes[:0], w.parent[:0], w.reads[:0]
	w.blocks = u.blocks()
	w.loopDepth()
	room(&w.def, g.Runs[w.blocks-1].To)
	room(&w.cur, u.f.Registers)
	room(&w.entry, w.blocks)
	for r := 1; r <= len(u.f.Params); r++ {
		w.l.in[0].add(r)
	}
	for i := range w.blocks {
		w.entry[i] = int32(len(w.nodes))
		w.l.in[i].drop(0)
		w.l.in[i].each(func(r int) { w.node(node{pc: -1, reg: uint8(r), fixed: i == 0}) })
	}
	for _, r := range u.regions {
		if to := g.At[r.Target]; w.lives(to, r.Register) && int(to) < w.blocks {
			w.nodes[w.arrival(to, r.Register)].fixed = true
		}
	}
	for i := range w.blocks {
		w.block(i)
	}
	w.collect()
	return w
}

// each visits the registers of a set in order.
func (s *regs) each(visit func(r int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			visit(w<<6 | bits.TrailingZeros64(x))
		}
	}
}

// lives reports whether a register is read in a block, or after it, with the value that it has at
// the beginning.
func (w *webs) lives(block int32, r int) bool { return w.l.in[block].has(r) }

// arrival is the node of a register that lives at the beginning of a block.
func (w *webs) arrival(block int32, r int) int32 {
	return w.entry[block] + w.l.in[block].countBefore(r)
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

// block follows the registers through a block.
func (w *webs) block(i int) {
	u, b := w.u, &w.u.s.graph.Runs[i]
	cur := w.cur
	for r := range cur {
		cur[r] = -1
	}
	n := w.entry[i]
	w.l.in[i].each(func(r int) {
		cur[r] = n
		w.caught(b, r, n)
		n++
	})
	w.afterCalls(b, i)
	for pc := b.From; pc < b.To; pc++ {
		in := u.code[pc]
		w.def[pc] = -1
		if in == nop {
			continue
		}
		w.read(pc, in)
		r, preserved, lost := u.sets(in)
		if r < 0 {
			continue
		}
		if lost < ir.Nowhere {
			w.cross(lost)
		}
		if ir.ShapeOf(in).Modify { // stays in one web with what it was
			n := w.node(node{pc: int32(pc), reg: uint8(r)})
			if cur[r] >= 0 {
				w.join(cur[r], n)
			}
			w.set(b, pc, r, n)
			continue
		}
		w.set(b, pc, r, w.node(node{pc: int32(pc), reg: uint8(r), fixed: lost < ir.Nowhere}))
		if preserved >= 0 {
			cur[preserved] = w.node(node{pc: -1, reg: uint8(preserved), fixed: true})
			w.caught(b, preserved, cur[preserved])
		}
	}
	for _, s := range b.Succs() {
		if int(s) >= w.blocks {
			w.l.in[s].each(func(r int) {
				if cur[r] >= 0 {
					w.nodes[cur[r]].fixed = true
				}
			})
			continue
		}
		n := w.entry[s]
		w.l.in[s].each(func(r int) {
			if cur[r] >= 0 {
				w.join(n, cur[r])
			}
			n++
		})
	}
}

func (w *webs) set(b *ir.Run, pc, r int, n int32) {
	w.cur[r] = n
	w.def[pc] = n
	w.caught(b, r, n)
}

// caught joins a value with what the targets of the regions around it see.
func (w *webs) caught(b *ir.Run, r int, n int32) {
	for _, c := range w.u.s.graph.Around(b) {
		switch {
		case r == c.Register || !w.lives(c.To, r):
		case int(c.To) < w.blocks:
			w.join(w.arrival(c.To, r), n)
		default:
			w.nodes[n].fixed = true
		}
	}
	if w.u.fixed.has(r) {
		w.nodes[n].fixed = true
	}
}

// afterCalls records the registers that are live after each call of a block.
func (w *webs) afterCalls(b *ir.Run, i int) {
	w.after = w.after[:0]
	calls := false
	for pc := b.From; pc < b.To && !calls; pc++ {
		calls = ir.ShapeOf(w.u.code[pc]).Frame
	}
	if !calls {
		return
	}
	w.l.backwards(b, i, func(pc int, after *regs) {
		if in := w.u.code[pc]; in != nop && ir.ShapeOf(in).Frame {
			w.after = append(w.after, *after)
		}
	})
}

// cross takes note of the next call of the block, whose link is at lost.
func (w *webs) cross(lost int) {
	after := &w.after[len(w.after)-1]
	w.after = w.after[:len(w.after)-1]
	for r := range lost {
		if w.cur[r] >= 0 && after.has(r) {
			w.nodes[w.cur[r]].crosses = true
		}
	}
	for r := lost; r < len(w.cur); r++ {
		w.cur[r] = -1
	}
}

func (w *webs) read(pc int, in ir.Instr) {
	s := ir.ShapeOf(in)
	for _, o := range s.Reads {
		if n := w.cur[in.Get(o.Field)]; n >= 0 {
			w.reads = append(w.reads, pending{n, use{int32(pc), o.Field, o.Class, false}})
		}
	}
	if !s.Window {
		return
	}
	from, n, params := w.u.p.Window(in)
	for k := range n {
		n := w.cur[from+k]
		if n < 0 {
			continue
		}
		class := ir.Full
		if params != nil {
			class = params[k]
		}
		w.nodes[n].fixed = true
		w.reads = append(w.reads, pending{n, use{int32(pc), 0, class, true}})
	}
}

// collect numbers the webs and lists what belongs to each.
func (w *webs) collect() {
	w.count()
	defs, uses := room(&w.defs, len(w.nodes)), room(&w.uses, len(w.reads))
	d, u := int32(0), int32(0)
	for n := range w.all {
		x := &w.all[n]
		x.defs, x.uses = defs[d:d:d+w.defN[n]], uses[u:u:u+w.useN[n]]
		d, u = d+w.defN[n], u+w.useN[n]
	}
	for n := range w.nodes {
		if at := w.nodes[n].pc; at >= 0 {
			x := &w.all[w.number[n]]
			x.defs = append(x.defs, at)
			x.depth = max(x.depth, w.depth[at])
		}
	}
	of := room(&w.of, operands*len(w.def))
	for i := range of {
		of[i] = -1
	}
	for _, p := range w.reads {
		n := w.number[p.node]
		x := &w.all[n]
		x.uses = append(x.uses, p.use)
		x.depth = max(x.depth, w.depth[p.use.pc])
		if !p.use.window {
			of[operands*p.use.pc+int32(p.use.field)] = n
		}
	}
	for pc, n := range w.def {
		if n >= 0 {
			w.def[pc] = w.number[n]
		}
	}
}

// count numbers the webs, and counts what belongs to each. number[n] becomes
// the web of node n.
func (w *webs) count() {
	number := room(&w.number, len(w.nodes))
	for n := range number {
		number[n] = -1
	}
	w.all, w.defN, w.useN = w.all[:0], w.defN[:0], w.useN[:0]
	for n := range w.nodes {
		from := &w.nodes[n]
		root := w.find(int32(n))
		if number[root] < 0 {
			number[root] = int32(len(w.all))
			w.all = append(w.all, web{reg: int(from.reg)})
			w.defN, w.useN = append(w.defN, 0), append(w.useN, 0)
		}
		number[n] = number[root]
		x := &w.all[number[n]]
		x.fixed = x.fixed || from.fixed
		x.crosses = x.crosses || from.crosses
		if from.pc >= 0 {
			w.defN[number[n]]++
		}
	}
	for _, p := range w.reads {
		w.useN[number[p.node]]++
	}
}

// loopDepth counts the loops around each instruction.
func (w *webs) loopDepth() {
	code := w.u.code
	depth := zeroed(&w.depth, len(code)+1)
	for pc := range code {
		if in := code[pc]; loops(in) {
			depth[in.Imm]++
			depth[pc+1]--
		}
	}
	for pc := 1; pc < len(depth); pc++ {
		depth[pc] += depth[pc-1]
	}
}
