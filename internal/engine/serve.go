package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// ErrNothingOffered means that a program has neither a public pipeline nor a public tool to serve.
var ErrNothingOffered = errors.New("the program has nothing to serve: it has no `pub pipeline`, and no `pub tool` with a function that has `@describe`")

// ServeOptions configures the transport over which a program is served. If HTTP has an address, it
// is HTTP, and Ready is called with the server's URL. Otherwise it is In and Out.
type ServeOptions struct {
	In    io.ReadCloser
	Out   io.WriteCloser
	HTTP  mcpport.Listen
	Ready func(url string)
	// Withheld is called with the reason for each public pipeline that is not offered.
	Withheld func(string)
}

// Serve serves the program's public tools and pipelines as an MCP server (spec/10-tools-mcp.md). It
// stops when the client disconnects or ctx ends. Calls are tasks of one VM, so a tool's state
// persists until the server stops. The manifest's max_run_seconds limits each call. A panic stops
// the server, and the error is then an *Uncaught.
func (p *Program) Serve(ctx context.Context, o Options, s ServeOptions) error {
	return p.inRun(ctx, &o, func(r *run) error { return r.serveMCP(ctx, s) })
}

func (r *run) serveMCP(ctx context.Context, s ServeOptions) error {
	p, f := r.program, r.sinks
	machine, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native, Performer: r.world, Application: r.application(), Observer: f.watch(r.options, nil)})
	if err != nil {
		return fmt.Errorf("could not load the program: %w", err)
	}
	offers, withheld := machine.Offers()
	for _, why := range withheld {
		if s.Withheld != nil {
			s.Withheld(why)
		}
	}
	x := &serving{run: r, machine: machine}
	tools, err := x.offers(ctx, offers, s.Withheld)
	if err != nil {
		return err
	}
	if err := machine.InitTools(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tools.Changes = x.app.watchOffers(ctx)
	defer func() {
		cancel(nil)
		for range tools.Changes { // ends when follow closes the channel
		}
	}()
	ended := make(chan error, 1)
	go func() {
		err := machine.Serve(f.context(ctx))
		cancel(err)
		ended <- err
	}()
	if s.HTTP.Address != "" {
		err = mcpport.ServeHTTP(ctx, p.ir.Name, "1", tools, s.HTTP, s.Ready)
	} else {
		err = mcpport.ServeStreams(ctx, p.ir.Name, "1", tools, &input{s.In, cancel}, s.Out)
	}
	cancel(errServed)
	if why := <-ended; !errors.Is(why, errServed) {
		return why
	}
	if errors.Is(err, errServed) { // the client has disconnected
		return nil
	}
	return err
}

// input is the input from a client. At its end, it stops the VM with all running calls. If the
// calls were cancelled one by one, the end of one call could start the next.
type input struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (in *input) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	if err != nil {
		in.end(errServed)
	}
	return n, err
}

// errServed is the cause that stops the VM after the client has disconnected.
var errServed = errors.New("the server has stopped")

// serving is the state of a served program.
type serving struct {
	*run
	machine *vm.VM
	app     *applicationOffers
}

// offers returns the public tools and pipelines of the program, and the application's tools.
func (x *serving) offers(ctx context.Context, own []vm.Offer, withheld func(string)) (mcpport.Offers, error) {
	if withheld == nil {
		withheld = func(string) {}
	}
	var all mcpport.Offers
	var names []string
	for _, v := range own {
		if slices.Contains(names, v.Name) {
			return all, fmt.Errorf("duplicate name %s: rename the pipeline, or the tool or its function", v.Name)
		}
		names = append(names, v.Name)
		offer := x.functionOffer(v)
		if x.audit != nil {
			offer.Call = recorded(x.world, v, offer.Call)
		}
		all.Fixed = append(all.Fixed, offer)
	}
	x.app = &applicationOffers{world: x.world, o: x.options, inUse: names, withheld: withheld, logged: map[string]bool{}}
	var err error
	if all.Begin, err = x.app.currentOffers(ctx); err == nil && len(all.Fixed)+len(all.Begin) == 0 {
		err = ErrNothingOffered
	}
	return all, err
}

