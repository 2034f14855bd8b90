package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// Durable says how a run is kept so that it can be gone on with after its process has ended
// (spec/26-durable.md). When the context of such a run ends, the run is suspended: Run gives a
// *Suspended, and the program sees nothing of it.
type Durable struct {
	Dir string // the run's directory: new, or empty
	// Park has questions that nobody answers wait, and suspends the run when it waits for
	// nothing else; Wait has them wait while the run stays.
	Park, Wait bool
	// Sync is when records are put on the disk: "output", "every" or "never"; "" is what the
	// program's [run] says.
	Sync string
	// VerifySnapshots has the run go on, wherever it waits, from a snapshot of its state, and fail
	// by an error when the next one is not the same.
	VerifySnapshots bool
	// SnapshotEvery is after how many records a snapshot of the run is taken, from which it is gone on
	// with; 0 is what the program's [run] says.
	SnapshotEvery int
	// Given is kept with the run, for who goes on with it: any JSON.
	Given json.RawMessage
	// Remark is told what a person should know; nil drops it.
	Remark func(text string)
}

// Suspended is the error of a durable run that was left where it is.
type Suspended struct {
	Run, Dir string
	Why      error              // an *Unwritable, or the cause of the context's end; nil when the run waits
	Waiting  []durable.Question // for what it waits
}

func (e *Suspended) Error() string {
	if e.Why == nil {
		return "the run waits"
	}
	return "the run is suspended: " + e.Why.Error()
}

// Unwrap gives why.
func (e *Suspended) Unwrap() error { return e.Why }

// JournalRoot is the directory below which the program's [run] has its runs kept; "" when it
// does not.
func (p *Program) JournalRoot(o *Options) (string, error) {
	conf, err := runconf.Read(p.ir.Run)
	if err != nil || conf.Journal == "" {
		return "", err
	}
	root, err := p.base(o)
	if err != nil {
		return "", err
	}
	return conf.JournalRoot(root), nil
}

// durableRun is a durable run while it runs.
type durableRun struct {
	run      *durable.Run
	writer   *journal.Writer
	dir      string
	id       string
	begun    durable.Flags
	cancel   context.CancelCauseFunc
	snapshot []byte           // from which the run goes on; nil when it is played again from its beginning
	since    map[string]int64 // the last records of its ledgers then
	owner    int64            // the how-manieth process of the run this is
	ran      time.Duration    // in the processes before
	keeper   *keeper.Client   // of its hosts; nil: they end with it
	world    *runtime.Runtime
	ledger   *ledger.Ledger
}

// makeDurable makes or opens the run's directory, and puts the run between the program and the
// world.
func (p *Program) makeDurable(o *Options, c *runtime.Config) (*durableRun, error) {
	if o.Records.Durable == nil {
		return nil, nil
	}
	conf, err := runconf.Read(p.ir.Run)
	if err != nil {
		return nil, err
	}
	if c.Session.ID == "" {
		c.Session.ID = procgroup.NewID()
	}
	d := &durableRun{dir: o.Records.Durable.Dir, id: c.Session.ID}
	config := durable.Config{ID: d.id, Dir: journal.At(o.Records.Durable.Dir), Seed: strconv.FormatInt(*o.own.seed, 10), Remark: o.Records.Durable.Remark, Secret: o.secret}
	sync := o.Records.Durable.Sync
	if sync == "" {
		sync = conf.Sync
	}
	config.Every = sync == journal.SyncEvery
	config.Asking = durable.Asking{Park: o.Records.Durable.Park || conf.Park && !o.Records.Durable.Wait, Wait: o.Records.Durable.Wait,
		Here: o.Answers.Prompter != nil || o.Answers.Handler != "" || o.Answers.Relay != nil || o.OnAwait != nil || o.Answers.OnAskHost != nil}
	config.Policy = conf.Policy
	options := journal.Options{Sync: sync, MaxBytes: conf.MaxJournalMB << 20, Owner: journal.Here()}
	config.Snapshots = durable.Snapshots{Every: uint64(conf.SnapshotEvery), Verify: o.Records.Durable.VerifySnapshots, IR: hexsum.SHA256(p.Encode()), Drop: conf.History == "snapshot"}
	if n := o.Records.Durable.SnapshotEvery; n > 0 {
		config.Snapshots.Every, config.Snapshots.Exact = uint64(n), true
	}
	if s := o.own.durable; s != nil {
		d.begun = s.kept.Flags
		err = d.reopen(s.kept, &config, options)
		if _, failed := errors.AsType[*durable.Unwritable](err); failed || journal.IsFull(err) {
			err = &Suspended{Run: d.id, Dir: d.dir, Why: &durable.Unwritable{Err: err}}
		}
	} else {
		d.begun = p.begin(o, c, sync)
		err = p.create(d, o, c, &config, options)
	}
	if err != nil {
		return nil, err
	}
	c.Process = fmt.Sprintf("p%d", d.owner)
	if d.keeper, err = d.keepHosts(c, conf.OrphanTimeout); err != nil {
		return nil, d.fail(err)
	}
	c.Keeper = d.keeper
	config.Writer = d.writer
	d.run = durable.New(config)
	c.Layers = append([]effect.Layer{d.run.Layer}, c.Layers...)
	return d, nil
}

