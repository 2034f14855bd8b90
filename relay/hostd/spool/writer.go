package spool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// MaxData is the maximum size in bytes of the data of an event. A larger event would not fit into a
// frame, and would prevent the sending of later events.
const MaxData = protocol.MaxFrame - 4<<10

// retryAfter is the delay before a failed write is repeated, for example on a full disk.
const retryAfter = time.Second

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
}

// tail is the last event of a run if it is output.
type tail struct {
	seq  int64
	size int64
	protocol.Output
}

// row is the stored form of an event.
type row struct {
	typ, ts string
	data    []byte
	lost    int64 // for a gap: number of lost events
	size    int64
	output  *protocol.Output // the decoded data of a run.output; nil for other events
}

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
		return row{}, &protocol.Refusal{Code: protocol.TooLarge, Why: fmt.Sprintf("%s has %d bytes of data; a frame has at most %d", e.Type, len(env.Data), MaxData)}
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
	r.size = int64(len(r.data)+len(r.typ)) + rowSize
	return r, nil
}

// write is the main function of the writer goroutine. Jobs that arrive during a commit form the
// next batch.
func (s *Spool) write() {
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
		now.acked = max(now.acked, r.acked) // an acknowledgement may have arrived during the commit
		r.state = *now
	}
	s.setUsed(b.used, b.freed)
	if b.hasNews {
		notify(s.committed)
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

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isRefusal reports whether an error concerns only one job, so that the other jobs of the
// transaction can be committed.
func isRefusal(err error) bool { return errors.Is(err, ErrEnded) }