func (x *serving) functionOffer(o vm.Offer) mcpport.Offer {
	return mcpport.Offer{Name: o.Name, Description: o.Description, Parameters: o.Parameters, Output: o.Output,
		Call: func(ctx context.Context, args json.RawMessage, report func(mcpport.Progress)) (mcpport.Result, error) {
			p := &progress{offer: o, report: report}
			var result mcpport.Result
			var err error
			done := make(chan struct{})
			x.machine.Begin(&vm.Call{Offer: o, Args: args, Context: ctx, Emitted: p.emitted,
				Limit: func(ctx context.Context) (context.Context, context.CancelFunc) {
					return budget.Run(ctx, nil, x.program.ir.Limits.MaxRunSeconds)
				},
				Done: func(v value.Slot, problem error) {
					if err = clientError(cleanError(x.world, problem)); err == nil {
						result = rendered(v, o)
					}
					close(done)
				}})
			<-done
			return result, err
		}}
}

// tooLate is the error of a call that has exceeded the time limit of a run.
type tooLate struct{ *budget.TimeError }

func (e tooLate) Error() string {
	return fmt.Sprintf("the call exceeded the %s of [limits] max_run_seconds", effect.Seconds(e.Seconds))
}

func (e tooLate) Unwrap() error { return e.TimeError }

// clientError converts an error of a call to the error that the client receives.
func clientError(err error) error {
	var failed *vm.Uncaught
	var late *budget.TimeError
	switch {
	case errors.As(err, &late):
		return tooLate{late}
	case !errors.As(err, &failed):
		return err
	case failed.Panic:
		return fmt.Errorf("panic: %s", failed.Message)
	}
	return errors.New(failed.Message)
}

// rendered converts the value of a call to a result for the client.
func rendered(v value.Slot, o vm.Offer) mcpport.Result {
	flat := value.Flatten(v)
	if flat.Kind() == value.KindString && !o.Wrapped {
		return mcpport.Result{Text: value.Text(flat)}
	}
	b := value.AppendJSON(nil, v)
	r := mcpport.Result{Text: string(b)}
	switch {
	case o.Wrapped:
		r.Object = append(append([]byte(`{"result":`), b...), '}')
	case len(b) > 0 && b[0] == '{':
		r.Object = b
	}
	return r
}

// progress reports the progress of a call from its emits. Each emit is a step. For a pipeline, each
// completed stage counts as 1, and the steps after it count as fractions.
type progress struct {
	offer  vm.Offer
	report func(mcpport.Progress)
	stages int // number of completed stages
	steps  int // number of steps since the last completed stage
}

// maxMessage limits the reported text of an emit, in characters.
const maxMessage = 500

// emitted reports an emit as progress.
func (p *progress) emitted(e *effect.Emit) {
	message := "[" + e.Channel + "]"
	switch e.Channel {
	case "pipeline:start", "pipeline:complete", "pipeline:error":
		return
	case "pipeline:stage_start", "pipeline:stage_complete":
		var stage struct{ Name, Stage string }
		if json.Unmarshal(e.Payload, &stage) != nil {
			return // the program itself uses the channel, with another payload
		}
		message = stage.Name + ": " + stage.Stage
		if e.Channel == "pipeline:stage_complete" {
			message += " is complete"
			if stage.Name == p.offer.Pipeline {
				p.stages, p.steps = p.stages+1, -1
			}
		}
	default:
		var text string
		if json.Unmarshal(e.Payload, &text) != nil {
			text = string(e.Payload)
		}
		if runes := []rune(text); len(runes) > maxMessage {
			text = string(runes[:maxMessage]) + "…"
		}
		if text != "" {
			message += " " + text
		}
	}
	p.steps++
	done := float64(p.steps)
	if p.offer.Pipeline != "" { // the fraction grows with each step, but stays below the next stage
		done = float64(p.stages) + float64(p.steps)/float64(p.steps+1)
	}
	p.report(mcpport.Progress{Done: done, Total: float64(p.offer.Stages), Message: message})
}
