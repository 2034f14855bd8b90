package vm

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// world is a performer in memory that completes requests in a given order. A request has a name:
// the channel of an awaited emit, "sleep N" for a sleep, and the kind of any other request.
type world struct {
	mu      sync.Mutex
	pending map[string]func(effect.Result, error)
	order   []string // names of the requests to complete, in this order
	log     []string
}

func newWorld(order ...string) *world {
	return &world{pending: map[string]func(effect.Result, error){}, order: order}
}

func nameOf(r effect.Request) string {
	switch r := r.(type) {
	case *effect.AwaitEmit:
		return r.Channel
	case *effect.Sleep:
		return fmt.Sprintf("sleep %d", r.Milliseconds)
	}
	return string(r.Kind())
}

// Perform handles requests that never wait, and requests of a task that is alone.
func (w *world) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		w.note("emit %s %s", r.Channel, r.Payload)
		return nil, nil
	case *effect.Clock:
		return &effect.Time{}, nil
	}
	done := make(chan error, 1)
	stop, _ := w.Start(ctx, r, func(_ effect.Result, err error) { done <- err })
	select {
	case err := <-done:
		return answerTo(r), err
	case <-ctx.Done():
		stop()
		return nil, context.Cause(ctx)
	}
}

func answerTo(r effect.Request) effect.Result {
	if a, ok := r.(*effect.AwaitEmit); ok {
		return &effect.Answer{Value: fmt.Appendf(nil, "%q", a.Channel)}
	}
	return nil
}

// Start begins a request, and completes the requests that are next in the order.
func (w *world) Start(_ context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	name := nameOf(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, "start "+name)
	if strings.HasPrefix(name, "fail") {
		w.pending[name] = func(effect.Result, error) { done(nil, effect.Errorf("ToolError", "%s", name)) }
	} else {
		w.pending[name] = func(r effect.Result, err error) { done(r, err) }
	}
	w.complete(r)
	return func() { w.stop(name, done) }, true
}

func (w *world) stop(name string, done func(effect.Result, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending[name] != nil {
		delete(w.pending, name)
		w.log = append(w.log, "stop "+name)
		done(nil, context.Canceled)
	}
}

// complete completes pending requests as long as the next one in the order is pending.
func (w *world) complete(effect.Request) {
	for len(w.order) > 0 {
		done := w.pending[w.order[0]]
		if done == nil {
			return
		}
		delete(w.pending, w.order[0])
		name := w.order[0]
		w.order = w.order[1:]
		if strings.HasPrefix(name, "sleep") {
			done(nil, nil)
		} else {
			done(&effect.Answer{Value: fmt.Appendf(nil, "%q", name)}, nil)
		}
	}
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}
