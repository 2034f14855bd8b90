package spool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// MaxData is the maximum size in bytes of the data of an event that is not sealed. A larger event
// would not fit into a frame, and would prevent the sending of later events. See Fits for sealed
// events.
const MaxData = protocol.MaxFrame - 4<<10

// retryAfter is the delay before a failed write is repeated, for example on a full disk.
const retryAfter = time.Second

// headRetry is the delay before a head is tried again that could not be sealed without keys.
const headRetry = time.Minute

// run is the state of a run in memory. handed and hidden allow events to be merged safely: an event
// that Next has returned is not changed, and an event that is being changed is not returned.
type run struct {
	state
	handed int64 // Next has returned events up to this sequence number
	hidden int64 // Next must not return events from this sequence number on; 0 means no limit
}

// state is the part of a run's state that a transaction changes. The transaction changes a copy.
type state struct {
	n       int64
	last    int64
	acked   int64
	off     int64
	ended   bool
	adopted bool  // Adopt has registered the run, and Resume was not yet called
	tail    *tail // the last event, if output can be appended to it; nil otherwise; immutable

	account string // account for which the run is sealed; "" if it is not sealed
	// The following are zero for a run that is not sealed, or adopted.
	chain    seal.Chain // the end of the run's events
	covered  int64      // the events up to this sequence number need no further head
	headAt   time.Time  // time of the next head; zero if the run needs none
	ackedTag string     // tag of the last event that was deleted after its acknowledgement
	title    string     // the run's title for notices; "" if it has none, or has ended
}

// tail is the last event of a run if it is output.
type tail struct {
	seq    int64
	size   int64
	ts     string
	before seal.Chain // the chain before the event
	protocol.Output
}

// row is the stored form of an event.
type row struct {
	typ, ts string
	data    []byte
	lost    int64 // for a gap: number of lost events
	size    int64
	output  *protocol.Output // the decoded data of a run.output; nil for other events
	// The following are those of a sealed event.
	epoch  int64  // 0 if the event is not sealed
	chain  string // the chain after the event in JSON
	reason string // of a gap
}

func sizeOf(typ string, data []byte) int64 { return int64(len(data)+len(typ)) + rowSize }

// rowSize is the approximate size in bytes of a row without its texts.
const rowSize = 80

// job is a request to the writer. It is a change, or the function do if do is not nil.
type job struct {
	Change
	rows   []row
	size   int64
	output bool // all events of the change are output
	do     func(*batch) error

	last int64
	err  error
	done chan struct{}
}

func newJob(c Change) (*job, error) {
	j := &job{Change: c, done: make(chan struct{})}
	if !protocol.IsID(c.Run) {
		return nil, fmt.Errorf("spool a change: %q is not a run id", c.Run)
	}
	j.output = len(c.Events) > 0
	for i, e := range c.Events {
		if e.Type == protocol.RunExited && i < len(c.Events)-1 {
			return nil, fmt.Errorf("spool %s of %s: %w", c.Events[i+1].Type, c.Run, ErrEnded)
		}
		r, err := rowOf(e)
		if err != nil {
			return nil, fmt.Errorf("spool %s of %s: %w", e.Type, c.Run, err)
		}
		j.rows, j.size = append(j.rows, r), j.size+r.size
		j.output = j.output && r.output != nil
	}
	return j, nil
}

func rowOf(e Event) (row, error) {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return row{}, err
	}
	if e.TS.IsZero() {
		e.TS = time.Now()
	}
	env := protocol.New(e.Type, e.TS, json.RawMessage(data))
	if refused := protocol.Check(&env); refused != nil {
		return row{}, refused
	}
	if len(env.Data) > MaxData {
		return row{}, tooLarge(e.Type, len(env.Data), MaxData)
	}
	r := row{typ: env.Type, ts: env.TS, data: env.Data, lost: 1}
	switch e.Type {
	case protocol.RunOutput:
		out, err := protocol.Decode[protocol.Output](&env)
		if err != nil {
			return row{}, err
		}
		r.output = &out
	case protocol.RunGap:
		gap, err := protocol.Decode[protocol.Gap](&env)
		if err != nil {
			return row{}, err
		}
		if r.lost = gap.To - gap.From + 1; r.lost < 1 {
			return row{}, fmt.Errorf("invalid gap from %d to %d", gap.From, gap.To)
		}
		r.data = []byte(gap.Reason)
	}
	r.size = sizeOf(r.typ, r.data)
	return r, nil
}

func tooLarge(typ string, size, limit int) *protocol.Refusal {
	return &protocol.Refusal{Code: protocol.TooLarge, Why: fmt.Sprintf("%s has %d bytes of data; a frame has at most %d", typ, size, limit)}
}

