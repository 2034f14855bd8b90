package store

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// ErrClosed is the result of writing an event after Close.
var ErrClosed = errors.New("the store is closed")

// Writer stores the events of many connections. The events that arrive during a commit form the
// next batch. Many events therefore share a commit, and a single event is not delayed by a timer.
type Writer struct {
	s        *Store
	onCommit OnCommit
	before   func()
	in       chan writeRequest
	end      context.CancelFunc
	done     chan struct{}
	ctx      context.Context
}

// writeRequest is an event to store, and the function that receives the result.
type writeRequest struct {
	Incoming
	report func(Written)
}

// Written is the result of writing an event. If Err is set, the event is not stored, and the
// machine must send it again.
type Written struct {
	Outcome
	Prefix int64 // the run's prefix after the commit
	Err    error
}

// OnCommit is called after a commit, before the results of its events are reported. If it returns a
// function, that function is called after the results are reported. A Writer's OnCommit may be nil.
type OnCommit func(all []Incoming, out *Appended) (then func())

// NewWriter starts a Writer. It calls before, which may be nil, before it gathers a batch.
func (s *Store) NewWriter(before func(), onCommit OnCommit) *Writer {
	ctx, end := context.WithCancel(context.Background())
	w := &Writer{s: s, onCommit: onCommit, before: before, in: make(chan writeRequest, protocol.BatchEvents), end: end, done: make(chan struct{}), ctx: ctx}
	go w.run()
	return w
}

// Write queues an event. It blocks while the queue is full, which slows down reading from the
// machine. The writer's goroutine calls notify once with the result, in the order of the calls of
// Write.
func (w *Writer) Write(ctx context.Context, in Incoming, notify func(Written)) {
	select {
	case <-w.ctx.Done():
		notify(Written{Err: ErrClosed})
	case <-ctx.Done():
		notify(Written{Err: context.Cause(ctx)})
	case w.in <- writeRequest{in, notify}:
	}
}

// Close commits the queued events and stops the writer.
func (w *Writer) Close() {
	w.end()
	<-w.done
}

func (w *Writer) run() {
	defer close(w.done)
	for {
		select {
		case first := <-w.in:
			w.commit(w.gather(first))
		case <-w.ctx.Done():
			w.drain()
			return
		}
	}
}

// gather returns a batch: the given event, and the events that have arrived since, up to the limits
// of a commit.
func (w *Writer) gather(first writeRequest) []writeRequest {
	if w.before != nil {
		w.before()
	}
	batch, size := []writeRequest{first}, len(first.Envelope.Data)
	for len(batch) < protocol.BatchEvents && size < protocol.BatchBytes {
		select {
		case next := <-w.in:
			batch, size = append(batch, next), size+len(next.Envelope.Data)
		default:
			return batch
		}
	}
	return batch
}

// drain commits the events that are still queued.
func (w *Writer) drain() {
	for {
		select {
		case first := <-w.in:
			w.commit(w.gather(first))
		default:
			return
		}
	}
}

func (w *Writer) commit(batch []writeRequest) {
	events := make([]Incoming, len(batch))
	for i := range batch {
		events[i] = batch[i].Incoming
	}
	out, err := w.s.Append(context.WithoutCancel(w.ctx), events)
	if err == nil && w.onCommit != nil {
		if then := w.onCommit(events, out); then != nil {
			defer then()
		}
	}
	for i := range batch {
		written := Written{Err: err}
		if err == nil {
			written.Outcome, written.Prefix = out.Outcomes[i], out.Prefixes[batch[i].Envelope.RunID]
		}
		batch[i].report(written)
	}
}
