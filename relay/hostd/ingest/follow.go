package ingest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

const (
	maxLogEvents   = 1000           // maximum number of events of a run that are retained for followers
	maxLogBytes    = 4 << 20        // approximate maximum size of these events in bytes
	maxEnded       = 100            // maximum number of ended runs that can be followed
	endedRetention = 24 * time.Hour // how long an ended run can be followed
)

// eventLog contains the latest events of a run for its followers.
type eventLog struct {
	mu           sync.Mutex
	events       []protocol.Envelope
	bytes        int
	dropped      int           // number of earlier events that were dropped
	endCommitted bool          // the end of the run is committed
	changed      chan struct{} // closed and replaced when events are added
}

func newEventLog() *eventLog { return &eventLog{changed: make(chan struct{})} }

// append adds committed events to the log.
func (b *eventLog) append(run string, events []spool.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		env := protocol.New(e.Type, time.Now(), e.Data)
		env.RunID = run
		b.add(env)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *eventLog) add(env protocol.Envelope) {
	b.events, b.bytes = append(b.events, env), b.bytes+len(env.Data)
	b.endCommitted = b.endCommitted || env.Type == protocol.RunExited
	if len(b.events) < 2*maxLogEvents && b.bytes < 2*maxLogBytes {
		return
	}
	over := 0 // the first event is never dropped, because it describes the run
	for ; over < len(b.events)-2 && (len(b.events)-over > maxLogEvents || b.bytes > maxLogBytes); over++ {
		b.bytes -= len(b.events[over+1].Data)
	}
	b.events = append(b.events[:1:1], b.events[over+1:]...)
	b.dropped += over
}

// from returns the events from index at on. If there are none yet, it returns a channel that is
// closed when there are. At the end of the run it returns neither.
func (b *eventLog) from(at int) (events []protocol.Envelope, next int, news <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at == 0 && len(b.events) > 0 {
		return slices.Clone(b.events), b.dropped + len(b.events), nil
	}
	if skip := max(at-b.dropped, 1); skip < len(b.events) {
		return slices.Clone(b.events[skip:]), b.dropped + len(b.events), nil
	}
	if b.endCommitted {
		return nil, at, nil
	}
	return nil, at, b.changed
}

// logOf returns the log of a live or recently ended run, or nil.
func (s *Sources) logOf(id string) *eventLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[id]
}

// endedRun is a run that has ended and can still be followed.
type endedRun struct {
	id   string
	stop func() bool
}

// addEnded records that a run has ended. It also removes the runs that can no longer be followed.
// The caller holds mu.
func (s *Sources) addEnded(id string) {
	if s.ctx.Err() != nil {
		return
	}
	stop := s.o.After(endedRetention, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(1 + slices.IndexFunc(s.ended, func(e endedRun) bool { return e.id == id }))
	})
	s.ended = append(s.ended, endedRun{id, stop})
	s.forget(len(s.ended) - s.o.MaxEnded)
}

// forget removes the n runs that ended first. The caller holds mu.
func (s *Sources) forget(n int) {
	for ; n > 0; n-- {
		s.ended[0].stop()
		delete(s.logs, s.ended[0].id)
		s.o.Approvals.Forget(s.ended[0].id)
		s.ended = s.ended[1:]
	}
}

// Show adds events to the log of a run that another part of hostd has committed.
func (s *Sources) Show(run string, events []spool.Event) {
	if b := s.logOf(run); b != nil {
		b.append(run, events)
	}
}

// Follows reports whether a run can be followed.
func (s *Sources) Follows(id string) bool { return s.logOf(id) != nil }

// Follow calls handle for the retained and the new events of a run until its end.
func (s *Sources) Follow(ctx context.Context, id string, handle func(protocol.Envelope) error) error {
	b := s.logOf(id)
	if b == nil {
		return approvals.Errorf(protocol.UnknownRun, "there is no run %s on this machine", id)
	}
	for at := 0; ; {
		events, next, news := b.from(at)
		at = next
		for _, e := range events {
			if err := handle(e); err != nil {
				return err
			}
		}
		switch {
		case len(events) > 0:
		case news == nil:
			return nil
		default:
			select {
			case <-news:
			case <-s.ctx.Done():
				return context.Cause(s.ctx)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// restoreLog fills the log of a restored run with the events in the spool.
func (s *Sources) restoreLog(ctx context.Context, r *run) error {
	r.log.append(r.id, []spool.Event{{Type: protocol.RunStarted, Data: r.note.Started}})
	events, err := s.o.Spool.Next(ctx, r.id, 0, maxLogEvents)
	if err != nil {
		return err
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for _, e := range events {
		if err := s.o.Open(&e); err != nil {
			s.o.Log.Warn("could not open an event of a restored run", "run", r.id, "seq", e.Seq, "error", err)
			continue
		}
		if e.Type != protocol.RunStarted && e.Type != seal.TypeHead {
			r.log.add(e)
		}
	}
	return nil
}
