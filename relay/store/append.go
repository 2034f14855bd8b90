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

// Incoming is an event that a host sent on the connection of a generation.
type Incoming struct {
	HostID   string
	Gen      int64
	Envelope *protocol.Envelope // has a run and a sequence number
	At       int64              // the server's time, Unix ms
	// the host speaks protocol 1: its runs begin with the number of their run.started
	AnyStart bool
}

// Outcome is the result for one event: stored now or earlier if Refused is "".
type Outcome struct {
	Refused   protocol.Code // seq_conflict, not_owner, rate_limited
	Stale     bool          // the connection no longer owns the host; the event is ignored
	Duplicate bool          // it was stored earlier
}

// Appended is the result of a batch.
type Appended struct {
	Outcomes []Outcome        // of each event
	Prefixes map[string]int64 // of each run of the host that the batch's events name
	Before   map[string]int64 // the prefixes before the batch
	Started  []string         // new runs
	Settled  []Settled        // commands whose result the events report
}

// Append stores events in one transaction. After an error none of them is stored.
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
			b.addViolation(&all[i], o.Refused)
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
	gens map[string]int64 // the current generations of the known hosts in the batch
	runs map[string]*openRun
	has  map[string]int // number of runs of a host that creates more
	out  *Appended

	records    []audit.Record
	violations map[violation]bool
	at         int64 // time of the last event, Unix ms
}

// openRun is a run that the batch changes.
type openRun struct {
	Run
	requests map[string]bool // its open and decided requests
	changed  bool
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
	b.out.Prefixes[r.ID] = r.Prefix // finish updates it
	return b.insert(r, e)
}

// run returns the run of an event and creates it if necessary.
func (b *batch) run(in *Incoming, e *Event) (*openRun, protocol.Code, error) {
	r := b.runs[e.RunID]
	if r == nil {
		var err error
		if r, err = b.create(in, e); err != nil {
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

// create creates a run. It returns nil if the host has too many.
func (b *batch) create(in *Incoming, e *Event) (*openRun, error) {
	has, counted := b.has[in.HostID]
	if !counted { // counted once, so that a host with many runs does not delay others
		if err := b.tx.QueryRowContext(b.ctx, `SELECT count(*) FROM runs WHERE host_id = $1`, in.HostID).Scan(&has); err != nil {
			return nil, b.s.wrapError("count runs", err)
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
	r := &openRun{Run: Run{ID: e.RunID, HostID: in.HostID, Status: protocol.StatusRunning, Meta: json.RawMessage("{}"), StartedAt: in.At, LastActiveAt: in.At}, requests: map[string]bool{}}
	if in.AnyStart && e.Type == protocol.RunStarted {
		r.Prefix = e.Seq - 1
		r.Last = r.Prefix
	}
	b.out.Started = append(b.out.Started, r.ID)
	b.records = append(b.records, b.hostRecord(in, "run_started", "{}"))
	_, err := b.tx.ExecContext(b.ctx, b.s.insertRun, r.values()...)
	return r, b.s.wrapError("create a run", err)
}

// insert stores an event. If no earlier one is missing, it applies the event and the later stored
// ones to the run.
func (b *batch) insert(r *openRun, e *Event) (Outcome, error) {
	var before *Event
	var err error
	if e.Seq <= r.Last {
		if before, err = b.stored(e); err != nil {
			return Outcome{}, err
		}
	}
	switch {
	case before != nil && sameEvent(before, e):
		return Outcome{Duplicate: true}, nil
	case before != nil && before.isServerGap() && e.Type != protocol.RunGap:
		return Outcome{}, b.replaceGap(before, e)
	case before != nil:
		return Outcome{Refused: protocol.SeqConflict}, nil
	}
	_, err = b.tx.ExecContext(b.ctx, insertEvent,
		e.RunID, e.Seq, e.From, e.TS, e.Type, e.inputID(), string(e.Data), string(e.Extra), e.ReceivedAt)
	if err != nil {
		return Outcome{}, b.s.wrapError("store an event", err)
	}
	r.changed = true
	r.Last = max(r.Last, e.Seq)
	switch {
	case e.From > r.Prefix+1 || e.Seq <= r.Prefix:
		return Outcome{}, nil // held back, or part of an existing gap
	case e.Type == protocol.RunGap:
		return Outcome{}, b.catchUp(r)
	}
	if err := b.advance(r, e); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, b.catchUp(r)
}

// inputID returns the input id of a run.input, and "" for other events.
func (e *Event) inputID() string {
	if e.Type != protocol.RunInput {
		return ""
	}
	return e.text("input_id")
}

// stored returns the stored event with the same number, or nil.
func (b *batch) stored(e *Event) (*Event, error) {
	was, err := scanEvent(b.tx.QueryRowContext(b.ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND seq = $2`, e.RunID, e.Seq))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return was, b.s.wrapError("read an event", err)
}

// advance applies the next event to a run.
func (b *batch) advance(r *openRun, e *Event) error {
	r.Prefix = e.Seq
	if r.exceedsRequests(e, r.requests) {
		b.addViolation(&Incoming{HostID: r.HostID, Envelope: &protocol.Envelope{RunID: r.ID, Seq: e.Seq}}, protocol.RateLimited)
	}
	for _, c := range r.apply(e, r.requests) {
		var err error
		if c.data != nil {
			_, err = b.tx.ExecContext(b.ctx, `INSERT INTO requests (run_id, request_id, seq, data_json, state) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
				r.ID, c.id, e.Seq, string(c.data), c.state)
		} else {
			_, err = b.tx.ExecContext(b.ctx, `UPDATE requests SET state = $3 WHERE run_id = $1 AND request_id = $2`, r.ID, c.id, c.state)
		}
		if err != nil {
			return b.s.wrapError("update a request", err)
		}
	}
	return b.settle(r, e)
}

// catchUp applies held-back events up to the next hole. A gap covers the hole before it, even if
// some of its events arrived.
func (b *batch) catchUp(r *openRun) error {
	covered := r.Prefix // the end of the range that gaps cover
	for r.Prefix < r.Last {
		next, err := scanEvent(b.tx.QueryRowContext(b.ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT 1`, r.ID, r.Prefix))
		if err != nil {
			return b.s.wrapError("read an event", err)
		}
		if next.From > r.Prefix+1 && next.Seq > covered {
			err := b.tx.QueryRowContext(b.ctx, `SELECT seq FROM events WHERE run_id = $1 AND seq > $2 AND type = 'run.gap' AND from_seq <= $3 ORDER BY seq DESC LIMIT 1`,
				r.ID, r.Prefix, r.Prefix+1).Scan(&covered)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return b.s.wrapError("read a gap", err)
			}
		}
		if err := b.advance(r, next); err != nil {
			return err
		}
	}
	return nil
}

// finish stores the changed runs.
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
			return b.s.wrapError("update a run", err)
		}
	}
	return b.record()
}

// eventOf converts an event to its stored form.
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

func sameEvent(a, b *Event) bool {
	return protocol.SameEvent(&protocol.Envelope{Type: a.Type, Data: a.Data}, &protocol.Envelope{Type: b.Type, Data: b.Data})
}
