package optimize

import (
	"github.com/concerto-lang/concerto/ir"
)

// graph is a function's flow of control, by blocks of instructions that run one
// after the other. Raised errors are edges too: from every instruction of a
// region to its target.
type graph struct {
	blocks  []block
	at      []int32 // the block of each instruction
	reached []bool  // by instruction
}

type block struct {
	from, to int
	succ     []int
	pred     []int
	catches  []int // blocks that regions around it lead to
	caught   []ir.Region
}

// graph gives the flow of the code as it stands.
func (u *unit) graph() *graph {
	if u.g == nil {
		u.g = u.buildGraph()
	}
	return u.g
}

func (u *unit) buildGraph() *graph {
	n := len(u.code)
	leads := make([]bool, n+1)
	leads[0] = true
	for pc, in := range u.code {
		if in == nop {
			continue
		}
		s := shapeOf(in)
		if s.target {
			leads[in.Imm] = true
		}
		if s.target || s.ends {
			leads[pc+1] = true
		}
	}
	for _, r := range u.regions {
		leads[r.From], leads[r.To], leads[r.Target] = true, true, true
	}
	g := &graph{at: make([]int32, n), reached: make([]bool, n)}
	for pc := range n {
		if leads[pc] {
			g.blocks = append(g.blocks, block{from: pc})
		}
		g.blocks[len(g.blocks)-1].to = pc + 1
		g.at[pc] = int32(len(g.blocks) - 1)
	}
	for i := range g.blocks {
		u.link(g, i)
	}
	g.reach(0)
	return g
}

func (u *unit) link(g *graph, i int) {
	b := &g.blocks[i]
	for _, r := range u.regions {
		if r.From <= b.from && b.from < r.To {
			b.catches = append(b.catches, int(g.at[r.Target]))
			b.caught = append(b.caught, r)
		}
	}
	last := u.code[b.to-1]
	s := shapeOf(last)
	if last != nop && s.target {
		b.succ = append(b.succ, int(g.at[last.Imm]))
	}
	if b.to < len(u.code) && (last == nop || !s.ends) {
		b.succ = append(b.succ, i+1)
	}
}

func (g *graph) reach(start int) {
	seen := make([]bool, len(g.blocks))
	work := []int{start}
	seen[start] = true
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		b := &g.blocks[i]
		for pc := b.from; pc < b.to; pc++ {
			g.reached[pc] = true
		}
		for _, list := range [2][]int{b.succ, b.catches} {
			for _, s := range list {
				if !seen[s] {
					seen[s] = true
					work = append(work, s)
				}
			}
		}
		for _, s := range b.succ {
			g.blocks[s].pred = append(g.blocks[s].pred, i)
		}
	}
}
