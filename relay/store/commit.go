package store

import (
	"context"
	"errors"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// ErrClosed is the error of what a Writer was given after its end.
var ErrClosed = errors.New("the store is closed")

// Writer stores events of many connections. There is no timer: what comes while a commit
// runs is the next one. So a commit costs many events as much as one, and one waits for nobody.
type Writer struct {
	s    *Store
	told Told
	in   chan write
	end  context.CancelFunc
	done chan struct{}
	ctx  context.Context
}

// write is an event and who hears what became of it.
type write struct {
	Incoming
	tell func(Written)
}

// Written is what became of an event. Err says that it is not stored, and the host has to send
// it again.
type Written struct {
	Outcome
	Prefix int64 // of its run, after the commit
	Err    error
}

// Told hears of a commit before any of those who wrote its events; what it gives is called
// after all of them. It may be nil, and so may what it gives.
type Told func(all []Incoming, out *Appended) (then func())

// NewWriter begins to write.
func (s *Store) NewWriter(told Told) *Writer {
	ctx, end := context.WithCancel(context.Background())
	w := &Writer{s: s, told: told, in: make(chan write, protocol.BatchEvents), end: end, done: make(chan struct{}), ctx: ctx}
	go w.run()
	return w
}

// Write gives an event; tell is called once, from the writer's goroutine, in the order of
// Write. It waits while the writer is behind: who reads a host then reads no further.
func (w *Writer) Write(ctx context.Context, in Incoming, tell func(Written)) {
	select {
	case <-w.ctx.Done():
		tell(Written{Err: ErrClosed})
	case <-ctx.Done():
		tell(Written{Err: context.Cause(ctx)})
	case w.in <- write{in, tell}:
	}
}

// Close commits what it was given, and ends.
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

// gather is a batch: an event and what else has come, as much as one commit takes.
func (w *Writer) gather(first write) []write {
	batch, size := []write{first}, len(first.Envelope.Data)
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

// drain commits what was given before the end.
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

func (w *Writer) commit(batch []write) {
	events := make([]Incoming, len(batch))
	for i := range batch {
		events[i] = batch[i].Incoming
	}
	out, err := w.s.Append(context.WithoutCancel(w.ctx), events)
	if err == nil && w.told != nil {
		if then := w.told(events, out); then != nil {
			defer then()
		}
	}
	for i := range batch {
		told := Written{Err: err}
		if err == nil {
			told.Outcome, told.Prefix = out.Outcomes[i], out.Prefixes[batch[i].Envelope.RunID]
		}
		batch[i].tell(told)
	}
}
