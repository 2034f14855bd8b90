package store

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// ErrClosed is returned for events after Close.
var ErrClosed = errors.New("the store is closed")

// Writer stores events of many connections. Events that arrive during a commit form the next batch,
// so a commit is shared and no timer delays a single event.
type Writer struct {
	s        *Store
	onCommit OnCommit
	in       chan writeRequest
	end      context.CancelFunc
	done     chan struct{}
	ctx      context.Context
}

// writeRequest is an event and the function that receives its result.
type writeRequest struct {
	Incoming
	report func(Written)
}

// Written is the result for an event. If Err is set, the event is not stored and the host must send
// it again.
type Written struct {
	Outcome
	Prefix int64 // of its run, after the commit
	Err    error
}

// OnCommit is called after a commit, before the results are reported; the function that it returns
// is called after them. Both may be nil.
type OnCommit func(all []Incoming, out *Appended) (then func())

// NewWriter starts a Writer.
func (s *Store) NewWriter(onCommit OnCommit) *Writer {
	ctx, end := context.WithCancel(context.Background())
	w := &Writer{s: s, onCommit: onCommit, in: make(chan writeRequest, protocol.BatchEvents), end: end, done: make(chan struct{}), ctx: ctx}
	go w.run()
	return w
}

// Write queues an event; notify is called once on the writer's goroutine, in the order of Write. It
// blocks while the queue is full, which slows down reading from the host.
func (w *Writer) Write(ctx context.Context, in Incoming, notify func(Written)) {
	select {
	case <-w.ctx.Done():
		notify(Written{Err: ErrClosed})
	case <-ctx.Done():
		notify(Written{Err: context.Cause(ctx)})
	case w.in <- writeRequest{in, notify}:
	}
}

// Close commits queued events and stops.
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

// gather collects a batch: the event and others that have arrived, up to the limits of a commit.
func (w *Writer) gather(first writeRequest) []writeRequest {
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

// drain commits the remaining events.
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
