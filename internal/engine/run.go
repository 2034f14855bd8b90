package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/profile"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// run is a run of a program. program and options do not change during the run; begin creates the
// rest in the order of the fields, and what has to end with the run is in closers.
type run struct {
	program *Program
	options *Options
	audit   *audit.Log     // nil if tool calls are not recorded
	seed    *int64         // seed of the random numbers; nil means a random seed
	config  runtime.Config // complete when world is created
	outside *outsideDecisions
	sinks   *sinks      // nil if nothing shows or records the run
	durable *durableRun // nil if the run is not durable
	world   *runtime.Runtime
	closers closers
}

// closers is a stack of functions that end parts of a run. Each receives the error of the run so
// far, and returns its own.
type closers []func(error) error

// add adds functions that end newer parts.
func (c *closers) add(end ...func(error) error) { *c = append(*c, end...) }

// close ends all parts, the newest first. It returns err joined with their errors.
func (c *closers) close(err error) error {
	for _, end := range slices.Backward(*c) {
		err = joined(err, end(err))
	}
	*c = nil
	return err
}

// RunErrors are the errors of a run and of ending its parts, if there are several. The first is the
// one with which the run ended.
type RunErrors []error

func (e RunErrors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns all errors.
func (e RunErrors) Unwrap() []error { return e }

// joined returns err and next as one error, or the one of them that is not nil.
func joined(err, next error) error {
	if err == nil || next == nil {
		return firstError(err, next)
	}
	if all, ok := err.(RunErrors); ok {
		return append(slices.Clip(all), next)
	}
	return RunErrors{err, next}
}

// inRun calls do with a new run, and ends the run afterwards.
func (p *Program) inRun(ctx context.Context, o *Options, do func(*run) error) error {
	r := &run{program: p, options: o, seed: o.own.seed, outside: &outsideDecisions{}}
	err := r.begin(ctx)
	if err == nil {
		err = do(r)
	}
	if err = r.closers.close(err); r.world != nil {
		err = cleanError(r.world, err)
	}
	return err
}

// begin creates the runtime of the run.
func (r *run) begin(ctx context.Context) error {
	if err := r.openAudit(); err != nil {
		return err
	}
	o := r.options
	if (o.Records.Tape != nil || o.Records.Durable != nil) && r.seed == nil {
		r.seed = newSeed()
	}
	var err error
	if r.config, err = r.program.runtimeConfig(o); err != nil {
		return err
	}
	r.config.Seed, r.config.Audit, r.config.Listeners.OnOutside = r.seed, r.audit, r.outside.record
	recording := r.program.recordWire(o.Records.Wire)
	if recording != nil {
		r.config.Listeners.Wire = recording.Add
	}
	r.sinks = o.newSinks(&r.config)
	if err := r.makeDurable(); err != nil {
		return err
	}
	if r.config.Bounds.Day, err = r.program.openDay(o, &r.config); err != nil {
		return r.durable.failBegin(err)
	}
	r.world = runtime.New(r.config)
	if o.Records.OnBegin != nil {
		o.Records.OnBegin(r.world.ID(), r.world.Secrets())
	}
	r.sinks.begin(r.world, r.program.ir.Name, r.durable)
	r.closers.add(r.reportUsage, func(error) error { return wireError(recording) }, r.sinks.end)
	closing := r.killable(ctx)
	endTools, err := r.program.openTools(ctx, r.world, o)
	r.closers.add(func(error) error { return endTools() }, func(error) error { return r.world.Close(closing) })
	if err == nil {
		err = r.durable.addSecrets(r.world, r.options.own.seams)
	}
	return r.durable.failBegin(err)
}

// openAudit opens the audit log that the manifest names, unless the options contain one.
func (r *run) openAudit() (err error) {
	var release func() error
	r.audit, release, err = r.program.openSharedAudit(r.options)
	r.closers.add(func(error) error { return release() })
	return err
}

// killable makes the end of Options.Kill stop what the runtime waits for, until the run ends. The
// returned context is the one with which the runtime is closed.
func (r *run) killable(ctx context.Context) context.Context {
	closing, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-r.options.Kill:
			stop()
			r.world.Kill()
		case <-closing.Done():
		}
	}()
	r.closers.add(func(error) error { stop(); return nil })
	return closing
}

// reportUsage calls OnUsage.
func (r *run) reportUsage(error) error {
	records := &r.options.Records
	if records.OnUsage == nil {
		return nil
	}
	u := &Used{All: r.world.Used(), Hosts: r.world.HostUsage()}
	u.Models, u.AllModels = r.world.Usage()
	if records.Shares {
		u.Shares = r.sinks.recorder.Usage()
	}
	records.OnUsage(u)
	return nil
}

// application returns the properties of the application that the VM uses.
func (r *run) application() vm.Application {
	return vm.Application{Run: r.world.ID(), Tools: r.world.HasTools(), Audited: r.audit != nil}
}

// machineConfig returns the configuration of the VM of the run.
func (r *run) machineConfig() (vm.Config, error) {
	o := r.options
	config := vm.Config{Program: r.program.ir, Natives: stdlib.Native, Performer: r.world, RecordOrigins: !o.Output.Detail.IsZero(), Application: r.application(), AskPerson: o.asksHosts()}
	recorder, err := r.decisions()
	w := r.sinks.watch(o, recorder)
	if relay := o.Answers.Relay; relay != nil {
		config.AskPerson, w.onWait = true, func(at vm.Place) { relay.Located(at.File, at.Line) }
		r.program.relayed(relay, r.world)
	}
	config.Observer = w
	return config, err
}

// bound returns a context that ends when the run has taken as long as the manifest and the options
// allow. before is the duration for which earlier processes ran it.
func (r *run) bound(ctx context.Context, before time.Duration) (context.Context, context.CancelFunc) {
	return budget.Rest(ctx, r.world.Clock(), narrower(r.program.ir.Limits.MaxRunSeconds, r.options.budget().RunSeconds), before)
}

// main runs the program's main to its end.
func (r *run) main(ctx context.Context) (err error) {
	o := r.options
	config, err := r.machineConfig()
	if err != nil {
		return err
	}
	endTape := r.recordTape(&config)
	defer func() { err = endTape(err) }()
	if o.Records.Profile != nil {
		recorder := profile.New(r.program.ir.Name)
		config.Profile = recorder.VM
		recorder.Start()
		defer func() {
			recorder.Stop()
			err = joined(err, recorder.Write(o.Records.Profile))
		}()
	}
	ctx = r.durable.withJournal(r.sinks.context(ctx), &config)
	machine, err := vm.New(config)
	if err != nil {
		return r.durable.failBegin(fmt.Errorf("could not load the program: %w", err))
	}
	r.sinks.follow(machine)
	ctx, cancel := r.bound(ctx, r.durable.before())
	defer cancel()
	o.reportBegin(r.world)
	result, err := o.runToEnd(ctx, machine)
	if r.durable == nil && isContinued(err) {
		return nil // a replay does not start the successor
	}
	err = r.durable.endRun(err)
	if err == nil {
		o.reportResult(result)
	}
	var failed *vm.Uncaught
	if errors.As(err, &failed) {
		failed.Hint = unkeyed(r.world, failed)
	}
	return err
}
