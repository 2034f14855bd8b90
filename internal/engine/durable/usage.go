package durable

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// spend counts what an effect has used. In a replay it also reports it to the runtime, which
// otherwise counts it itself.
func (r *Run) spend(q effect.Request, f *inFlight, result effect.Result, err error) {
	r.meter.Add(q, result, err, func(x effect.Use) {
		if !r.live && r.c.World != nil {
			r.c.World.Charge(x)
		}
	})
	if call, ok := q.(*effect.AgentCall); ok && !r.live && f != nil {
		for range f.tries - 1 { // the result of each earlier attempt is unknown
			r.lostCall(call)
		}
	}
}

// lostCall counts a call of a model whose usage is unknown.
func (r *Run) lostCall(q *effect.AgentCall) {
	if r.c.World != nil {
		r.c.World.Lost(q)
	}
}
