package durable

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host"
)

// State is the part of a snapshot outside the VM: everything that a Run derives from the records
// before the snapshot and needs after it. It is the member `runner` of the snapshot's first line
// (spec/journal.md).
type State struct {
	Begun   []begunEffect `json:"begun,omitempty"`   // running effects, in the order of their records
	Sleeps  []byte        `json:"sleeps,omitempty"`  // running timers that packSleeps has encoded
	Openers []begunEffect `json:"openers,omitempty"` // begin records of the objects that the program may still use
	// records of tool calls that were approved for the whole session
	Approved []*journal.Record `json:"approved,omitempty"`
	Lines    map[int64]int64   `json:"lines,omitempty"` // number of lines in the journal by exchange
	Hosts    []openHost        `json:"hosts,omitempty"` // open exchanges
	// number of unanswered requests of hosts by exchange
	Asked  map[int64]int `json:"asked,omitempty"`
	Synced uint64        `json:"synced,omitempty"` // number of the last synced record
	Out    int64         `json:"out"`              // number of output lines, which are all printed
	OutSum []byte        `json:"out_sum"`          // SHA-256 hash chain of these lines
	Random []byte        `json:"random,omitempty"`
	Clock  *effect.Time  `json:"clock,omitempty"` // last reading of the run's time; nil if there was none
	Spent  []spent       `json:"spent,omitempty"`
	// what hosts have used, ordered by name
	HostsSpent []hostSpent `json:"hosts_spent,omitempty"`
	// Ledgers contains the number of the last record in each ledger of the run, by path.
	Ledgers map[string]int64 `json:"ledgers,omitempty"`
}

// begunEffect is an effect that has begun and not ended.
type begunEffect struct {
	Record *journal.Record `json:"record"`
	Tries  int             `json:"tries"`
	// latest deadline of all attempts in Unix milliseconds; 0 for none
	Until int64 `json:"until,omitempty"`
}

// openHost is an open exchange with a host.
type openHost struct {
	ID      int64             `json:"id"`
	Request json.RawMessage   `json:"request"`
	Opened  json.RawMessage   `json:"opened,omitempty"`
	Line    int64             `json:"line,omitempty"`
	Over    bool              `json:"over,omitempty"`
	Since   int64             `json:"since"` // Unix milliseconds
	Course  json.RawMessage   `json:"course,omitempty"`
	Replies []json.RawMessage `json:"replies,omitempty"`
	Used    *effect.HostUsage `json:"used,omitempty"`
	Steered json.RawMessage   `json:"steered,omitempty"` // messages to the host
}

// snapshotState returns the current state of the run for a snapshot.
func (r *Run) snapshotState() (*State, error) {
	s := &State{Synced: r.c.Writer.Synced(), Lines: r.past.counts, Out: r.out.n, Spent: r.spent.allCalls(), Approved: r.approved, Clock: r.clock.newest, OutSum: r.out.sum[:], Ledgers: map[string]int64{}, Asked: r.idle.openRequests()}
	if r.c.World != nil {
		s.Random = r.c.World.RandomState()
	}
	for _, name := range slices.Sorted(maps.Keys(r.talks.spent)) {
		s.HostsSpent = append(s.HostsSpent, *r.talks.spent[name])
	}
	r.underWay(s)
	for _, x := range r.openers {
		s.Openers = append(s.Openers, x)
	}
	slices.SortFunc(s.Openers, func(a, b begunEffect) int { return cmp.Compare(a.Record.E, b.Record.E) })
	for _, l := range r.ledgers {
		s.Ledgers[l.Path()] = l.Seq()
	}
	var err error
	s.Hosts, err = r.openHosts()
	return s, err
}

// underWay adds the effects that have a begin record and have not ended, in the order of their
// records.
func (r *Run) underWay(s *State) {
	r.flights.mu.Lock()
	defer r.flights.mu.Unlock()
	timers := make([]sleep, 0, len(r.flights.all))
	for q, f := range r.flights.all {
		if f.begin == nil {
			continue
		}
		if timer, ok := sleepOf(q, f); ok {
			timers = append(timers, timer)
		} else {
			s.Begun = append(s.Begun, begunEffect{f.begin, max(f.tries, 1), f.until})
		}
	}
	slices.SortFunc(s.Begun, func(a, b begunEffect) int { return cmp.Compare(a.Record.E, b.Record.E) })
	slices.SortFunc(timers, func(a, b sleep) int { return cmp.Compare(a[0], b[0]) })
	s.Sleeps = packSleeps(timers)
}

