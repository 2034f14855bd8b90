package durable

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// tally summarises records. It can be computed in two steps: after the first records of a journal
// were dropped, the head of the journal (journal.Head.Rest) contains the tally of these records.
type tally struct {
	Effects Effects                   `json:"effects"` // ended effects
	Calls   int                       `json:"calls"`   // number of model calls
	Lost    int                       `json:"lost"`    // number of model calls with unknown usage
	Used    []spent                   `json:"used"`    // reported usage of models
	Open    map[int64]*journal.Record `json:"open"`    // begin records of the effects that have not ended, by effect
	Opened  map[int64]bool            `json:"opened"`  // exchanges that are open, by effect
	Servers calls                     `json:"servers"` // calls of servers that have no result

	used spending
	exit *int
}

func newTally() *tally {
	return &tally{Open: map[int64]*journal.Record{}, Opened: map[int64]bool{}, Servers: calls{}}
}

// tallied returns the tally of a history, including dropped records.
func tallied(h *journal.History) (*tally, error) {
	t := newTally()
	if h.Head != nil {
		if err := t.Restore(h.Head.Rest); err != nil {
			return nil, err
		}
	}
	for _, r := range h.Records {
		t.Add(r)
	}
	return t, nil
}

// Restore adds the tally of dropped records; see journal.DropSummary.
func (t *tally) Restore(rest []byte) error {
	if err := json.Unmarshal(rest, t); err != nil {
		return err
	}
	for _, x := range t.Used {
		t.used.addCall(x)
	}
	return nil
}

// Encode returns the tally as JSON; see journal.DropSummary.
func (t *tally) Encode() ([]byte, error) {
	t.Used = t.used.allCalls()
	return jsonwrite.Encode(t)
}

// Add adds the next record to the tally.
func (t *tally) Add(r *journal.Record) {
	t.Servers.addRecord(r)
	switch r.K {
	case journal.KBegin:
		if t.Servers.isRetry(r) {
			return // a further attempt of an open call is not a new effect
		}
		if r.Try > 0 && r.Q == string(effect.KindAgentCall) {
			t.Lost++
		}
		t.Open[r.E] = r
		if r.Q == string(effect.KindAgentCall) || r.Q == string(effect.KindStreamOpen) {
			t.Calls++
		}
	case journal.KEnd:
		t.ends(r)
	case journal.KDid, journal.KLines:
		t.Effects.countEffect("done")
		t.piece(r)
		if r.Q == string(effect.KindExchangeClose) {
			delete(t.Opened, r.Of)
		}
	case journal.KFinish:
		t.exit = r.Code
	}
}

// ends adds the record with an effect's result.
func (t *tally) ends(r *journal.Record) {
	t.Effects.countEffect(r.X)
	b := t.Open[r.E]
	delete(t.Open, r.E)
	if b == nil {
		return
	}
	switch effect.Kind(b.Q) {
	case effect.KindExchangeOpen:
		if r.X == "done" {
			t.Opened[r.E] = true
		}
	case effect.KindAgentCall:
		if r.X == "none" {
			t.Calls-- // the call was refused, so no request was sent
		}
		var reply effect.AgentReply
		if r.V != nil && json.Unmarshal(r.V, &reply) == nil {
			t.countReply(&reply)
		}
	}
}

// piece counts the usage of a stream, which its last piece contains.
func (t *tally) piece(r *journal.Record) {
	if r.Q != string(effect.KindStreamNext) {
		return
	}
	var piece effect.StreamPiece
	if json.Unmarshal(r.V, &piece) == nil && piece.Reply != nil {
		t.countReply(piece.Reply)
	}
}

// countReply counts the usage of a model call.
func (t *tally) countReply(r *effect.AgentReply) {
	t.used.addCall(spent{Connection: r.Provider, Model: r.Model, Calls: 1, In: r.TokensIn, Out: r.TokensOut})
}

// usage returns the usage of all models. cost returns the price of calls.
func (t *tally) usage(cost func(provider, model string, in, out int64) float64) Usage {
	u := Usage{Calls: t.Calls, UnknownCalls: t.Lost}
	for _, x := range t.used.allCalls() {
		u.TokensIn += x.In
		u.TokensOut += x.Out
		u.CostUSD += cost(x.Connection, x.Model, x.In, x.Out)
	}
	return u
}
