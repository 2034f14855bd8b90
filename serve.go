package concerto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/limit"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

// ErrNothingOffered says that a program has no public tool to serve.
var ErrNothingOffered = errors.New("the program offers nothing: it has no `pub tool` with a function that has `@describe`")

// ServeOptions say where a program is served: over In and Out, or over HTTP at
// Address when that is not "". Ready is called with the URL then.
type ServeOptions struct {
	In      io.ReadCloser
	Out     io.WriteCloser
	Address string
	Ready   func(url string)
}

// Serve offers the program's public tools as an MCP server until its client goes
// away or ctx ends (spec/10-tools-mcp.md). Calls run one at a time on one VM,
// so that a tool's state lives as long as the server. The manifest's
// max_run_seconds bounds each call. A panic ends the server; its error is then
// an *Uncaught.
func (p *Program) Serve(ctx context.Context, o Options, s ServeOptions) error {
	return p.inWorld(ctx, &o, func(world *runtime.Runtime) error { return p.serve(ctx, world, s) })
}

func (p *Program) serve(ctx context.Context, world *runtime.Runtime, s ServeOptions) error {
	machine, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Natives(), Performer: world})
	if err != nil {
		return fmt.Errorf("load the program: %w", err)
	}
	offers := machine.Offers()
	if len(offers) == 0 {
		return ErrNothingOffered
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := machine.InitTools(ctx); err != nil {
		return err
	}
	x := &serving{ctx: ctx, machine: machine, turn: make(chan struct{}, 1), seconds: p.ir.Limits.MaxRunSeconds, end: cancel}
	var tools []mcp.Offer
	for _, o := range offers {
		tools = append(tools, mcp.Offer{Name: o.Name, Description: o.Description, Parameters: o.Parameters,
			Call: func(ctx context.Context, args json.RawMessage) (string, json.RawMessage, error) {
				return x.call(ctx, o, args)
			}})
	}
	if s.Address != "" {
		err = mcp.ServeHTTP(ctx, p.ir.Name, "1", tools, s.Address, s.Ready)
	} else {
		err = mcp.ServeStreams(ctx, p.ir.Name, "1", tools, s.In, s.Out)
	}
	cancel(err)
	x.turn <- struct{}{} // a call under way ends first
	return err
}

// serving is a program that is served.
type serving struct {
	ctx     context.Context // the server's
	machine *vm.VM
	turn    chan struct{} // holds one token while a call runs
	seconds float64
	end     context.CancelCauseFunc
}

// call runs one function when those before it have ended.
func (x *serving) call(ctx context.Context, o vm.Offer, args json.RawMessage) (string, json.RawMessage, error) {
	select {
	case x.turn <- struct{}{}:
		defer func() { <-x.turn }()
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(x.ctx, func() { end(context.Cause(x.ctx)) })()
	limited, cancel := limit.Run(ctx, x.seconds)
	defer cancel()
	v, err := x.machine.CallOffer(limited, o, args)
	var failed *vm.Uncaught
	var bad *vm.BadArguments
	switch {
	case errors.As(err, &failed) && failed.Panic:
		x.end(failed)
		return "", nil, fmt.Errorf("panic: %s", failed.Message)
	case errors.As(err, &failed):
		return "", nil, errors.New(failed.Message)
	case errors.As(err, &bad) || err != nil && limited.Err() != nil:
		return "", nil, err
	case err != nil: // the VM is of no more use
		x.end(err)
		return "", nil, err
	}
	if flat := value.Flat(v); flat.Kind() == value.KindString {
		return value.Text(flat), nil, nil
	}
	b := value.AppendJSON(nil, v)
	if len(b) > 0 && b[0] == '{' {
		return string(b), b, nil
	}
	return string(b), nil, nil
}