// secret is the value of a variable, as it was found.
func (o *Options) secret(name string) (string, bool) {
	v, _ := variable(o.Environ, name)
	v = strings.TrimSpace(v)
	return v, len(v) >= secret.MinLength
}

// begin is what is kept of how a run begins.
func (p *Program) begin(o *Options, c *runtime.Config, sync string) durable.Flags {
	d := o.Records.Durable
	b := durable.Flags{Audited: o.Records.Audit != nil, Mock: o.Models.Mock, Root: c.Root, Park: d.Park, Wait: d.Wait, Sync: sync,
		SnapshotEvery: d.SnapshotEvery, VerifySnapshots: d.VerifySnapshots, Given: d.Given}
	b.Asks = o.asksHosts() || o.Answers.Relay != nil
	b.Tools = o.Tools != nil || len(p.ir.AppTools) > 0 && !o.own.plain
	b.Emit = o.Output.Mode.String()
	return b
}

// create makes the directory of a new run.
func (p *Program) create(d *durableRun, o *Options, c *runtime.Config, config *durable.Config, options journal.Options) (err error) {
	program := p.Encode()
	start := journal.Start{Run: d.id, Program: p.mainFile(), IR: hexsum.SHA256(program), Engine: tape.Engine, Args: o.Args, Inputs: o.Inputs, Seed: config.Seed}
	if start.Args == nil {
		start.Args = []string{}
	}
	if start.Inputs == nil {
		start.Inputs = json.RawMessage("{}")
	}
	if start.Session, err = json.Marshal(tape.Session{Cwd: c.Session.Cwd, Metadata: c.Session.Metadata, Render: c.Session.Render}); err != nil {
		return err
	}
	if start.Flags, err = json.Marshal(d.begun); err != nil {
		return err
	}
	d.owner = 1
	d.writer, err = config.Dir.Create(start, program, options)
	return err
}

// reopen takes the directory of a run up again.
func (d *durableRun) reopen(s *durable.Stored, config *durable.Config, options journal.Options) (err error) {
	if d.writer, config.History, err = config.Dir.Reopen(s.History, options); err != nil {
		return err
	}
	if config.Restored, d.snapshot = s.State, s.Snapshot; s.State != nil {
		d.since = s.State.Ledgers
	}
	config.CaughtUp = s.DropBad
	if config.Out, _, err = config.Dir.Out(); err != nil {
		return errors.Join(err, d.writer.Close())
	}
	if n := config.History.Torn; n > 0 && config.Remark != nil {
		config.Remark(fmt.Sprintf("%d bytes at the journal's end were cut off: they were being written when the run was interrupted", n))
	}
	last := config.History.Owner()
	config.Alone = last.Dead()
	d.owner, d.ran = last.N+1, config.History.Ran()
	d.writer.Append(&journal.Record{K: journal.KResume, Owner: options.Owner.Numbered(d.owner)})
	if err := d.writer.Flush(journal.Synced); err != nil {
		return errors.Join(&durable.Unwritable{Err: err}, d.writer.Close())
	}
	return nil
}

