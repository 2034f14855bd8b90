package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// Service is the server's side of a run, as in `concerto serve`. It receives all events of the run
// in order, answers awaited emits by the numbers of their events, and limits the run's resources.
// Each field may be nil or zero.
type Service struct {
	// OnEvent receives the run's events, instead of Output and OnEmit, and returns the number of
	// the event. Emits and printed text are in the program's order. Several goroutines may call
	// OnEvent, and it must not block, because the program waits for it.
	OnEvent func(RunEvent) int64
	// Answer answers the awaited emit whose event has the given number, instead of Answers and
	// OnAwait. Its error becomes an EmitError of the program. The reason is no_listener for
	// ErrNoApprover and refused for other errors.
	Answer func(ctx context.Context, number int64, channel string, payload json.RawMessage) (json.RawMessage, error)
	// Sees reports whether a tool of the application exists for the run; nil means all tools.
	Sees func(*tool.Definition) bool
	// Began is called before the program's first instruction.
	Began func(Running)
	// Ended receives the result of main as JSON after main has returned.
	Ended func(result json.RawMessage)
	// Budget restricts the run in addition to [limits].
	Budget Budget
}

// Budget limits a run. 0 means no limit. ToolCalls counts the started calls of the application's
// tools.
type Budget struct {
	RunSeconds float64
	Tokens     int64
	CostUSD    float64
	ToolCalls  int64
}

// Running describes a run that has started.
type Running struct {
	ID    string
	Tools *tool.Session     // nil if Options.Tools is nil
	Usage func() models.Sum // returns what models and hosts have used so far
}

// RunEvent is an event of a run: an EmitEvent, PrintEvent, LogEvent or ToolEvent.
type RunEvent interface{ runEvent() }

// EmitEvent is an emit. Payload is nil if the emit has none.
type EmitEvent struct {
	Channel string
	Payload json.RawMessage
	Awaited bool // the program waits for an answer
}

// PrintEvent is printed text, including its newline if there is one.
type PrintEvent struct{ Text string }

// LogEvent is a line of the run's log. Level is one of LogLevels.
type LogEvent struct{ Level, Message string }

// ToolEvent is the start or the end of a call of one of the application's tools.
type ToolEvent struct {
	Ended                   bool
	CallID, Tool, By, Route string
	Outcome                 string        // outcome of the call; "" at the start
	Duration                time.Duration // run time of the handler; 0 at the start
}

func (EmitEvent) runEvent()  {}
func (PrintEvent) runEvent() {}
func (LogEvent) runEvent()   {}
func (ToolEvent) runEvent()  {}

// hasListener reports whether a service receives the run's events.
func (o *Options) hasListener() bool { return o.Service != nil && o.Service.OnEvent != nil }

// connectService passes the service's limits and event functions to the runtime's configuration.
func (o *Options) connectService(c *runtime.Config) {
	if !o.hasListener() {
		return
	}
	c.Listeners.Logged = func(level, message string) { o.Service.OnEvent(LogEvent{level, message}) }
}

// toolHooks returns the functions that the session of tools calls for the service.
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

// reportBegin calls Began.
func (o *Options) reportBegin(world *runtime.Runtime) {
	if o.Service == nil || o.Service.Began == nil {
		return
	}
	o.Service.Began(Running{ID: world.ID(), Tools: world.Tools(), Usage: world.Used})
}

// reportResult calls Ended with the result of main.
func (o *Options) reportResult(v value.Slot) {
	if o.Service != nil && o.Service.Ended != nil {
		o.Service.Ended(value.AppendJSON(nil, v))
	}
}

// narrower returns the smaller of two limits, where 0 means no limit.
func narrower[N int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// budget returns the service's budget, or the zero Budget without a service.
func (o *Options) budget() Budget {
	if o.Service == nil {
		return Budget{}
	}
	return o.Service.Budget
}

// resultOf calls Answer for an awaited emit and converts the answer to a result.
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

// noListener returns the error of an awaited emit that nothing answers.
func noListener(channel string) error {
	return effect.Errorf("EmitError", "no client answers the emit on channel '%s'", channel).
		With("channel", channel).With("reason", "no_listener")
}

// layer returns the layer that passes emits and printed text to the service.
func (s *Service) layer(next effect.Performer) effect.Performer { return &serviced{next, s} }

type serviced struct {
	effect.Performer
	s *Service
}

// Perform passes an event to the service, and any other request to the next layer.
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

// Start passes an awaited emit to the service at once, so that the service receives emits in the
// program's order.
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
