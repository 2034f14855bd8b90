package spool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// MaxData is how long the data of an event may be: what fits no frame would never be taken, nor what
// comes behind it.
const MaxData = protocol.MaxFrame - 4<<10

// retryAfter is how long the writer waits before it tries again what a full disk refused.
const retryAfter = time.Second

// run is what is known of a run. handed and hidden are for merging: what Next has given is
// not changed any more, and what is being changed is not given.
type run struct {
	state
	handed int64 // Next has given this and all before
	hidden int64 // Next gives nothing from here on; 0: everything
}

// state is what a transaction may change: it works on a copy.
type state struct {
	n       int64
	last    int64
	acked   int64
	off     int64
	ended   bool
	adopted bool  // what it told before, the spool does not know: see Adopt
	tail    *tail // its last event when more output may be added to it; never changed
}

// tail is an output that is the last event of its run.
type tail struct {
	seq  int64
	size int64
	protocol.Output
}

// row is an event as it is stored.
type row struct {
	typ, ts string
	data    []byte
	lost    int64 // of a gap: how many events
	size    int64
	output  *protocol.Output // of a run.output
}

// rowSize is what a row takes besides its texts, about.
const rowSize = 80

// job is something for the writer: a change, or do.
type job struct {
	Change
	rows   []row
	size   int64
	output bool // all of it is output
	do     func(*batch) error

	last int64
	err  error
	done chan struct{}
}

func newJob(c Change) (*job, error) {
	j := &job{Change: c, done: make(chan struct{})}
	if !protocol.IsID(c.Run) {
		return nil, fmt.Errorf("spool a change: %q is no run's id", c.Run)
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
		return row{}, &protocol.Refusal{Code: protocol.TooLarge, Why: fmt.Sprintf("%s has %d bytes of data, and at most %d fit a frame", e.Type, len(env.Data), MaxData)}
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
			return row{}, fmt.Errorf("a gap from %d to %d", gap.From, gap.To)
		}
		r.data = []byte(gap.Reason)
	}
	r.size = int64(len(r.data)+len(r.typ)) + rowSize
	return r, nil
}

// work is the writer: what comes while a commit runs is the next one.
func (s *Spool) work() {
	defer close(s.done)
	for {
		select {
		case first := <-s.in:
			s.commit(s.gather(first))
		case <-s.wake:
			s.commit(nil)
		case <-s.closed:
			s.drain()
			return
		}
	}
}

func (s *Spool) gather(first *job) []*job {
	all, size := []*job{first}, first.size
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
			s.commit(nil) // acks
			return
		}
	}
}

// commit commits jobs and the acks that wait, and tries again while the disk is full.
func (s *Spool) commit(jobs []*job) {
	err := s.try(jobs)
	for full := false; err != nil && isFull(err); err = s.try(jobs) {
		if !full {
			s.log.Error("the spool cannot be written, and waits for room on the disk", "error", err)
		}
		full = true
		s.trouble(err)
		if !s.pause(retryAfter) {
			break
		}
	}
	s.trouble(err)
	for _, j := range jobs {
		if err != nil {
			j.err = fmt.Errorf("write the spool: %w", err)
		}
		close(j.done)
	}
	if err != nil {
		s.log.Error("the spool cannot be written", "error", err)
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

// try makes one transaction of all, and keeps in memory what it says once it is committed.
func (s *Spool) try(jobs []*job) error {
	b := &batch{ctx: context.Background(), s: s, runs: map[string]*state{}}
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
		return err
	}
	for id, now := range b.runs {
		r := s.runs[id]
		if r == nil {
			r = &run{}
			s.runs[id] = r
		}
		now.acked = max(now.acked, r.acked) // one more may have come
		r.state = *now
	}
	s.filled(b.used, b.freed)
	if b.told {
		nudge(s.tell)
	}
	return nil
}

func (s *Spool) takeAcks() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	acks := s.acks
	s.acks = map[string]int64{}
	return acks
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isRefusal says of an error that the job alone is to blame.
func isRefusal(err error) bool { return errors.Is(err, ErrEnded) }
