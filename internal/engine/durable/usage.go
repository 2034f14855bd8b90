package durable

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
)

// spend counts the usage of the model in an effect's result. In a replay it also reports the usage
// to the runtime, which otherwise counts its calls itself.
func (r *Run) spend(q effect.Request, f *inFlight, result effect.Result) {
	reply, _ := result.(*effect.AgentReply)
	if piece, ok := result.(*effect.StreamPiece); ok {
		reply = piece.Reply
	}
	if reply != nil && !r.live && r.c.World != nil {
		r.c.World.Used(reply)
	}
	if call, ok := q.(*effect.AgentCall); ok && !r.live && f != nil {
		for range f.tries - 1 { // the result of each earlier attempt is unknown
			r.lostCall(call)
		}
	}
}

// spendHost counts what a host has used. In a replay it also reports it to the runtime, which
// otherwise counts it itself.
func (r *Run) spendHost(host string, exchanges int64, before, now *effect.HostUsage) {
	if r.c.World == nil || r.live {
		return
	}
	cost := r.c.World.HostCost(host, now) - r.c.World.HostCost(host, before)
	r.c.World.UsedByHost(host, exchanges, cost, now.TokensIn-before.TokensIn, now.TokensOut-before.TokensOut, now.Turns-before.Turns)
}

// lostCall counts a call of a model whose usage is unknown.
func (r *Run) lostCall(q *effect.AgentCall) {
	if r.c.World != nil {
		r.c.World.Lost(q)
	}
}
