package optimize

import "github.com/concerto-lang/concerto/ir"

// graph returns the flow of the code as it stands.
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

// preserveListens preserves the code of listens that control does not reach, since a function must
// begin each of its listens.
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
