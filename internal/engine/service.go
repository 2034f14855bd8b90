package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// Service runs programs for others, as `concerto serve` does: it receives all events of a run in
// order, answers them by number, and limits the run's resources. Each field may be nil or zero.
type Service struct {
	// OnEvent receives the run's events instead of Output and OnEmit, emits and printed text in the
	// program's order. It returns the event's number. It is called from several goroutines and must
	// not block, because the program waits.
	OnEvent func(RunEvent) int64
	// Answer answers the awaited emit with a number returned by OnEvent, instead of Answers and
	// OnAwait. Its error becomes the program's EmitError, with the reason no_listener for
	// ErrNoApprover and refused for any other.
	Answer func(ctx context.Context, number int64, channel string, payload json.RawMessage) (json.RawMessage, error)
	// Sees reports which of the application's tools exist for the run; nil means all.
	Sees func(*tool.Definition) bool
	// Began is called before the program's first instruction.
	Began func(Running)
	// Ended receives the result of main as JSON when it has returned.
	Ended func(result json.RawMessage)
	// Budget further restricts [limits].
	Budget Budget
}

// Budget limits a run; 0 means no limit. ToolCalls counts calls of the application's tools whose
// handlers were started.
type Budget struct {
	RunSeconds float64
	Tokens     int64
	CostUSD    float64
	ToolCalls  int64
}

// Running describes a running run to its service.
type Running struct {
	ID    string
	Tools *tool.Session       // nil without Options.Tools
	Usage func() budget.Usage // of all models so far
}

// RunEvent is an event of a run: an EmitEvent, PrintEvent, LogEvent or ToolEvent.
type RunEvent interface{ runEvent() }

// EmitEvent is an emit. Payload is nil if there is none.
type EmitEvent struct {
	Channel string
	Payload json.RawMessage
	Awaited bool // the program waits for an answer
}

// PrintEvent is printed text, including its line end if there is one.
type PrintEvent struct{ Text string }

// LogEvent is a line of the run's log, with one of LogLevels.
type LogEvent struct{ Level, Message string }

// ToolEvent is the beginning or the end of a call of one of the application's tools.
type ToolEvent struct {
	Ended                   bool
	CallID, Tool, By, Route string
	Outcome                 string        // at the end
	Duration                time.Duration // of the handler
}

func (EmitEvent) runEvent()  {}
func (PrintEvent) runEvent() {}
func (LogEvent) runEvent()   {}
func (ToolEvent) runEvent()  {}

// hasListener reports whether a service or relay receives the run's events.
func (o *Options) hasListener() bool { return o.Service != nil && o.Service.OnEvent != nil }

// connectService connects the runtime's configuration with the service.
func (o *Options) connectService(c *runtime.Config) {
	if !o.hasListener() {
		return
	}
	c.Listeners.Logged = func(level, message string) { o.Service.OnEvent(LogEvent{level, message}) }
}

// toolHooks returns the service's hooks for the session of tools.
func (o *Options) toolHooks() (h runtime.ToolHooks) {
	if o.Service == nil {
		return h
	}
	h.Sees, h.MaxCalls = o.Service.Sees, o.Service.Budget.ToolCalls
	if o.hasListener() {
		h.OnPhase = func(p tool.Phase) {
			o.Service.OnEvent(ToolEvent{p.Ended, p.CallID, p.Tool, p.By, p.Route, string(p.Outcome), p.Duration})
		}
	}
	return h
}

// reportBegin notifies the service that the run begins.
func (o *Options) reportBegin(world *runtime.Runtime) {
	if o.Service == nil || o.Service.Began == nil {
		return
	}
	o.Service.Began(Running{ID: world.ID(), Tools: world.Tools(), Usage: func() budget.Usage {
		_, all := world.Usage()
		return all
	}})
}

// reportResult passes the result of main to the service.
func (o *Options) reportResult(v value.Slot) {
	if o.Service != nil && o.Service.Ended != nil {
		o.Service.Ended(value.AppendJSON(nil, v))
	}
}

// narrower returns the smaller of two limits, where 0 means none.
func narrower[N int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// budget returns the service's budget.
func (o *Options) budget() Budget {
	if o.Service == nil {
		return Budget{}
	}
	return o.Service.Budget
}

// resultOf converts the service's answer to an effect's result.
func (s *Service) resultOf(ctx context.Context, number int64, r *effect.AwaitEmit) (effect.Result, error) {
	if s.Answer == nil {
		return nil, noListener(r.Channel)
	}
	v, err := s.Answer(ctx, number, r.Channel, r.Payload)
	if ctx.Err() == nil && errors.Is(err, tool.ErrNoApprover) {
		return nil, noListener(r.Channel)
	}
	return resultOfAnswer(ctx, r.Channel, v, err)
}

// noListener returns the error of an awaited emit that has no listener.
func noListener(channel string) error {
	return effect.Errorf("EmitError", "no client answers the emit on channel '%s'", channel).
		With("channel", channel).With("reason", "no_listener")
}

// layer returns the layer that passes the run's events to a service.
func (s *Service) layer(next effect.Performer) effect.Performer { return &serviced{next, s} }

type serviced struct {
	effect.Performer
	s *Service
}

// Perform performs r, and passes events to the service.
func (x *serviced) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		x.s.OnEvent(EmitEvent{Channel: r.Channel, Payload: r.Payload})
		return nil, nil
	case *effect.Print:
		text := r.Text
		if r.Newline {
			text += "\n"
		}
		x.s.OnEvent(PrintEvent{text})
		return nil, nil
	case *effect.AwaitEmit:
		return x.s.resultOf(ctx, x.s.OnEvent(EmitEvent{r.Channel, r.Payload, true}), r)
	}
	return x.Performer.Perform(ctx, r)
}

// Start passes an awaited emit on immediately, so that emits arrive in the program's order.
func (x *serviced) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	if e, isAwait := r.(*effect.AwaitEmit); isAwait {
		number := x.s.OnEvent(EmitEvent{e.Channel, e.Payload, true})
		ctx, stop := context.WithCancel(ctx)
		go func() {
			done(x.s.resultOf(ctx, number, e))
			stop()
		}()
		return stop, true
	}
	if s, can := x.Performer.(effect.Starter); can {
		return s.Start(ctx, r, done)
	}
	return nil, false
}
