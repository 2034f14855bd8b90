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

// ProgressChannel is the channel of progress reports.
const ProgressChannel = "tool:progress"

// Progress is the payload of ProgressChannel.
type Progress struct {
	CallID   string  `json:"call_id"`
	Tool     string  `json:"tool"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Limits on the progress reports of a call. At most mostProgress reports are sent in progressSpan;
// of further reports only the latest is sent.
const (
	mostProgress = 10
	progressSpan = time.Second
)

// running is a call whose handler is running.
type running struct {
	c      *Call
	ctx    context.Context // context of the handler
	cancel context.CancelCauseFunc

	mu       sync.Mutex // held while a value is emitted, so that nothing is emitted after the call has ended
	ended    bool
	idle     clock.Timer // timer of the idle timeout; zero without an idle timeout
	reported []time.Time // ring buffer of the times of the last mostProgress reports
	next     int
	waiting  *Progress // latest report that is not yet sent; nil for none
	timer    *time.Timer
	calls    int      // number of calls that the handler has made
	lacks    []string // features that the command's sandbox needs and this machine lacks
}

type contextKey struct{}

func newRunning(c *Call, ctx context.Context, cancel context.CancelCauseFunc) *running {
	r := &running{c: c, cancel: cancel}
	if d := c.e.def.IdleTimeout; d > 0 {
		r.idle = c.s.hooks.Clock.AfterFunc(d, func() { cancel(errIdle) })
	}
	r.ctx = context.WithValue(ctx, contextKey{}, r)
	return r
}

// context returns the handler's Context.
func (r *running) context() *Context {
	s := r.c.s.base
	s.CallID, s.Caller, s.Route, s.Chain, s.running = r.c.ask.CallID, r.c.ask.Caller, r.c.ask.Route, r.c.chain(), r
	return &s
}

// From returns the Context of the call whose handler received ctx. It returns nil for any other
// ctx.
func From(ctx context.Context) *Context {
	r, _ := ctx.Value(contextKey{}).(*running)
	if r == nil {
		return nil
	}
	return r.context()
}

// endReports prevents further reports. It returns the features that the command's sandbox needs and
// this machine lacks.
func (r *running) endReports() (lacks []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.idle.Stop()
	if r.timer != nil {
		r.timer.Stop()
	}
	return r.lacks
}

// Progress reports the progress of the call: done of total, which is 0 if unknown, with an optional
// message. It does nothing after the call has ended.
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
	r.waiting = &Progress{c.CallID, r.c.qualifiedName(), done, total, message}
	if r.timer == nil {
		r.sendProgress()
	}
}

// sendProgress sends the waiting report, immediately or as soon as the limit allows it.
func (r *running) sendProgress() {
	now := time.Now()
	if r.reported == nil {
		r.reported = make([]time.Time, mostProgress)
	}
	if wait := progressSpan - now.Sub(r.reported[r.next]); wait > 0 && !r.reported[r.next].IsZero() {
		r.timer = time.AfterFunc(wait, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.timer = nil; !r.ended {
				r.sendProgress()
			}
		})
		return
	}
	r.reported[r.next], r.next = now, (r.next+1)%mostProgress
	text, err := jsonwrite.Encode(r.waiting)
	if err != nil {
		return // ignore NaN and infinities
	}
	r.waiting = nil
	r.emitEvent(ProgressChannel, text)
}

func (r *running) emitEvent(channel string, payload json.RawMessage) {
	if r.c.ask.OnEmit != nil {
		r.c.ask.OnEmit(channel, payload)
	}
	if r.c.s.hooks.Emit != nil {
		r.c.s.hooks.Emit(channel, payload)
	}
}

// reserved lists the prefixes of channels on which only the runtime may emit.
var reserved = []string{"host:", "listen:", "pipeline:", "agent:", "audit:", "tool:", "run:"}

// Emit passes a value to the application, as JSON. It fails if the channel is reserved, the payload
// is not JSON, or the call has ended.
func (c *Context) Emit(channel string, payload any) error {
	if channel == "" {
		return fmt.Errorf("emit: a channel needs a name")
	}
	if i := slices.IndexFunc(reserved, func(p string) bool { return strings.HasPrefix(channel, p) }); i >= 0 {
		return fmt.Errorf("emit on '%s': channels that start with '%s' are reserved for the runtime", channel, reserved[i])
	}
	text, err := jsonwrite.Encode(payload)
	if err != nil {
		return fmt.Errorf("emit on '%s': %w", channel, err)
	}
	if c.running == nil {
		return fmt.Errorf("emit on '%s': no call is running", channel)
	}
	r := c.running
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return fmt.Errorf("emit on '%s': the call has ended", channel)
	}
	r.emitEvent(channel, text)
	return nil
}

// Call calls another tool of the session with args as JSON. The inner call ends when ctx ends or
// when this call ends.
func (c *Context) Call(ctx context.Context, name string, args any) Result {
	if c.running == nil {
		return Failure("call of tool '%s': no call is running that it could belong to", name)
	}
	text, err := jsonwrite.Encode(args)
	if err != nil {
		return Failure("call of tool '%s': %v", name, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errOver)
	outer := c.running.ctx
	defer context.AfterFunc(outer, func() { cancel(context.Cause(outer)) })()
	return c.running.c.s.Do(ctx, Ask{Name: name, Args: text, CallID: c.running.nextID(), Caller: c.running.c.qualifiedName(), Route: RouteTool,
		Parent: c.CallID, Chain: c.Chain}).Result
}

// nextID returns the ID of the next call that the handler makes. If the outer call is repeated, the
// IDs are the same.
func (r *running) nextID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return fmt.Sprintf("%s.%d", r.c.ask.CallID, r.calls)
}
