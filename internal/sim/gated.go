package sim

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// parkAfter is the time without progress after which a run parks. No other timers have these
// lengths, so that no two expire at the same time.
const (
	parkAfter = 1013 * time.Millisecond
	lookAfter = 187 * time.Millisecond // the time after which it notices an answer
)

// stored returns a stored run as the newest process of the program uses it.
func (w *world) stored(name string) journal.Run {
	p := w.newest()
	return &gatedRun{Run: w.run(p, name), w: w, p: p}
}

// gatedRun is a stored run whose background work passes the gate.
type gatedRun struct {
	journal.Run
	w       *world
	p       *process
	looking atomic.Bool
	found   atomic.Int64 // number of answers that the look has found
}

func (r *gatedRun) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	w, err := r.Run.Create(start, program, o)
	return r.gated(w), err
}

func (r *gatedRun) Open(h *journal.History, o journal.Options) (journal.Writer, *journal.History, error) {
	w, h, err := r.Run.Open(h, o)
	return r.gated(w), h, err
}

func (r *gatedRun) gated(w journal.Writer) journal.Writer {
	if w == nil {
		return nil
	}
	return &gatedWriter{w, r}
}

// Watch searches for answers at the beginning and after each change, instead of five times a
// second.
func (r *gatedRun) Watch(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAfter):
		}
		if !r.w.gate.pass(r.p, "searches for answers") {
			return
		}
		r.found.Store(0)
		r.looking.Store(true)
		changed()
		r.looking.Store(false)
		select {
		case <-ctx.Done():
			return
		case <-r.w.changes.wake:
		}
	}
}

// Answer finds one answer in each look, because the goroutines that two answers let continue would
// run at the same time.
func (r *gatedRun) Answer(id string) (*journal.Answer, error) {
	a, err := r.Run.Answer(id)
	if a == nil || !r.looking.Load() || r.found.Add(1) == 1 {
		return a, err
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.w.changes.isSet = true
	return nil, err
}

type gatedWriter struct {
	journal.Writer
	run *gatedRun
}

func (x *gatedWriter) SyncLater() {
	go func() {
		if x.run.w.gate.pass(x.run.p, "syncs the journal") {
			x.Writer.SyncLater()
		}
	}()
}

func (x *gatedWriter) TruncateOut(n int) error {
	return x.Writer.(journal.OutTruncater).TruncateOut(n)
}

func (x *gatedWriter) PrepareEnd() error { return x.Writer.(journal.EndPreparer).PrepareEnd() }

// outside is what a durable run uses of its runtime.
type outside struct {
	durable.World
	w *world
	p *process
}

func (x *outside) FlushOutput(ctx context.Context) error {
	if !x.w.gate.pass(x.p, "flushes its output") {
		return simdisk.ErrDead
	}
	return x.World.FlushOutput(ctx)
}

// outer lets each effect pass the gate before the journal is written for it, so that two effects do
// not write at once.
func (w *world) outer(p *process) effect.Layer {
	return func(next effect.Performer) effect.Performer {
		return &outerEffects{effects{next, w, p}}
	}
}

type outerEffects struct{ effects }

func (x *outerEffects) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	if !effect.Inline(q.Kind()) && !effect.IsNoWait(ctx) && !x.world.gate.pass(x.process, "requests "+describe(ctx, q)) {
		return nil, simdisk.ErrDead
	}
	return x.Performer.Perform(ctx, q)
}

func (x *outerEffects) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, ok := x.Performer.(effect.Starter)
	if !ok {
		return nil, false
	}
	return s.Start(ctx, q, done)
}

// layer lets each effect that may wait pass the gate before it begins and before its result is
// used.
func (w *world) layer(p *process) effect.Layer {
	return func(next effect.Performer) effect.Performer { return &effects{next, w, p} }
}

type effects struct {
	effect.Performer
	world   *world
	process *process
}

// describe returns what an effect is, for its name.
func describe(ctx context.Context, q effect.Request) string {
	text := string(q.Kind())
	switch q := q.(type) {
	case *effect.HTTP:
		text += " " + q.Method + " " + q.URL[strings.LastIndexByte(q.URL, '/'):]
	case *effect.AgentCall:
		text += " " + q.Messages[len(q.Messages)-1].Content
	case *effect.ExchangeOpen:
		text += " " + q.Host + " " + q.Prompt
	case *effect.AwaitEmit:
		text += " " + q.Channel + " " + string(q.Payload)
	case effect.Numbered:
		text += fmt.Sprintf(" %d", *q.Number())
	}
	if key := effect.KeyOf(ctx); key != "" {
		text += " " + key
	}
	return text
}

func (x *effects) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	if x.process.dead.Load() {
		return nil, simdisk.ErrDead
	}
	if effect.Inline(q.Kind()) || effect.IsNoWait(ctx) {
		r, err := x.Performer.Perform(ctx, q)
		if x.process.dead.Load() {
			return nil, simdisk.ErrDead
		}
		return r, err
	}
	name := describe(ctx, q)
	if !x.world.gate.pass(x.process, "begins "+name) {
		return nil, simdisk.ErrDead
	}
	r, err := x.Performer.Perform(ctx, q)
	if !x.world.gate.pass(x.process, "ends "+name) {
		return nil, simdisk.ErrDead
	}
	return r, err
}

func (x *effects) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	s, ok := x.Performer.(effect.Starter)
	if !ok {
		return nil, false
	}
	name := x.world.gate.name(x.process, "ends "+describe(ctx, q)) // requests arrive here in the program's order
	return s.Start(ctx, q, func(r effect.Result, err error) {
		go func() {
			if !x.world.gate.passAs(x.process, name) {
				r, err = nil, simdisk.ErrDead
			}
			done(r, err)
		}()
	})
}
