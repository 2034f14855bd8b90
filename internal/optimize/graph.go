package optimize

import "github.com/concerto-lang/concerto/ir"

// graph is a function's flow of control, by blocks of instructions that run one
// after the other. Raised errors are edges too: from every instruction of a
// region to its target. Jumps lead forwards, but for those of loops.
type graph struct {
	blocks []block
	at     []int32 // the block of each instruction
	catch  []catch
	work   []int32
}

type block struct {
	from, to        int
	succ            [2]int32 // the first next of it
	next            uint8
	reached         bool
	head            bool  // a loop leads back to it
	catches, caught int32 // its part of graph.catch
}

// catch is a region around a block: where it leads, and the register that the
// error is put into.
type catch struct {
	to       int32
	register int
}

func (b *block) succs() []int32 { return b.succ[:b.next] }

func (b *block) lead(to int) {
	b.succ[b.next] = int32(to)
	b.next++
}

// around are the regions around a block, the innermost first.
func (g *graph) around(b *block) []catch { return g.catch[b.catches:b.caught] }

// graph gives the flow of the code as it stands.
func (u *unit) graph() *graph {
	if !u.flowing {
		u.buildGraph()
		u.flowing = true
	}
	return &u.s.graph
}

func (u *unit) buildGraph() {
	n := len(u.code)
	g := &u.s.graph
	leads := zeroed(&u.s.leads, n+1)
	leads[0] = true
	for pc := range u.code {
		in := &u.code[pc]
		if *in == nop {
			continue
		}
		s := &ir.Shapes[in.Op]
		if s.Target {
			leads[in.Imm] = true
			leads[pc+1] = true
		} else if s.Ends {
			leads[pc+1] = true
		}
	}
	for _, r := range u.regions {
		leads[r.From], leads[r.To], leads[r.Target] = true, true, true
	}
	at := room(&g.at, n)
	blocks := g.blocks[:0]
	for pc := range n {
		if leads[pc] {
			if len(blocks) > 0 {
				blocks[len(blocks)-1].to = pc
			}
			blocks = append(blocks, block{from: pc})
		}
		at[pc] = int32(len(blocks) - 1)
	}
	blocks[len(blocks)-1].to = n
	g.blocks, g.catch = blocks, g.catch[:0]
	for i := range blocks {
		u.link(g, i)
	}
	g.reach(0)
	if len(u.f.Listens) > 0 {
		g.keepListens(u)
	}
}

// keepListens keeps the code of listens that control does not come to: a function
// begins each of its listens.
func (g *graph) keepListens(u *unit) {
	for pc := range u.code {
		if u.code[pc].Op == ir.OpListenBegin && !g.blocks[g.at[pc]].reached {
			g.reach(g.at[pc])
		}
	}
}

func (u *unit) link(g *graph, i int) {
	b := &g.blocks[i]
	b.catches = int32(len(g.catch))
	for _, r := range u.regions {
		if r.From <= b.from && b.from < r.To {
			g.catch = append(g.catch, catch{g.at[r.Target], r.Register})
		}
	}
	b.caught = int32(len(g.catch))
	last := u.code[b.to-1]
	s := ir.ShapeOf(last)
	if last != nop && s.Target {
		to := int(g.at[last.Imm])
		b.lead(to)
		g.blocks[to].head = g.blocks[to].head || to <= i
	}
	if b.to < len(u.code) && (last == nop || !s.Ends) {
		b.lead(i + 1)
	}
}

// reach marks the blocks that control comes to from one.
func (g *graph) reach(from int32) {
	work := append(g.work[:0], from)
	g.blocks[from].reached = true
	for len(work) > 0 {
		b := &g.blocks[work[len(work)-1]]
		work = work[:len(work)-1]
		for _, s := range b.succs() {
			if !g.blocks[s].reached {
				g.blocks[s].reached = true
				work = append(work, s)
			}
		}
		for _, c := range g.around(b) {
			if !g.blocks[c.to].reached {
				g.blocks[c.to].reached = true
				work = append(work, c.to)
			}
		}
	}
	g.work = work
}

// until is how many blocks there are before pc end, where one ends.
func (g *graph) until(end int) int {
	if end == 0 {
		return 0
	}
	return int(g.at[end-1]) + 1
}