// openHosts returns the open exchanges with secrets replaced by placeholders.
func (r *Run) openHosts() (all []openHost, err error) {
	text := func(v any) json.RawMessage {
		b, merr := jsonwrite.Encode(v)
		if merr != nil {
			err = merr
			return nil
		}
		return r.clean(b)
	}
	r.talks.mu.Lock()
	defer r.talks.mu.Unlock()
	for _, e := range slices.Sorted(maps.Keys(r.talks.all)) {
		o := r.talks.all[e]
		h := openHost{ID: e, Request: text(o.Request), Line: o.Line, Over: o.Over, Since: o.Since.UnixMilli(), Course: text(o.History)}
		if o.Opened != nil {
			h.Opened = text(o.Opened)
		}
		if o.Used != (effect.HostUsage{}) {
			used := o.Used
			h.Used = &used
		}
		for _, reply := range o.Replies {
			h.Replies = append(h.Replies, text(reply))
		}
		if len(o.Steered) > 0 {
			h.Steered = text(o.Steered)
		}
		all = append(all, h)
	}
	return all, err
}

// restore sets the state of the run from its snapshot.
func (r *Run) restore() error {
	s := r.c.Restored
	if s == nil {
		return nil
	}
	r.clock.newest, r.approved = s.Clock, s.Approved
	r.out.n, r.out.printed, r.out.noted = s.Out, s.Out, s.Out
	if int64(len(r.out.have)) < s.Out {
		return &BadSnapshot{fmt.Errorf("%s has %d lines, but the run has written %d", journal.OutFile, len(r.out.have), s.Out)}
	}
	for _, line := range r.out.have[:s.Out] {
		r.out.addToSum([]byte(line))
	}
	if !bytes.Equal(r.out.sum[:], s.OutSum) {
		return &BadSnapshot{fmt.Errorf("%s is a different file", journal.OutFile)}
	}
	for of, n := range s.Asked {
		r.idle.open[of] = n
	}
	for _, x := range s.Spent {
		r.spent.addCall(x)
		if r.c.World != nil {
			r.c.World.Used(x.Connection, x.Model, x.Calls, x.In, x.Out, !x.Lost)
		}
	}
	for _, x := range s.HostsSpent {
		r.talks.addSpent(x)
		if r.c.World != nil {
			r.c.World.UsedByHost(x.Host, x.Exchanges, x.Cost, x.In, x.Out, x.Turns)
		}
	}
	for _, h := range s.Hosts {
		o, err := h.openExchange(r.c.Secret)
		if err != nil {
			return &BadSnapshot{err}
		}
		r.talks.all[h.ID] = o
	}
	for _, x := range s.Openers {
		if row := effect.Lookup(effect.Kind(x.Record.Q)); row != nil {
			r.openers[number{row.Kind.Family(), x.Record.E}] = x
		}
	}
	if r.c.World == nil {
		return nil
	}
	if err := r.c.World.SetRandomState(s.Random); err != nil {
		return &BadSnapshot{err}
	}
	return nil
}

// openExchange returns the exchange in the form that Hosts.Resume expects. value returns the value
// of a secret.
func (h *openHost) openExchange(value func(name string) (string, bool)) (*host.Open, error) {
	o := &host.Open{ID: h.ID, Request: &effect.ExchangeOpen{}, Line: h.Line, Over: h.Over, Since: time.UnixMilli(h.Since), History: &host.History{}}
	if err := json.Unmarshal(secret.RestoreJSON(h.Course, value), o.History); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(secret.RestoreJSON(h.Request, value), o.Request); err != nil {
		return nil, err
	}
	if h.Used != nil {
		o.Used = *h.Used
	}
	if h.Opened != nil {
		o.Opened = &effect.ExchangeOpened{}
		if err := json.Unmarshal(h.Opened, o.Opened); err != nil {
			return nil, err
		}
	}
	if h.Steered != nil {
		if err := json.Unmarshal(secret.RestoreJSON(h.Steered, value), &o.Steered); err != nil {
			return nil, err
		}
	}
	for _, text := range h.Replies {
		reply := &effect.ExchangeReply{}
		if err := json.Unmarshal(secret.RestoreJSON(text, value), reply); err != nil {
			return nil, err
		}
		o.Replies = append(o.Replies, reply)
	}
	return o, nil
}

// BadSnapshot is the reason why the run cannot be resumed from a snapshot. An older snapshot, or a
// replay from the start, may still be possible.
type BadSnapshot struct{ Err error }

func (e *BadSnapshot) Error() string {
	return "the run cannot resume from the snapshot: " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *BadSnapshot) Unwrap() error { return e.Err }
