package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// past contains the recorded results of a run, in the order in which the program received them.
type past struct {
	run    *Run
	all    []event
	cursor int // index in all; all records before it were returned
	left   int // number of records that were not returned so far
	// effects contains the records of each effect by its number.
	effects     map[int64]*pastEffect
	moments     map[vm.Moment][]int
	begun       map[int64]bool // the program waits for the recorded result of the effect
	interrupted []interrupted  // effects that began and did not end
	// resolved contains the records with decisions about effects whose outcome was unknown.
	resolved []*journal.Record

	counts map[int64]int64 // number of lines in the journal by exchange
}

// event is a record of an event that the program observed.
type event struct {
	record   *journal.Record
	returned bool
}

// pastEffect contains the records of an effect. waits and end are indexes in past.all; -1 means
// none.
type pastEffect struct {
	begin *journal.Record
	tries int
	until int64 // latest deadline of all attempts
	waits int
	end   int
}

// interrupted is an effect that began and did not end.
type interrupted struct {
	flight *inFlight
	begin  *journal.Record // nil if no record was written before the effect
	q      effect.Request
}

func (p *past) init(r *Run) {
	*p = past{run: r, effects: map[int64]*pastEffect{}, moments: map[vm.Moment][]int{}, begun: map[int64]bool{}, counts: map[int64]int64{}}
	if r.c.History == nil {
		return
	}
	for _, x := range r.c.History.Records {
		p.addRecord(x)
	}
	p.left = len(p.all)
}

// addRecord adds the next record of the journal.
func (p *past) addRecord(x *journal.Record) {
	if x.Resolved != nil {
		p.resolved = append(p.resolved, x)
	}
	switch x.RecordKind {
	case journal.KBegin:
		k := p.effectOf(x.Effect)
		k.tries++
		k.until = max(k.until, x.Until)
		if k.begin == nil {
			k.begin = x
			p.all = append(p.all, event{record: x})
		}
		return
	case journal.KEnd, journal.KDid, journal.KLines, journal.KPlace:
	default:
		return
	}
	at := len(p.all)
	p.all = append(p.all, event{record: x})
	switch {
	case x.RecordKind == journal.KPlace && x.Place == tape.PlaceWaits:
		p.effectOf(x.Effect).waits = at
		return // the record is found by its effect, not by its moment
	case x.RecordKind != journal.KPlace:
		p.effectOf(x.Effect).end = at
	}
	if x.RecordKind == journal.KLines {
		p.counts[x.Of] = max(p.counts[x.Of], x.FirstLine+int64(len(x.Lines))-1)
	}
	if x.Moment != nil {
		m := vm.Moment{Consumed: x.Moment[0], Ticks: x.Moment[1]}
		p.moments[m] = append(p.moments[m], at)
	}
}

func (p *past) effectOf(e int64) *pastEffect {
	k := p.effects[e]
	if k == nil {
		k = &pastEffect{waits: -1, end: -1}
		p.effects[e] = k
	}
	return k
}

// requestRecord returns the record that contains the request, or nil.
func (k *pastEffect) requestRecord(p *past) *journal.Record {
	if k.begin != nil {
		return k.begin
	}
	return p.recordAt(k.end)
}

// countLines adds n lines to an exchange, and returns the number of the first of them.
func (p *past) countLines(of int64, n int) int64 {
	first := p.counts[of] + 1
	p.counts[of] += int64(n)
	return first
}

// restoreInFlight sets the fields of an effect from its begin record.
func (p *past) restoreInFlight(f *inFlight) {
	k := p.effects[f.e]
	if k == nil {
		return
	}
	if k.begin != nil {
		f.expires, f.tries, f.until, f.policy, f.rule = k.begin.Due, k.tries, k.until, k.begin.Policy, k.begin.Rule
		f.begin = k.begin
		if k.begin.Mark != nil {
			f.mark = *k.begin.Mark
		}
	}
	f.repeated = k.end < 0 && k.begin != nil
}

