package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// ProgressChannel is where progress is told.
const ProgressChannel = "tool:progress"

// Progress is the payload of ProgressChannel.
type Progress struct {
	CallID   string  `json:"call_id"`
	Tool     string  `json:"tool"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// At most so much progress of a call is told in a second; of more, the latest.
const (
	mostProgress = 10
	progressSpan = time.Second
)

// running is a call whose handler runs.
type running struct {
	c      *Call
	ctx    context.Context // the handler's
	cancel context.CancelCauseFunc

	mu      sync.Mutex // held while something is told, so that nothing is after the end
	ended   bool
	idle    clock.Timer // the zero one without a limit
	told    []time.Time // when the last were told, in turn; of mostProgress once there are any
	next    int
	waiting *Progress // the latest that was not told yet
	timer   *time.Timer
	calls   int      // that it has made
	lacks   []string // what the handler runs without
}

type contextKey struct{}

func newRunning(c *Call, ctx context.Context, cancel context.CancelCauseFunc) *running {
	r := &running{c: c, cancel: cancel}
	if d := c.e.def.IdleTimeout; d > 0 {
		r.idle = c.s.hooks.Hand.AfterFunc(d, func() { cancel(errIdle) })
	}
	r.ctx = context.WithValue(ctx, contextKey{}, r)
	return r
}

// context is what the handler gets.
func (r *running) context() *Context {
	s := r.c.s.base
	s.CallID, s.Caller, s.Route, s.Chain, s.running = r.c.ask.CallID, r.c.ask.Caller, r.c.ask.Route, r.c.chain(), r
	return &s
}

// From is the Context of the call that a handler's ctx belongs to; nil in another ctx.
func From(ctx context.Context) *Context {
	r, _ := ctx.Value(contextKey{}).(*running)
	if r == nil {
		return nil
	}
	return r.context()
}

// end has nothing told any more, and says what the handler runs without.
func (r *running) end() (lacks []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.idle.Stop()
	if r.timer != nil {
		r.timer.Stop()
	}
	return r.lacks
}

// Progress tells how far the call is: done of total, 0 when that is not known, with a
// message, which may be empty. It does nothing once the call is over.
func (c *Context) Progress(done, total float64, message string) {
	if c.running == nil {
		return
	}
	r := c.running
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if d := r.c.e.def.IdleTimeout; d > 0 {
		r.idle.Reset(d)
	}
	r.waiting = &Progress{c.CallID, r.c.name(), done, total, message}
	if r.timer == nil {
		r.tell()
	}
}

// tell tells what waits, now or when there is room again.
func (r *running) tell() {
	now := time.Now()
	if r.told == nil {
		r.told = make([]time.Time, mostProgress)
	}
	if wait := progressSpan - now.Sub(r.told[r.next]); wait > 0 && !r.told[r.next].IsZero() {
		r.timer = time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.timer = nil; !r.ended {
				r.tell()
			}
		})
		return
	}
	r.told[r.next], r.next = now, (r.next+1)%mostProgress
	text, err := jsonwrite.Encode(r.waiting)
	if err != nil {
		return // NaN and infinities: they tell nothing
	}
	r.waiting = nil
	r.emit(ProgressChannel, text)
}

func (r *running) emit(channel string, payload json.RawMessage) {
	if r.c.ask.Heard != nil {
		r.c.ask.Heard(channel, payload)
	}
	if r.c.s.hooks.Emit != nil {
		r.c.s.hooks.Emit(channel, payload)
	}
}

// reserved are the beginnings of channels that are the runtime's.
var reserved = []string{"host:", "listen:", "pipeline:", "agent:", "audit:", "tool:", "run:"}

// Emit gives something to the application, as JSON. Its error is that the channel is the
// runtime's, that the payload is no JSON, or that the call is over.
func (c *Context) Emit(channel string, payload any) error {
	if channel == "" {
		return fmt.Errorf("emit: a channel has a name")
	}
	if i := slices.IndexFunc(reserved, func(p string) bool { return strings.HasPrefix(channel, p) }); i >= 0 {
		return fmt.Errorf("emit on '%s': channels that begin with '%s' are the runtime's", channel, reserved[i])
	}
	text, err := jsonwrite.Encode(payload)
	if err != nil {
		return fmt.Errorf("emit on '%s': %w", channel, err)
	}
	if c.running == nil {
		return fmt.Errorf("emit on '%s': there is no call", channel)
	}
	r := c.running
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return fmt.Errorf("emit on '%s': the call is over", channel)
	}
	r.emit(channel, text)
	return nil
}

// Call calls another tool of the session; it ends with ctx, and with this call. args are
// written as JSON.
func (c *Context) Call(ctx context.Context, name string, args any) Result {
	if c.running == nil {
		return Failure("call of tool '%s': there is no call that it could serve", name)
	}
	text, err := jsonwrite.Encode(args)
	if err != nil {
		return Failure("call of tool '%s': %v", name, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	outer := c.running.ctx
	defer context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })()
	return c.running.c.s.Do(ctx, Ask{Name: name, Args: text, CallID: c.running.nextID(), Caller: c.running.c.name(), Route: RouteTool,
		Parent: c.CallID, Chain: c.Chain}).Result
}

// nextID is the id of the next call that it makes: the same when the call is made again.
func (r *running) nextID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return fmt.Sprintf("%s.%d", r.c.ask.CallID, r.calls)
}
