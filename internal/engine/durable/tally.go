package durable

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// tally summarises the records of a journal.
type tally struct {
	effects Effects // ended effects
	calls   int     // number of model calls
	lost    int     // number of model calls with unknown usage
	replies []*effect.AgentReply
	open    map[int64]*journal.Record // begin records of the effects that have not ended, by effect
	opened  map[int64]bool            // exchanges that are open, by effect
	servers calls                     // calls of servers that have no result
	exit    *int
}

// tallied returns the tally of a history.
func tallied(h *journal.History) *tally {
	t := &tally{open: map[int64]*journal.Record{}, opened: map[int64]bool{}, servers: calls{}}
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
			t.replies = append(t.replies, &reply)
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
		t.replies = append(t.replies, piece.Reply)
	}
}

// Cost returns the cost of a recorded reply in units of 10⁻¹² US dollars. ok is false if a price is
// unknown.
type Cost func(*effect.AgentReply) (cost int64, ok bool)

// usage returns the usage of all models.
func (t *tally) usage(cost Cost) Usage {
	u := Usage{Calls: t.calls, UnknownCalls: t.lost}
	for _, r := range t.replies {
		x := r.Usage()
		u.TokensIn += x.In
		u.TokensOut += x.Out
		u.Parts = u.Parts.Plus(x.Parts)
		n, ok := cost(r)
		if !ok {
			u.UnpricedCalls++
		}
		u.Cost += n
	}
	u.CostUSD = float64(u.Cost) / 1e12
	return u
}