// markReturned marks the record with index i as returned.
func (p *past) markReturned(i int) {
	if !p.all[i].returned {
		p.all[i].returned = true
		p.left--
	}
}

// findEffect returns the records of effect e. The error is a *tape.DivergedError if q differs from
// the recorded request.
func (p *past) findEffect(e int64, q effect.Request) (*pastEffect, error) {
	k := p.effects[e]
	if k == nil {
		if begins(q) || effect.Inline(q.Kind()) {
			return nil, p.diverged(e, q, nil, nil)
		}
		return &pastEffect{waits: -1, end: -1}, nil // no record is written before such an effect, and it did not end
	}
	text, err := p.run.recordedRequest(q)
	if err != nil {
		return nil, err
	}
	var of int64
	if n, ok := q.(effect.Numbered); ok {
		of = *n.Number()
	}
	for _, x := range []*journal.Record{k.begin, p.recordAt(k.end)} {
		if x == nil {
			continue
		}
		if x.RecordKind == journal.KEnd {
			continue // the begin record contains the request
		}
		kind := effect.Kind(x.Kind)
		if x.RecordKind == journal.KLines {
			kind = effect.KindExchangeNext
		}
		if kind != q.Kind() || x.Of != of || x.RecordKind != journal.KLines && x.Digest != digestOf(text) {
			return nil, p.diverged(e, q, x, text)
		}
	}
	if k.begin != nil {
		p.markReturned(p.beginIndex(k.begin))
	}
	return k, nil
}

// beginIndex returns the index of a begin record in all.
func (p *past) beginIndex(x *journal.Record) int {
	i, _ := slices.BinarySearchFunc(p.all, x.Seq, func(e event, s uint64) int { return cmp.Compare(e.record.Seq, s) })
	return i
}

func (p *past) recordAt(i int) *journal.Record {
	if i < 0 {
		return nil
	}
	return p.all[i].record
}

// endEvent returns the event with the result of an effect, from the record with index i.
func (p *past) endEvent(i int) vm.Event {
	e := p.all[i].record.Effect
	p.markReturned(i)
	delete(p.begun, e)
	result, failed, err := p.recordedResult(i, e)
	if err != nil {
		failed = err
	}
	return vm.Event{E: e, Result: result, Err: failed}
}

// recordedResult returns the result or the failure of effect e from the record with index i. The
// last result is an error of reading the record.
func (p *past) recordedResult(i int, e int64) (effect.Result, error, error) {
	x := p.all[i].record
	recorded, err := entryOf(p.run.c.Stored, x, p.effects[e].begin)
	if err != nil {
		return nil, nil, err
	}
	recorded.R = nil // only the outcome is used
	entry := recorded.Restore(p.run.c.Secret)
	result, failed, err := entry.Outcome(e)
	if m, ok := result.(*effect.ExchangeMessages); ok && x.FirstLine > 0 {
		m.Lines = &effect.HostLines{First: x.FirstLine, Text: x.Lines, Session: x.Talk, Process: x.Process}
	}
	return result, failed, err
}

func recordedFailure(x *journal.Record) (*tape.Failure, error) {
	f := &tape.Failure{}
	if err := json.Unmarshal(x.Err, f); err != nil {
		return nil, fmt.Errorf("record %d: %w", x.Seq, err)
	}
	if x.Outcome != "none" {
		f.X = x.Outcome
	}
	return f, nil
}

// overBefore returns the cause of the end of the run's context, if that is recorded before the
// record with index i and was not returned so far.
func (p *past) overBefore(i int) (cause error, ok bool) {
	for at := p.cursor; at < i; at++ {
		if x := &p.all[at]; x.record.Place == tape.PlaceOver && !x.returned {
			p.markReturned(at)
			return p.cause(at), true
		}
	}
	return nil, false
}

func (p *past) cause(i int) error {
	if f, err := recordedFailure(p.all[i].record); err == nil {
		return f.Cause()
	}
	return context.Canceled
}
