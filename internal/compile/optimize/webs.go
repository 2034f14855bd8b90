package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// web is the life of a value in a register. It contains the instructions that set the register and
// those that read it, joined where paths meet.
type web struct {
	reg int
	// fixed means that the web must not be renamed, because it is a parameter, a part of a window,
	// the result of a call, or the error that a region catches.
	fixed bool
	// crosses means that the web is live across a call. Its register must then be below the window
	// of the call.
	crosses bool
	defs    []int32 // indices of the instructions that set the register
	uses    []use
	depth   int32 // depth of the innermost loop that contains the web
}

// use is an operand that reads a web. If window is set, it is a register in the window of the
// instruction, which reads it as class, and not a field of the instruction.
type use struct {
	pc     int32
	field  ir.Field
	class  ir.Class
	window bool
}

// webs contains the webs in the first blocks of a function. Registers that are live after these
// blocks are fixed. def[pc] is the web that an instruction sets. of[operands*pc+field] is the web
// that an operand reads. Both are -1 if there is none.
type webs struct {
	u      *unit
	blocks int
	all    []web
	def    []int32
	of     []int32
	depth  []int32

	l      *liveness
	parent []int32 // parent of each node, for union-find
	nodes  []node
	// entry contains the first node of each block for registers that are live at its start. The
	// nodes of these registers are consecutive.
	entry []int32
	cur   []int32 // node in each register, or -1
	reads []pending
	after []regs // registers that are live after each call of the block, from the last call to the first

	number     []int32
	defs       []int32
	uses       []use
	defN, useN []int32
}

// operands is the number of fields that can contain a register: A, B and C.
const operands = 3

// node is an instruction that sets a register, or a register that is live at the start of a block.
type node struct {
	pc      int32 // index of the instruction, or -1 at the start of a block
	reg     uint8
	fixed   bool
	crosses bool
}

// pending is a use whose web is not yet known.
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

// each calls visit for each register of the set, in order.
func (s *regs) each(visit func(r int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			visit(w<<6 | bits.TrailingZeros64(x))
		}
	}
}

// lives reports whether the value that a register has at the start of a block is read in the block
// or after it.
func (w *webs) lives(block int32, r int) bool { return w.l.in[block].has(r) }

// arrival returns the node of a register that is live at the start of a block.
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

// block processes the instructions of a block.
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
		if ir.ShapeOf(in).Modify { // the old and the new value are in the same web
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

// caught joins a value with the value at the targets of the regions that contain the block.
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

// cross records that the live registers cross the next call of the block. The call's link is
// register lost.
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

// collect numbers the webs, and lists the instructions and uses of each.
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

// count numbers the webs, and counts the instructions and uses of each. number[n] becomes the web
// of node n.
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

// loopDepth computes the number of loops that contain each instruction.
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
