package durable

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// tally is what is to be told of records, whatever those say that come behind them. A journal of which the beginning is
// not kept has that of its beginning in its head (journal.Head.Rest).
type tally struct {
	Effects Effects                   `json:"effects"` // but for those that are open
	Calls   int                       `json:"calls"`   // of models
	Lost    int                       `json:"lost"`    // of them, those of which nobody knows what they have used
	Used    []spent                   `json:"used"`    // of models, by what they have said
	Open    map[int64]*journal.Record `json:"open"`    // begun and not ended, by their effects
	Opened  map[int64]bool            `json:"opened"`  // exchanges that are not closed
	Servers calls                     `json:"servers"` // calls of servers that have no result

	used spending
	exit *int
}

func newTally() *tally {
	return &tally{Open: map[int64]*journal.Record{}, Opened: map[int64]bool{}, Servers: calls{}}
}

// tallied is the tally of a history.
func tallied(h *journal.History) (*tally, error) {
	t := newTally()
	if h.Head != nil {
		if err := t.Before(h.Head.Rest); err != nil {
			return nil, err
		}
	}
	for _, r := range h.Records {
		t.Hear(r)
	}
	return t, nil
}

// Before takes what was kept of the records before; see journal.Keeper.
func (t *tally) Before(rest []byte) error {
	if err := json.Unmarshal(rest, t); err != nil {
		return err
	}
	for _, x := range t.Used {
		t.used.add(x)
	}
	return nil
}

// Rest is what is kept of the records that were heard; see journal.Keeper.
func (t *tally) Rest() ([]byte, error) {
	t.Used = t.used.all()
	return jsonwrite.Encode(t)
}

// Hear takes the next record.
func (t *tally) Hear(r *journal.Record) {
	t.Servers.hear(r)
	switch r.K {
	case journal.KBegin:
		if t.Servers.again(r) {
			return // of a call whose opening has ended
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
		t.Effects.count("done")
		t.piece(r)
		if r.Q == string(effect.KindExchangeClose) {
			delete(t.Opened, r.Of)
		}
	case journal.KFinish:
		t.exit = r.Code
	}
}

// ends takes the end of an effect.
func (t *tally) ends(r *journal.Record) {
	t.Effects.count(r.X)
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
			t.Calls-- // it was refused before it was made
		}
		var reply effect.AgentReply
		if r.V != nil && json.Unmarshal(r.V, &reply) == nil {
			t.reply(&reply)
		}
	}
}

// piece counts what a stream has used, when a record is its last piece.
func (t *tally) piece(r *journal.Record) {
	if r.Q != string(effect.KindStreamNext) {
		return
	}
	var piece effect.StreamPiece
	if json.Unmarshal(r.V, &piece) == nil && piece.Reply != nil {
		t.reply(piece.Reply)
	}
}

// reply counts what a call of a model has used.
func (t *tally) reply(r *effect.AgentReply) {
	t.used.add(spent{Connection: r.Provider, Model: r.Model, Calls: 1, In: r.TokensIn, Out: r.TokensOut})
}

// usage is what models were used, by what their calls cost.
func (t *tally) usage(cost func(provider, model string, in, out int64) float64) Usage {
	u := Usage{Calls: t.Calls, UnknownCalls: t.Lost}
	for _, x := range t.used.all() {
		u.TokensIn += x.In
		u.TokensOut += x.Out
		u.CostUSD += cost(x.Connection, x.Model, x.In, x.Out)
	}
	return u
}