// know gives the run its secrets.
func (d *durableRun) know(world *runtime.Runtime) error {
	if d == nil {
		return nil
	}
	d.world = world
	if d.keeper != nil {
		d.run.Keep(world.Hosts())
	}
	d.run.Call(world.Servers())
	err := d.run.Know(world.Secrets(), world)
	if d.keeper != nil {
		world.Secrets().Each(func(name, value string) { d.keeper.Secret(keeper.Secret{Name: name, Value: value}) })
	}
	return err
}

// before is how long processes before have run the run.
func (d *durableRun) before() time.Duration {
	if d == nil {
		return 0
	}
	return d.ran
}

// fail lets go of a run that could not begin.
func (d *durableRun) fail(err error) error {
	if d == nil {
		return err
	}
	return errors.Join(err, d.closeLedger(), d.writer.Close())
}

// closeLedger gives the ledger free.
func (d *durableRun) closeLedger() error {
	if d.ledger == nil {
		return nil
	}
	l := d.ledger
	d.ledger = nil
	return l.Close()
}

// around gives a run its journal: when ctx ends, it is suspended.
func (d *durableRun) around(ctx context.Context, c *vm.Config) context.Context {
	if d == nil {
		return ctx
	}
	c.Journal, c.Past, c.Suspend = d.run.Journal(), d.run.Past(), d.run.Suspended()
	c.Kept, c.Boundary, c.Texts = stdlib.Kept, d.run.Boundary, d.run
	c.Asks, c.Application.Tools, c.Application.Audited = d.begun.Asks, d.begun.Tools, d.begun.Audited
	context.AfterFunc(ctx, func() { d.run.Suspend(context.Cause(ctx)) })
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel = cancel
	go d.heedStop(own)
	return own
}

// ErrStopped is the cause of the end of a run that somebody has ended from elsewhere.
var ErrStopped = errors.New("the run was stopped by concerto runs stop")

// stopLook is how often it is looked whether the run is to end.
const stopLook = 200 * time.Millisecond

// heedStop ends the run when another process asks for it.
func (d *durableRun) heedStop(ctx context.Context) {
	tick := time.NewTicker(stopLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if journal.At(d.dir).IsToStop() {
			d.cancel(ErrStopped)
		}
	}
}

// end writes how the run has ended, and gives its error.
func (d *durableRun) end(err error) error {
	if d == nil {
		return err
	}
	defer d.cancel(nil)
	if !errors.Is(err, vm.ErrSuspended) && d.run.Printed() == nil {
		werr := firstError(d.run.Finish(codeOf(err)), d.closeLedger())
		return firstError(firstError(err, werr), d.writer.Close())
	}
	why := d.run.Err()
	werr := firstError(d.run.Leave(), d.closeLedger())
	d.world.Hosts().Suspend()
	d.world.Served().Suspend()
	out := &Suspended{Run: d.id, Dir: d.dir, Why: firstError(werr, why)}
	if parked, ok := errors.AsType[*durable.Parked](out.Why); ok {
		out.Why, out.Waiting = nil, parked.Questions
	}
	if cerr := d.writer.Close(); out.Why == nil {
		out.Why = cerr
	}
	return out
}

// machine makes the VM of a run, and gives what has it run, or go on from its snapshot.
func (d *durableRun) machine(c vm.Config) (start func(context.Context) (*vm.Outcome, error), err error) {
	if d == nil || d.snapshot == nil {
		m, err := vm.New(c)
		if err != nil {
			return nil, fmt.Errorf("load the program: %w", err)
		}
		return m.Run, nil
	}
	m, err := vm.Restore(c, d.snapshot)
	if err != nil {
		return nil, &durable.BadSnapshot{Err: err}
	}
	return m.Resume, nil
}