// Fits reports whether a run's event with the given data, in JSON, fits into a frame. A sealed one
// has fewer bytes. Commit refuses other events.
func (s *Spool) Fits(id, typ string, data []byte) bool {
	s.mu.Lock()
	r := s.runs[id]
	sealed := s.keys != nil
	if r != nil {
		sealed = r.account != ""
	}
	s.mu.Unlock()
	return len(data) <= MaxData && (!sealed || fitsSealed(typ, protocol.New(typ, time.Time{}, protocol.Empty{}).TS, data))
}

// longestForm is more than the number of bytes of a value's canonical form for each byte of any
// other form: 1e20 has 21 digits.
const longestForm = 8

// fitsSealed reports whether the sealed form of an event fits into a frame. It is true for an event
// that has no canonical form.
func fitsSealed(typ, ts string, data []byte) bool {
	rest := seal.MaxPlaintext - len(`{"data":,"ts":"","type":""}`) - len(ts) - len(typ)
	if len(data) <= rest/longestForm {
		return true
	}
	form, err := jcs.Canonical(data)
	return err != nil || len(form) <= rest
}

// write is the main function of the writer goroutine. Jobs that arrive during a commit form the
// next batch.
func (s *Spool) write() {
	defer close(s.done)
	heads := time.NewTimer(0)
	defer heads.Stop()
	for {
		s.setTimer(heads)
		select {
		case first := <-s.in:
			s.commit(s.gather(first))
		case <-s.wake:
			s.commit(s.gather())
		case <-heads.C:
			s.commit(s.gather())
		case <-s.closed:
			s.drain()
			return
		}
	}
}

// setTimer sets a timer to the time of the next head. It stops the timer if no run needs one.
func (s *Spool) setTimer(t *time.Timer) {
	var first time.Time
	for _, at := range s.headsAt {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.IsZero() {
		t.Stop()
	} else {
		t.Reset(time.Until(first))
	}
}

// gather returns the next batch: the given jobs, and those that have arrived since.
func (s *Spool) gather(all ...*job) []*job {
	if s.before != nil {
		s.before()
	}
	select {
	case <-s.wake: // the batch also commits the acknowledgements
	default:
	}
	size := int64(0)
	for _, j := range all {
		size += j.size
	}
	for len(all) < protocol.BatchEvents && size < protocol.BatchBytes {
		select {
		case next := <-s.in:
			all, size = append(all, next), size+next.size
		default:
			return all
		}
	}
	return all
}

func (s *Spool) drain() {
	for {
		select {
		case first := <-s.in:
			s.commit(s.gather(first))
		default:
			s.commit(nil) // commit the remaining acknowledgements
			return
		}
	}
}

// commit commits jobs and pending acknowledgements. While the disk is full, it retries.
func (s *Spool) commit(jobs []*job) {
	err := s.tryCommit(jobs)
	for full := false; err != nil && isFull(err); err = s.tryCommit(jobs) {
		if !full {
			s.log.Error("could not write the spool: the disk is full; waiting for space", "error", err)
		}
		full = true
		s.setTrouble(err)
		if !s.pause(retryAfter) {
			break
		}
	}
	s.setTrouble(err)
	for _, j := range jobs {
		if err != nil {
			j.err = fmt.Errorf("write the spool: %w", err)
		}
		close(j.done)
	}
	if err != nil {
		s.log.Error("could not write the spool", "error", err)
	}
}

func (s *Spool) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.closed:
		return false
	}
}

// tryCommit runs one transaction. After the commit it updates the state in memory.
func (s *Spool) tryCommit(jobs []*job) error {
	b := &batch{ctx: context.Background(), s: s, now: time.Now(), runs: map[string]*state{}}
	acks := s.takeAcks()
	err := b.run(jobs, acks)
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range b.runs {
		if r := s.runs[id]; r != nil {
			r.hidden = 0
		}
	}
	if err != nil {
		for id, last := range acks {
			s.acks[id] = max(s.acks[id], last)
		}
		for id := range s.headsAt {
			s.headsAt[id] = later(s.headsAt[id], b.now.Add(retryAfter))
		}
		return err
	}
	for id, now := range b.runs {
		r := s.runs[id]
		if r == nil {
			r = &run{}
			s.runs[id] = r
		}
		now.acked = max(now.acked, r.acked) // an acknowledgement may have arrived during the commit
		r.state = *now
		if delete(s.headsAt, id); !now.headAt.IsZero() {
			s.headsAt[id] = now.headAt
		}
	}
	s.fill.passed = b.passed
	s.setUsed(b.used, b.freed)
	if b.hasNews {
		notify(s.committed)
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Spool) takeAcks() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	acks := s.acks
	s.acks = map[string]int64{}
	return acks
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
