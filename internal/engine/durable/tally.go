package durable

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// tally summarises the records of a journal.
type tally struct {
	effects Effects // ended effects
	calls   int     // number of model calls
	lost    int     // number of model calls with unknown usage
	used    map[usedModel]*tokens
	open    map[int64]*journal.Record // begin records of the effects that have not ended, by effect
	opened  map[int64]bool            // exchanges that are open, by effect
	servers calls                     // calls of servers that have no result
	exit    *int
}

// usedModel is a model of a connection.
type usedModel struct{ connection, model string }

// tokens are the tokens that the calls of a model have used.
type tokens struct{ in, out int64 }

// tallied returns the tally of a history.
func tallied(h *journal.History) *tally {
	t := &tally{used: map[usedModel]*tokens{}, open: map[int64]*journal.Record{}, opened: map[int64]bool{}, servers: calls{}}
	for _, r := range h.Records {
		t.add(r)
	}
	return t
}

// add adds the next record to the tally.
func (t *tally) add(r *journal.Record) {
	t.servers.addRecord(r)
	switch r.RecordKind {
	case journal.KBegin:
		if t.servers.isRetry(r) {
			return // a further attempt of an open call is not a new effect
		}
		if r.Try > 0 && r.Kind == string(effect.KindAgentCall) {
			t.lost++
		}
		t.open[r.Effect] = r
		if r.Kind == string(effect.KindAgentCall) || r.Kind == string(effect.KindStreamOpen) {
			t.calls++
		}
	case journal.KEnd:
		t.ends(r)
	case journal.KDid, journal.KLines:
		t.effects.countEffect("done")
		t.piece(r)
		if r.Kind == string(effect.KindExchangeClose) {
			delete(t.opened, r.Of)
		}
	case journal.KFinish:
		t.exit = r.Code
	}
}

// ends adds the record with an effect's result.
func (t *tally) ends(r *journal.Record) {
	b := t.open[r.Effect]
	delete(t.open, r.Effect)
	if b != nil && b.Class == effect.ClassWaits.String() && r.Outcome == "unknown" {
		t.effects.countEffect("none") // the wait was cancelled
	} else {
		t.effects.countEffect(r.Outcome)
	}
	if b == nil {
		return
	}
	switch effect.Kind(b.Kind) {
	case effect.KindExchangeOpen:
		if r.Outcome == "done" {
			t.opened[r.Effect] = true
		}
	case effect.KindAgentCall:
		if r.Outcome == "none" {
			t.calls-- // the call was refused, so no request was sent
		}
		var reply effect.AgentReply
		if r.Result != nil && json.Unmarshal(r.Result, &reply) == nil {
			t.countReply(&reply)
		}
	}
}

// piece counts the usage of a stream, which its last piece contains.
func (t *tally) piece(r *journal.Record) {
	if r.Kind != string(effect.KindStreamNext) {
		return
	}
	var piece effect.StreamPiece
	if json.Unmarshal(r.Result, &piece) == nil && piece.Reply != nil {
		t.countReply(piece.Reply)
	}
}

// countReply counts the usage of a model call.
func (t *tally) countReply(r *effect.AgentReply) {
	k := usedModel{r.Provider, r.Model}
	if t.used[k] == nil {
		t.used[k] = &tokens{}
	}
	t.used[k].in, t.used[k].out = t.used[k].in+r.TokensIn, t.used[k].out+r.TokensOut
}

// usage returns the usage of all models. cost returns the price of calls.
func (t *tally) usage(cost func(provider, model string, in, out int64) float64) Usage {
	u := Usage{Calls: t.calls, UnknownCalls: t.lost}
	models := slices.SortedFunc(maps.Keys(t.used), func(a, b usedModel) int {
		return cmp.Or(cmp.Compare(a.connection, b.connection), cmp.Compare(a.model, b.model))
	})
	for _, m := range models { // in order, because the sum of costs is rounded
		x := t.used[m]
		u.TokensIn += x.in
		u.TokensOut += x.out
		u.CostUSD += cost(m.connection, m.model, x.in, x.out)
	}
	return u
}
