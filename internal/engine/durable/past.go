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

// past is the recorded part of a run: the results in the order in which the program received them.
type past struct {
	run    *Run
	all    []event
	cursor int // index among all; earlier ones were returned
	left   int // number not yet returned
	// effects contains what is known of each effect, by number.
	effects map[int64]*pastEffect
	moments map[vm.Moment][]int
	begun   map[int64]bool // the program waits for it
	under   []under        // begun and not ended
	// resolved contains the records of decisions about effects with an unknown outcome.
	resolved []*journal.Record

	counts map[int64]int64 // lines of exchanges in the journal
}

// event is a record that affects the program.
type event struct {
	record   *journal.Record
	returned bool
}

// pastEffect is what the journal contains of an effect: indexes of records, -1 for none.
type pastEffect struct {
	begin    *journal.Record
	tries    int
	counted  int   // of those, counted as lost
	restored bool  // from a snapshot: its output was put out
	until    int64 // of all attempts
	waits    int
	end      int
}

// under is an effect that had begun and not ended.
type under struct {
	flight *inFlight
	begin  *journal.Record // nil for an effect that only reads
	q      effect.Request
}

func (p *past) init(r *Run) {
	*p = past{run: r, effects: map[int64]*pastEffect{}, moments: map[vm.Moment][]int{}, begun: map[int64]bool{}, counts: map[int64]int64{}}
	if r.c.History == nil {
		return
	}
	if s := r.c.Restored; s != nil {
		for of, n := range s.Lines {
			p.counts[of] = n
		}
		for _, x := range s.Begun {
			p.addRecord(x.Record)
			k := p.effectOf(x.Record.E)
			k.tries, k.until, k.counted, k.restored = x.Tries, max(x.Until, x.Record.Until), x.Tries-1, true
		}
		p.resolved = nil // the ledgers contain them
	}
	for _, x := range r.c.History.Records {
		p.addRecord(x)
	}
	p.left = len(p.all)
}

// addRecord adds a record of the journal.
func (p *past) addRecord(x *journal.Record) {
	if x.Resolved != nil {
		p.resolved = append(p.resolved, x)
	}
	switch x.K {
	case journal.KBegin:
		k := p.effectOf(x.E)
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
	case x.K == journal.KPlace && x.Place == tape.PlaceWaits:
		p.effectOf(x.E).waits = at
		return // it is found by its effect
	case x.K != journal.KPlace:
		p.effectOf(x.E).end = at
	}
	if x.K == journal.KLines {
		p.counts[x.Of] = max(p.counts[x.Of], x.L+int64(len(x.M))-1)
	}
	if x.W != nil {
		m := vm.Moment{Consumed: x.W[0], Ticks: x.W[1]}
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

// requestRecord returns the record with the request, or nil.
func (k *pastEffect) requestRecord(p *past) *journal.Record {
	if k.begin != nil {
		return k.begin
	}
	return p.recordAt(k.end)
}

// countLines returns the number of the first of n lines of an exchange, and counts them.
func (p *past) countLines(of int64, n int) int64 {
	first := p.counts[of] + 1
	p.counts[of] += int64(n)
	return first
}

// restoreInFlight sets what the journal contains of an effect that the program performs.
func (p *past) restoreInFlight(f *inFlight) {
	k := p.effects[f.e]
	if k == nil {
		return
	}
	if k.begin != nil {
		f.expires, f.tries, f.until, f.policy, f.rule = k.begin.Due, k.tries, k.until, k.begin.Policy, k.begin.Rule
		f.counted, f.begin = k.counted, k.begin
		if k.begin.Mark != nil {
			f.mark = *k.begin.Mark
		}
	}
	f.repeated = k.end < 0 && k.begin != nil
}

// markReturned marks a record as returned.
func (p *past) markReturned(i int) {
	if !p.all[i].returned {
		p.all[i].returned = true
		p.left--
	}
}

// findEffect returns what the journal contains of an effect, after comparing the request.
func (p *past) findEffect(e int64, q effect.Request) (*pastEffect, error) {
	k := p.effects[e]
	if k == nil {
		if begins(q) || effect.Inline(q.Kind()) {
			return nil, p.diverged(e, q, nil, nil)
		}
		return &pastEffect{waits: -1, end: -1}, nil // it only reads, and had not ended
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
		if x.K == journal.KEnd {
			continue // its begin record contains the request
		}
		kind := effect.Kind(x.Q)
		if x.K == journal.KLines {
			kind = effect.KindExchangeNext
		}
		if kind != q.Kind() || x.Of != of || x.K != journal.KLines && x.D != digestOf(text) {
			return nil, p.diverged(e, q, x, text)
		}
	}
	if k.begin != nil {
		p.markReturned(p.beginIndex(k.begin))
	}
	return k, nil
}

// beginIndex returns the index of a begin record.
func (p *past) beginIndex(x *journal.Record) int {
	i, _ := slices.BinarySearchFunc(p.all, x.S, func(e event, s uint64) int { return cmp.Compare(e.record.S, s) })
	return i
}

func (p *past) recordAt(i int) *journal.Record {
	if i < 0 {
		return nil
	}
	return p.all[i].record
}

// endEvent returns the end of an effect for which the program waits.
func (p *past) endEvent(i int) vm.Event {
	e := p.all[i].record.E
	p.markReturned(i)
	delete(p.begun, e)
	result, failed, err := p.recordedResult(i, e)
	if err != nil {
		failed = err
	}
	return vm.Event{E: e, Result: result, Err: failed}
}

// recordedResult returns the recorded result of an effect.
func (p *past) recordedResult(i int, e int64) (effect.Result, error, error) {
	x := p.all[i].record
	recorded, err := entryOf(p.run.c.Dir, x, p.effects[e].begin)
	if err != nil {
		return nil, nil, err
	}
	recorded.R = nil // the request is not needed
	entry := recorded.Restore(p.run.c.Secret)
	result, failed, err := entry.Outcome(e)
	if m, ok := result.(*effect.ExchangeMessages); ok && x.L > 0 {
		m.Lines = &effect.HostLines{First: x.L, Text: x.M, Session: x.Talk, Process: x.Process}
	}
	return result, failed, err
}

// translatedLines returns the translated lines of a host's messages.
func translatedLines(x *journal.Record) []string {
	if x.Lines != nil {
		return x.Lines
	}
	return x.M
}

func recordedFailure(x *journal.Record) (*tape.Failure, error) {
	f := &tape.Failure{}
	if err := json.Unmarshal(x.Err, f); err != nil {
		return nil, fmt.Errorf("record %d: %w", x.S, err)
	}
	if x.X != "none" {
		f.X = x.X
	}
	return f, nil
}

// endBefore returns the end of the run's context, if it precedes a record.
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
