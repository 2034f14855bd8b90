package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// NotCallableError is the error of a call of a function that does not exist, or whose parameters
// cannot be created from JSON.
type NotCallableError struct{ Function, Reason string }

func (e *NotCallableError) Error() string {
	return "the function `" + e.Function + "` cannot be called: " + e.Reason
}

// errCalled is the cause that ends the VM of a call that has returned.
var errCalled = errors.New("the function has returned")

// CallFunction calls a public function of the main file instead of main, in the same way as Run.
// The program must have been compiled with Request.Called. args is a JSON object with the arguments
// by name. Options.Records may not contain Durable, Tape and Profile. The error is a
// *NotCallableError, a *vm.BadArguments, or one of Run.
func CallFunction(ctx context.Context, p *Program, o Options, function string, args json.RawMessage) error {
	return p.inRun(ctx, &o, func(r *run) error {
		config, err := r.machineConfig()
		if err != nil {
			return err
		}
		machine, err := vm.New(config)
		if err != nil {
			return err
		}
		offer, reason := machine.Function(function)
		if reason != "" {
			return &NotCallableError{function, reason}
		}
		r.sinks.follow(machine)
		ctx, cancel := r.bound(r.sinks.context(ctx), 0)
		defer cancel()
		if err := machine.InitTools(ctx); err != nil {
			return err
		}
		o.reportBegin(r.world)
		serving, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		var failed error
		machine.Begin(&vm.Call{Offer: offer, Args: args, Context: ctx,
			Limit:   context.WithCancel,
			Emitted: func(*effect.Emit) {},
			Done: func(v value.Slot, err error) {
				if failed = err; err == nil {
					o.reportResult(v)
				}
				stop(errCalled)
			}})
		if err := machine.Serve(serving); failed == nil && !errors.Is(err, errCalled) {
			failed = err
		}
		return failed
	})
}
