package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Incoming is an event that a host has sent, over a connection of a generation.
type Incoming struct {
	HostID   string
	Gen      int64
	Envelope *protocol.Envelope // with a run and a seq
	At       int64              // Unix ms, the server's
	AnyStart bool               // the host is of the seed's protocol: its runs begin with the seq of their run.started
}

// Outcome is what became of an event: stored or known before when Refused is "".
type Outcome struct {
	Refused protocol.Code // seq_conflict, not_owner, rate_limited
	Stale   bool          // the connection is no longer the host's: nothing is to be done
	Known   bool          // it was stored before
}

// Appended is what a batch has done.
type Appended struct {
	Outcomes []Outcome        // of each event
	Prefixes map[string]int64 // of each run that events of the batch named, and that the host has
	Before   map[string]int64 // what they were before the batch
	Started  []string         // runs that there were not before
	Settled  []Settled        // commands of which the events tell what became of them
}

// Append stores events in one transaction. The error says that nothing of them is stored.
func (s *Store) Append(ctx context.Context, all []Incoming) (*Appended, error) {
	var out *Appended
	err := s.change(ctx, func(tx database) error {
		b := batch{ctx: ctx, s: s, tx: tx, gens: map[string]int64{}, runs: map[string]*openRun{}}
		b.out = &Appended{Outcomes: make([]Outcome, len(all)), Prefixes: map[string]int64{}, Before: map[string]int64{}}
		if err := b.read(all); err != nil {
			return err
		}
		for i := range all {
			b.at = all[i].At
			o, err := b.append(&all[i])
			if err != nil {
				return err
			}
			b.out.Outcomes[i] = o
			b.violated(&all[i], o.Refused)
		}
		out = b.out
		return b.finish()
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// batch is a transaction of events.
type batch struct {
	ctx  context.Context
	s    *Store
	tx   database
	gens map[string]int64 // of the hosts that have sent some, and that there are
	runs map[string]*openRun
	has  map[string]int // how many runs a host has, of those that want more
	out  *Appended

	records    []audit.Record
	violations map[violation]bool
	at         int64 // Unix ms, of the last event
}

// openRun is a run that a batch works on.
type openRun struct {
	Run
	open    map[string]bool // its requests that are open or decided
	changed bool
}

func (b *batch) append(in *Incoming) (Outcome, error) {
	if gen, there := b.gens[in.HostID]; !there || gen != in.Gen {
		return Outcome{Stale: true}, nil
	}
	e, err := eventOf(in)
	if err != nil {
		return Outcome{}, err
	}
	r, code, err := b.run(in, e)
	if err != nil || code != "" {
		return Outcome{Refused: code}, err
	}
	if _, named := b.out.Before[r.ID]; !named {
		b.out.Before[r.ID] = r.Prefix
	}
	b.out.Prefixes[r.ID] = r.Prefix // the last word is finish's
	return b.insert(r, e)
}

// run is an event's run, made when there is none.
func (b *batch) run(in *Incoming, e *Event) (*openRun, protocol.Code, error) {
	r := b.runs[e.RunID]
	if r == nil {
		var err error
		if r, err = b.made(in, e); err != nil {
			return nil, "", err
		}
		if r == nil {
			return nil, protocol.RateLimited, nil
		}
		b.runs[e.RunID] = r
	}
	if r.HostID != in.HostID {
		return nil, protocol.NotOwner, nil
	}
	return r, "", nil
}

// made makes a run; nil when the host has too many.
func (b *batch) made(in *Incoming, e *Event) (*openRun, error) {
	has, counted := b.has[in.HostID]
	if !counted { // once: a host with many that asks for many more would hold up the others
		if err := b.tx.QueryRowContext(b.ctx, `SELECT count(*) FROM runs WHERE host_id = $1`, in.HostID).Scan(&has); err != nil {
			return nil, b.s.told("count runs", err)
		}
	}
	if b.has == nil {
		b.has = map[string]int{}
	}
	b.has[in.HostID] = has
	if has >= protocol.MaxRunsOfHost {
		return nil, nil
	}
	b.has[in.HostID]++
	r := &openRun{Run: Run{ID: e.RunID, HostID: in.HostID, Status: protocol.StatusRunning, Meta: json.RawMessage("{}"), StartedAt: in.At, LastActiveAt: in.At}, open: map[string]bool{}}
	if in.AnyStart && e.Type == protocol.RunStarted {
		r.Prefix = e.Seq - 1
		r.Last = r.Prefix
	}
	b.out.Started = append(b.out.Started, r.ID)
	b.records = append(b.records, b.byHost(in, "run_started", "{}"))
	_, err := b.tx.ExecContext(b.ctx, b.s.insertRun, r.values()...)
	return r, b.s.told("make a run", err)
}

// insert stores an event, and what it and those behind it make of the run when none
// before it is missing.
func (b *batch) insert(r *openRun, e *Event) (Outcome, error) {
	var before *Event
	var err error
	if e.Seq <= r.Last {
		if before, err = b.stored(e); err != nil {
			return Outcome{}, err
		}
	}
	switch {
	case before != nil && same(before, e):
		return Outcome{Known: true}, nil
	case before != nil && before.skipped() && e.Type != protocol.RunGap:
		return Outcome{}, b.cameAfterAll(before, e)
	case before != nil:
		return Outcome{Refused: protocol.SeqConflict}, nil
	}
	_, err = b.tx.ExecContext(b.ctx, insertEvent,
		e.RunID, e.Seq, e.From, e.TS, e.Type, e.inputID(), string(e.Data), string(e.Extra), e.ReceivedAt)
	if err != nil {
		return Outcome{}, b.s.told("store an event", err)
	}
	r.changed = true
	r.Last = max(r.Last, e.Seq)
	switch {
	case e.From > r.Prefix+1 || e.Seq <= r.Prefix:
		return Outcome{}, nil // held back; or it comes after the gap that stands for it
	case e.Type == protocol.RunGap:
		return Outcome{}, b.catchUp(r)
	}
	if err := b.advance(r, e); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, b.catchUp(r)
}

// inputID is the input that a run.input records; "" of any other event, whose data is not
// looked at for it.
func (e *Event) inputID() string {
	if e.Type != protocol.RunInput {
		return ""
	}
	return e.text("input_id")
}

// stored is the event that has an event's seq; nil when there is none.
func (b *batch) stored(e *Event) (*Event, error) {
	was, err := scanEvent(b.tx.QueryRowContext(b.ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND seq = $2`, e.RunID, e.Seq))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return was, b.s.told("read an event", err)
}

// advance takes the next event of a run in.
func (b *batch) advance(r *openRun, e *Event) error {
	r.Prefix = e.Seq
	if r.asksTooMuch(e, r.open) {
		b.violated(&Incoming{HostID: r.HostID, Envelope: &protocol.Envelope{RunID: r.ID, Seq: e.Seq}}, protocol.RateLimited)
	}
	for _, c := range r.apply(e, r.open) {
		var err error
		if c.data != nil {
			_, err = b.tx.ExecContext(b.ctx, `INSERT INTO requests (run_id, request_id, seq, data_json, state) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
				r.ID, c.id, e.Seq, string(c.data), c.state)
		} else {
			_, err = b.tx.ExecContext(b.ctx, `UPDATE requests SET state = $3 WHERE run_id = $1 AND request_id = $2`, r.ID, c.id, c.state)
		}
		if err != nil {
			return b.s.told("note a request", err)
		}
	}
	return b.settle(r, e)
}

// catchUp takes in what was held back, up to the next hole. A gap stands for the hole
// before it, also when some of what it stands for has come.
func (b *batch) catchUp(r *openRun) error {
	covered := r.Prefix // what a gap stands for, up to its own seq
	for r.Prefix < r.Last {
		next, err := scanEvent(b.tx.QueryRowContext(b.ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT 1`, r.ID, r.Prefix))
		if err != nil {
			return b.s.told("read an event", err)
		}
		if next.From > r.Prefix+1 && next.Seq > covered {
			err := b.tx.QueryRowContext(b.ctx, `SELECT seq FROM events WHERE run_id = $1 AND seq > $2 AND type = 'run.gap' AND from_seq <= $3 ORDER BY seq DESC LIMIT 1`,
				r.ID, r.Prefix, r.Prefix+1).Scan(&covered)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return b.s.told("read a gap", err)
			}
		}
		if err := b.advance(r, next); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what has become of the runs.
func (b *batch) finish() error {
	for _, r := range b.runs {
		if _, named := b.out.Prefixes[r.ID]; named {
			b.out.Prefixes[r.ID] = r.Prefix
		}
		if !r.changed {
			continue
		}
		_, err := b.tx.ExecContext(b.ctx, b.s.updateRun, r.values()...)
		if err != nil {
			return b.s.told("note a run", err)
		}
	}
	return b.record()
}

// eventOf is an event as it is stored.
func eventOf(in *Incoming) (*Event, error) {
	env := in.Envelope
	e := &Event{RunID: env.RunID, Seq: env.Seq, From: env.Seq, TS: env.TS, Type: env.Type, Data: env.Data, ReceivedAt: in.At}
	if e.Type == protocol.RunGap {
		var gap protocol.Gap
		if err := json.Unmarshal(e.Data, &gap); err == nil && gap.To == e.Seq && gap.From >= 1 && gap.From <= gap.To {
			e.From = gap.From
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, env.Data); err != nil {
		return nil, fmt.Errorf("event %d of run %s: %w", env.Seq, env.RunID, err)
	}
	e.Data = compact.Bytes()
	extra := slices.Clone(env.Extra)
	if env.Enc != nil {
		extra = append(extra, protocol.Member{Name: "enc", Value: env.Enc})
	}
	if len(extra) == 0 {
		return e, nil
	}
	all := make(map[string]json.RawMessage, len(extra))
	for _, m := range extra {
		all[m.Name] = m.Value
	}
	var err error
	e.Extra, err = json.Marshal(all)
	return e, err
}

func same(a, b *Event) bool {
	return protocol.SameEvent(&protocol.Envelope{Type: a.Type, Data: a.Data}, &protocol.Envelope{Type: b.Type, Data: b.Data})
}
