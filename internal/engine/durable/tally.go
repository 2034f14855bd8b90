package durable

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// tally summarises the records of a journal.
type tally struct {
	stored  journal.Run
	effects Effects // ended effects
	lost    int     // number of model calls with unknown usage
	meter   effect.Meter
	used    models.Sum
	// exchanges are those that have begun, in the order of their openings.
	exchanges []*effect.Metered
	open      map[int64]*journal.Record // begin records of the effects that have not ended, by effect
	opened    map[int64]bool            // exchanges that are open, by effect
	servers   calls                     // calls of servers that have no result
	exit      *int
}

// tallied returns the tally of a history. cost returns the cost of a reply.
func tallied(stored journal.Run, h *journal.History, cost Cost) (*tally, error) {
	t := &tally{stored: stored, meter: effect.Meter{Price: cost}, open: map[int64]*journal.Record{}, opened: map[int64]bool{}, servers: calls{}}
	for _, r := range h.Records {
		if err := t.add(r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add adds the next record to the tally.
func (t *tally) add(r *journal.Record) error {
	t.servers.addRecord(r)
	switch r.RecordKind {
	case journal.KBegin:
		if t.servers.isRetry(r) {
			return nil // a further attempt of an open call is not a new effect
		}
		if r.Try > 0 && r.Kind == string(effect.KindAgentCall) {
			t.lost++
		}
		t.open[r.Effect] = r
	case journal.KEnd:
		return t.ends(r)
	case journal.KDid, journal.KLines:
		t.effects.countEffect("done")
		if err := t.count(r, nil); err != nil {
			return err
		}
		if r.Kind == string(effect.KindExchangeClose) {
			delete(t.opened, r.Of)
		}
	case journal.KFinish:
		t.exit = r.Code
	}
	return nil
}

// ends adds the record with an effect's result.
func (t *tally) ends(r *journal.Record) error {
	b := t.open[r.Effect]
	delete(t.open, r.Effect)
	if b != nil && b.Class == effect.ClassWaits.String() && r.Outcome == "unknown" {
		t.effects.countEffect("none") // the wait was cancelled
	} else {
		t.effects.countEffect(r.Outcome)
	}
	if b == nil {
		return nil
	}
	if effect.Kind(b.Kind) == effect.KindExchangeOpen && r.Outcome == "done" {
		t.opened[r.Effect] = true
	}
	return t.count(r, b)
}

// metered are the kinds of effects whose results a Meter counts, by their families.
var metered = map[string]bool{effect.KindAgentCall.Family(): true, effect.KindStreamNext.Family(): true, effect.KindExchangeNext.Family(): true}

// count counts what an effect has used. begin is its begin record, or nil.
func (t *tally) count(r, begin *journal.Record) error {
	kind := effect.Kind(r.Kind)
	switch {
	case begin != nil:
		kind = effect.Kind(begin.Kind)
	case r.RecordKind == journal.KLines:
		kind = effect.KindExchangeNext
	}
	if !metered[kind.Family()] {
		return nil
	}
	x, err := entryOf(t.stored, r, begin)
	if err != nil {
		return err
	}
	q := effect.Lookup(kind).Request()
	if len(x.R) > 0 {
		if err := json.Unmarshal(x.R, q); err != nil {
			return err
		}
	}
	if n, ok := q.(effect.Numbered); ok {
		*n.Number() = x.Of
	}
	result, failed, err := x.Outcome(r.Effect)
	if err != nil {
		return err
	}
	if r.Outcome == "none" && failed != nil && !isProgram(failed) {
		return nil // no request was sent
	}
	t.meter.Add(q, result, failed, func(x effect.Use) { t.used.Add(x.Sum) })
	if opened, ok := result.(*effect.ExchangeOpened); ok {
		t.exchanges = append(t.exchanges, t.meter.Exchange(opened.ID))
	}
	return nil
}

// Cost returns the cost of a recorded reply in units of 10⁻¹² US dollars. ok is false if a price is
// unknown.
type Cost func(*effect.AgentReply) (cost int64, ok bool)

// usage returns what models and hosts have used. A call that has not ended counts as a call.
func (t *tally) usage() Usage {
	for _, r := range t.open {
		if r.Kind == string(effect.KindAgentCall) {
			t.used.Calls++
		}
	}
	return Usage{Calls: t.used.Calls, FailedCalls: t.used.FailedCalls, Exchanges: t.used.Exchanges, FailedExchanges: t.used.FailedExchanges, UnknownCalls: t.lost,
		UnpricedCalls: t.used.Unpriced, TokensIn: t.used.TokensIn, TokensOut: t.used.TokensOut, Parts: t.used.Parts, CostUSD: t.used.USD(), Cost: t.used.Cost}
}
