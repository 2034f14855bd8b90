package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// The groups in a snapshot.

func (k *Keeper) groupBody(g *group) {
	needed(k, entityTask, &g.t, "nobody waits for a group")
	number(k, &g.kind)
	number(k, &g.d)
	n := k.Count(len(g.tasks))
	if k.reading {
		g.values, g.tasks = make([]value.Slot, n), make([]*task, n)
	}
	k.slots(g.values)
	for i := range g.tasks {
		refer(k, entityTask, &g.tasks[i])
	}
	number(k, &g.open)
	k.Slot(&g.body)
	items := value.Nil
	if g.items != nil {
		items = g.items.Slot()
	}
	k.Slot(&items)
	g.items = items.Array()
	number(k, &g.next)
	number(k, &g.free)
	k.bounding(g)
	refer(k, entityAsk, &g.ask)
	k.Bool(&g.decided)
	number(k, &g.winner)
	refer(k, entityRaised, &g.failed)
	k.Slot(&g.left)
	k.Bool(&g.lost)
	if k.reading && k.err == nil {
		k.wants(g.sound(), "a group makes no sense")
	}
}

// bounding is the bound of a race; its sleep is one of the requests under way.
func (k *Keeper) bounding(g *group) {
	bound := g.bound != nil
	k.Bool(&bound)
	if !bound {
		return
	}
	if k.reading {
		g.bound = new(bounding)
	}
	k.Int(&g.bound.ms)
	number(k, &g.bound.place)
}

// sound says whether a group that was read can go on.
func (g *group) sound() bool {
	n, under := len(g.tasks), 0
	for _, t := range g.tasks {
		if t != nil {
			under++
		}
	}
	rounds := 0
	switch g.kind {
	case ir.OpParallelFor:
		f, _ := bodyOf(g.body)
		if g.items == nil || g.items.Len != n || f == nil || f.Params != 1 || g.next < 0 || g.next > n {
			return false
		}
		rounds = n - g.next
	case ir.OpJoinAll, ir.OpRace:
		if g.items != nil {
			return false
		}
	default:
		return false
	}
	return g.open == under+rounds && g.winner >= 0 && g.winner < max(n, 1) && (g.bound == nil || g.bound.place >= 0 && g.bound.place < n) && g.free >= -1 && g.free <= n
}
