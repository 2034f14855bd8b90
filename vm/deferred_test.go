package vm

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// idleHost is a host whose messages a run with a journal requests on its own goroutine. wait is
// called during a request for messages that does not return before its context ends.
type idleHost struct {
	*stage
	wait  func(nth int32)
	waits atomic.Int32
}

func (h *idleHost) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if r.Kind() != effect.KindExchangeNext {
		return h.stage.Perform(ctx, r)
	}
	h.wait(h.waits.Add(1))
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// TestDeferredRequestIsInterrupted suspends or cancels a run whose goroutine waits for messages of
// a host.
func TestDeferredRequestIsInterrupted(t *testing.T) {
	t.Run("suspended", func(t *testing.T) {
		suspend := make(chan struct{})
		h := &idleHost{stage: newStage("idle"), wait: func(nth int32) {
			if nth == 1 {
				close(suspend)
			}
		}}
		_, err := newListening().run(t, Config{Performer: h, Durable: &recorded{suspend: suspend}})
		if !errors.Is(err, ErrSuspended) {
			t.Errorf("the run ended with %v, want %v", err, ErrSuspended)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := &idleHost{stage: newStage("idle"), wait: func(int32) { cancel() }}
		_, err := newListening().runIn(ctx, t, Config{Performer: h, Durable: &recorded{}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v, want %v", err, context.Canceled)
		}
	})
	t.Run("suspended before the wait", func(t *testing.T) {
		suspend := make(chan struct{})
		close(suspend)
		h := &idleHost{stage: newStage("idle"), wait: func(int32) {}}
		_, err := newListening().run(t, Config{Performer: h, Durable: &recorded{suspend: suspend}})
		if !errors.Is(err, ErrSuspended) {
			t.Errorf("the run ended with %v, want %v", err, ErrSuspended)
		}
	})
}

// TestDeferredRequestYields checks that a completion that arrives while the run's goroutine
// performs a request is handled at once, and that another goroutine then performs the request.
func TestDeferredRequestYields(t *testing.T) {
	var q requests
	q.init()
	q.begin(t.Context())
	defer q.idle.end()
	var results []string
	h := &idleHost{stage: newStage("idle"), wait: func(nth int32) {
		if nth == 1 {
			q.inbox.put(completion{do: func() { results = append(results, "done") }})
		}
	}}
	m := &VM{config: Config{Performer: h}, journaled: journaled{journal: NoJournal{}}}
	next := &effect.ExchangeNext{ID: 1}
	f := &pendingRequest{}
	seq := q.addPending(f)
	if !q.canDefer(next, m) {
		t.Fatal("a request for messages is not deferred")
	}
	q.deferUntilIdle(deferredRequest{seq, next, func(_ effect.Result, err error) { q.inbox.put(completion{seq: seq, err: err}) }})
	if q.canDefer(next, m) {
		t.Error("a second request would be deferred")
	}
	if q.performDeferred(m) {
		t.Error("the request has returned")
	}
	all := q.inbox.drain(nil)
	if len(all) != 1 || all[0].do == nil {
		t.Fatalf("%d completions arrived, want the one that interrupted the request", len(all))
	}
	if all[0].do(); len(results) != 1 || q.deferred.seq != 0 {
		t.Errorf("results = %v, deferred request = %d", results, q.deferred.seq)
	}
	f.cancel()
	q.goroutes.Wait()
	if all = q.inbox.drain(nil); len(all) != 1 || all[0].seq != seq || !errors.Is(all[0].err, context.Canceled) || h.waits.Load() != 2 {
		t.Errorf("after %d requests, %d completions arrived, want the cancelled request", h.waits.Load(), len(all))
	}
}

// recorded is a run with a journal that discards everything.
type recorded struct {
	NotDurable
	suspend chan struct{}
}

func (*recorded) Journal() Journal             { return NoJournal{} }
func (r *recorded) Suspended() <-chan struct{} { return r.suspend }
