package optimize

import "github.com/concerto-lang/concerto/ir"

// graph returns the control-flow graph of the current code.
func (u *unit) graph() *ir.Graph {
	g := &u.s.graph
	if u.flowing {
		return g
	}
	g.Build(u.code, u.regions)
	g.Reach(0)
	u.preserveListens(g)
	u.flowing = true
	return g
}

// preserveListens marks the code of unreachable listens as reachable, because a function must
// contain the start of each of its listens.
func (u *unit) preserveListens(g *ir.Graph) {
	if len(u.f.Listens) == 0 {
		return
	}
	for pc := range u.code {
		if u.code[pc].Op == ir.OpListenBegin && !g.Runs[g.At[pc]].Reached {
			g.Reach(g.At[pc])
		}
	}
}
