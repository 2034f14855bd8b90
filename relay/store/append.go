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

// Incoming is an event of a machine, with the generation of the connection on which it arrived.
type Incoming struct {
	MachineID string
	Gen       int64
	Envelope  *protocol.Envelope // the event, with a run and a sequence number
	Push      map[string]string  // the bodies for push messages of a sealed event, by device
	At        int64              // the server's time, in Unix ms
	// AnyStart is set for a machine that speaks protocol 1. Its runs begin with the sequence number
	// of their run.started.
	AnyStart bool
}

// Outcome is the result of storing one event. If Refused is "" and Stale is false, the event is
// stored.
type Outcome struct {
	Refused   protocol.Code // why the event was refused: seq_conflict, not_owner or rate_limited; "" if it was not
	Stale     bool          // the event was ignored because its connection no longer owns the machine
	Duplicate bool          // the event had been stored before
}

// Appended is the result of storing a batch of events.
type Appended struct {
	Outcomes []Outcome        // the outcome of each event, in the order of the batch
	Prefixes map[string]int64 // the new prefixes of the runs in the batch
	Before   map[string]int64 // the prefixes of these runs before the batch
	Started  []string         // ids of the runs that the batch created
	Settled  []Settled        // commands whose result the events reported
}

// Append stores events in one transaction. If it returns an error, no event is stored.
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

// batch is a transaction that stores events.
type batch struct {
	ctx  context.Context
	s    *Store
	tx   database
	gens map[string]int64 // current generations of the machines in the batch; it omits unknown machines
	runs map[string]*openRun
	has  map[string]int // number of runs, by machine that creates runs in the batch
	out  *Appended

	records    []audit.Record
	violations map[violation]bool
	at         int64 // time of the last event, in Unix ms
}

// openRun is a run to which the batch appends events.
type openRun struct {
	Run
	requests map[string]bool // ids of the run's open and decided requests
	changed  bool
}

func (b *batch) append(in *Incoming) (Outcome, error) {
	if gen, there := b.gens[in.MachineID]; !there || gen != in.Gen {
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
	b.out.Prefixes[r.ID] = r.Prefix // the prefix so far; finish updates it
	o, err := b.insert(r, e)
	if err == nil && o == (Outcome{}) && len(in.Push) > 0 {
		err = b.insertBodies(e, in.Push)
	}
	return o, err
}

// run returns the run of an event. It creates the run if it does not exist.
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
	if r.MachineID != in.MachineID {
		return nil, protocol.NotOwner, nil
	}
	return r, "", nil
}

// create creates the run of an event. It returns nil if the machine has too many runs.
func (b *batch) create(in *Incoming, e *Event) (*openRun, error) {
	has, counted := b.has[in.MachineID]
	if !counted { // count once per batch, so that a machine with many runs does not delay other machines
		if err := b.tx.QueryRowContext(b.ctx, `SELECT count(*) FROM runs WHERE host_id = $1`, in.MachineID).Scan(&has); err != nil {
			return nil, b.s.wrapError("count runs", err)
		}
	}
	if b.has == nil {
		b.has = map[string]int{}
	}
	b.has[in.MachineID] = has
	if has >= protocol.MaxRunsOfMachine {
		return nil, nil
	}
	b.has[in.MachineID]++
	r := &openRun{Run: Run{ID: e.RunID, MachineID: in.MachineID, Status: protocol.StatusRunning, Meta: json.RawMessage("{}"), StartedAt: in.At, LastActiveAt: in.At}, requests: map[string]bool{}}
	if in.AnyStart && e.Type == protocol.RunStarted {
		r.Prefix = e.Seq - 1
		r.Last = r.Prefix
	}
	b.out.Started = append(b.out.Started, r.ID)
	b.records = append(b.records, b.machineRecord(in, "run_started", "{}"))
	_, err := b.tx.ExecContext(b.ctx, b.s.insertRun, r.values()...)
	return r, b.s.wrapError("create a run", err)
}

// insert stores an event. If no earlier event is missing, it applies the event and the following
// stored events to the run.
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
		r.addEpoch(e)
		return Outcome{}, b.replaceGap(before, e)
	case before != nil:
		return Outcome{Refused: protocol.SeqConflict}, nil
	}
	_, err = b.tx.ExecContext(b.ctx, insertEvent,
		e.RunID, e.Seq, e.From, e.TS, e.Type, e.inputID(), string(e.Data), string(e.Extra), e.ReceivedAt)
	if err != nil {
		return Outcome{}, b.s.wrapError("store an event", err)
	}
	r.addEpoch(e)
	r.changed = true
	r.Last = max(r.Last, e.Seq)
	switch {
	case e.From > r.Prefix+1 || e.Seq <= r.Prefix:
		return Outcome{}, nil // earlier events are missing, or the event is inside a stored gap
	case e.Type == protocol.RunGap:
		return Outcome{}, b.catchUp(r)
	}
	if err := b.advance(r, e); err != nil {
		return Outcome{}, err
	}
	return Outcome{}, b.catchUp(r)
}

// addEpoch updates the lowest epoch of the run's events.
func (r *openRun) addEpoch(e *Event) {
	var enc struct {
		Epoch int64 `json:"epoch"`
	}
	_ = json.Unmarshal(e.enc(), &enc) // ignore the error: an event without a valid enc has no epoch
	if n := enc.Epoch; n > 0 && (r.Epoch == 0 || n < r.Epoch) {
		r.Epoch, r.changed = n, true
	}
}

// inputID returns the input id of a run.input. It returns "" for other events.
func (e *Event) inputID() string {
	if e.Type != protocol.RunInput {
		return ""
	}
	return e.text("input_id")
}

// stored returns the stored event with the same sequence number, or nil.
func (b *batch) stored(e *Event) (*Event, error) {
	was, err := scanEvent(b.tx.QueryRowContext(b.ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND seq = $2`, e.RunID, e.Seq))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return was, b.s.wrapError("read an event", err)
}

// advance applies the next event to a run and increases its prefix.
func (b *batch) advance(r *openRun, e *Event) error {
	r.Prefix = e.Seq
	if r.exceedsRequests(e, r.requests) {
		b.addViolation(&Incoming{MachineID: r.MachineID, Envelope: &protocol.Envelope{RunID: r.ID, Seq: e.Seq}}, protocol.RateLimited)
	}
	changes := r.apply(e, r.requests)
	for _, c := range changes {
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
	if err := b.chronicle(r, e, changes); err != nil {
		return err
	}
	return b.settle(r, e)
}

// catchUp applies the stored events after the prefix, up to the next missing one. If a gap covers
// the missing events, catchUp continues after the gap. It also applies those events inside the gap
// that have arrived.
func (b *batch) catchUp(r *openRun) error {
	covered := r.Prefix // sequence number up to which gaps cover missing events
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

// finish stores the state of the changed runs.
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

// eventOf converts an incoming event to its stored form.
func eventOf(in *Incoming) (*Event, error) {
	env := in.Envelope
	e := &Event{RunID: env.RunID, Seq: env.Seq, From: env.Seq, TS: env.TS, Type: env.Type, Data: env.Data, ReceivedAt: in.At}
	if e.Type == protocol.RunGap {
		gap := protocol.Gap{To: e.Seq} // a sealed gap has only from
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
	return protocol.SameEvent(&protocol.Envelope{Type: a.Type, Enc: a.enc(), Data: a.Data}, &protocol.Envelope{Type: b.Type, Enc: b.enc(), Data: b.Data})
}
