package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/runconf"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/submission"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/procgroup/systems"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/vm"
)

// Durable configures how a run is stored, so that another process can resume it
// (spec/26-durable.md). If the context of such a run ends, the run is suspended: Run returns a
// *Suspended, and the program receives no error.
type Durable struct {
	Dir string // directory of the run, which must be empty or not exist
	// Run, if not nil, is the run in a store that several machines share. Dir then contains what
	// belongs to this machine: the sockets and the output of hosts, and the ledger.
	Run journal.Run
	// Machine is the name of this machine in a shared store; "" means its host name.
	Machine string
	// Park suspends the run when it waits only for answers and distant timers. Wait makes the run
	// wait for the answers instead, without suspending it.
	Park, Wait bool
	// ParkAfter, if not nil, returns the time without progress after which Park suspends the run.
	ParkAfter func() time.Duration
	// Sync selects when records are synced to disk: "output", "every" or "never". "" means the
	// setting in the program's [run] section.
	Sync string
	// Finish, if set, returns how long effects in progress may continue when the end of the context
	// suspends the run. why is the cause.
	Finish func(why error) time.Duration
	// Given is arbitrary JSON that is stored with the run, for the process that resumes it.
	Given json.RawMessage
	// Remark receives messages for people. nil ignores them.
	Remark func(text string)
	// Continues describes the earlier run of which a new run is the successor; nil if there is
	// none.
	Continues *journal.Continues
	begun     func() error // called when a successor is stored; nil for other runs
}

// Suspended is the error of a durable run that was suspended.
type Suspended struct {
	Run, Dir string
	Why      error              // *Unwritable, or the cause of the context's end; nil if the run waits for answers or timers
	Waiting  []durable.Question // unanswered questions
}

func (e *Suspended) Error() string {
	if e.Why == nil {
		return "the run is waiting"
	}
	return "the run is suspended: " + e.Why.Error()
}

// Unwrap returns Why.
func (e *Suspended) Unwrap() error { return e.Why }

// JournalRoot returns the directory in which the program's [run] section stores runs, or "".
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

// durableRun is a durable run in this process.
type durableRun struct {
	run      *durable.Run
	stored   journal.Run
	isShared bool // the store is shared
	writer   journal.Writer
	dir      string
	id       string
	begun    durable.Flags
	cancel   context.CancelCauseFunc
	// Durable.Finish and Options.Kill
	finishWithin func(why error) time.Duration
	kill         <-chan struct{}
	owner        int64          // number of this process in the sequence of the run's processes
	ran          time.Duration  // duration for which earlier processes ran the run
	keeper       *keeper.Client // client of the keeper of the run's hosts; nil if the hosts exit with this process
	world        *runtime.Runtime
	ledger       *ledger.Ledger
}

// makeDurable creates or opens the stored run, if the options select a durable run. It adds a layer
// to the configuration of the runtime; the layer records the run's effects.
func (r *run) makeDurable() error {
	p, o, c := r.program, r.options, &r.config
	if o.Records.Durable == nil {
		return nil
	}
	conf, err := runconf.Read(p.ir.Run)
	if err != nil {
		return err
	}
	if c.Session.ID == "" {
		c.Session.ID = procgroup.NewID()
	}
	d := &durableRun{stored: o.Records.Durable.Run, dir: o.Records.Durable.Dir, id: c.Session.ID, finishWithin: o.Records.Durable.Finish, kill: o.Kill}
	if d.stored == nil {
		d.stored = openRun(d.dir)
	} else { // the journal contains the marks
		d.isShared = true
		c.Args = slices.Clone(c.Args)
		for i, arg := range c.Args {
			c.Args[i] = submission.Unmask(arg, o.secret)
		}
		c.Session.Inputs = submission.UnmaskJSON(c.Session.Inputs, o.secret)
	}
	continues := o.Records.Durable.Continues
	if s := o.own.durable; s != nil {
		continues = s.stored.Flags.Continues
	}
	var stored json.RawMessage
	if continues != nil { // the earlier run has stored the inputs
		stored, c.Session.Inputs = o.Inputs, secret.RestoreJSON(o.Inputs, o.secret)
	}
	config := durable.Config{ID: d.id, Continues: continues, Inputs: stored, Stored: d.stored, Seed: strconv.FormatInt(*r.seed, 10), Remark: o.Records.Durable.Remark, Secret: o.secret}
	sync := o.Records.Durable.Sync
	if sync == "" {
		sync = conf.Sync
	}
	config.Every = sync == journal.SyncEvery
	config.Asking = durable.Asking{Park: o.Records.Durable.Park || conf.Park && !o.Records.Durable.Wait, Wait: o.Records.Durable.Wait,
		Here: o.Answers.Prompter != nil || o.Answers.Handler != "" || o.Answers.Relay != nil || o.OnAwait != nil || o.Answers.OnAskHost != nil}
	config.ParkAfter = o.Records.Durable.ParkAfter
	config.Policy, config.SharedFiles = conf.Policy, conf.Files == "shared"
	options := journal.Options{Sync: sync, MaxBytes: conf.MaxJournalMB << 20, Owner: o.owner()}
	if m := o.Records.Durable.Machine; m != "" {
		options.Owner.Machine = m
	}
	if s := o.own.durable; s != nil {
		d.begun = s.stored.Flags
		err = d.reopen(s.stored, &config, options)
		if _, failed := errors.AsType[*durable.Unwritable](err); failed || rundir.IsFull(err) {
			err = &Suspended{Run: d.id, Dir: d.dir, Why: &durable.Unwritable{Err: err}}
		}
	} else {
		d.begun = r.beginFlags(sync)
		err = r.create(d, &config, options)
	}
	if err != nil {
		return err
	}
	c.Process = fmt.Sprintf("p%d", d.owner)
	if d.keeper, err = d.keeperClient(o, c, conf.OrphanTimeout); err != nil {
		return d.failBegin(err)
	}
	if missing := systems.Missing("keeper", goruntime.GOOS); missing != "" && len(c.Hosts) > 0 && o.Records.Durable.Remark != nil {
		o.Records.Durable.Remark(missing + ": hosts stop with the run; resume starts them again")
	}
	c.Keeper = d.keeper
	config.Writer = d.writer
	d.run = durable.New(config)
	c.Layers = append([]effect.Layer{d.run.Layer}, c.Layers...)
	if o.own.seams != nil && o.own.seams.Outer != nil {
		c.Layers = append([]effect.Layer{o.own.seams.Outer}, c.Layers...)
	}
	r.durable = d
	return nil
}

// secret returns the trimmed value of an environment variable, and reports whether it is long
// enough to be a secret.
func (o *Options) secret(name string) (string, bool) {
	v, _ := environVariable(o.Environ, name)
	v = strings.TrimSpace(v)
	return v, len(v) >= secret.MinLength
}

// beginFlags returns the settings that the start record of a new run contains.
func (r *run) beginFlags(sync string) durable.Flags {
	o, d := r.options, r.options.Records.Durable
	b := durable.Flags{Continues: d.Continues, Audited: r.audit != nil, Mock: o.Models.Mock, Root: r.config.Root, Park: d.Park, Wait: d.Wait, Sync: sync,
		Given: d.Given}
	b.Asks = o.asksHosts() || o.Answers.Relay != nil
	b.Tools = o.Tools != nil || len(r.program.ir.AppTools) > 0 && !o.own.plain
	b.Emit, b.Limit = o.Output.Mode.String(), string(o.Limit)
	return b
}

// create stores a new run.
func (r *run) create(d *durableRun, config *durable.Config, options journal.Options) (err error) {
	o, session, program := r.options, &r.config.Session, r.program.Encode()
	start := journal.Start{Run: d.id, Program: r.program.MainFile(), IR: hexsum.SHA256(program), Engine: tape.VMVersion, Args: o.Args, Inputs: o.Inputs, Seed: config.Seed}
	if start.Args == nil {
		start.Args = []string{}
	}
	if start.Inputs == nil {
		start.Inputs = json.RawMessage("{}")
	}
	if start.Session, err = json.Marshal(tape.Session{Cwd: session.Cwd, Metadata: session.Metadata, Render: session.Render}); err != nil {
		return err
	}
	if start.Flags, err = json.Marshal(d.begun); err != nil {
		return err
	}
	d.owner = 1
	if d.writer, err = d.stored.Create(start, program, options); err != nil || o.Records.Durable.begun == nil {
		return err
	}
	if err = o.Records.Durable.begun(); err != nil {
		return errors.Join(err, d.writer.Close())
	}
	return nil
}

// reopen opens an existing run to resume it.
func (d *durableRun) reopen(s *durable.Stored, config *durable.Config, options journal.Options) (err error) {
	if d.writer, config.History, err = d.stored.Open(s.History, options); err != nil {
		return err
	}
	if config.Out, _, err = d.stored.Out(); err != nil {
		return errors.Join(err, d.writer.Close())
	}
	if n := config.History.Torn; n > 0 && config.Remark != nil {
		config.Remark(fmt.Sprintf("removed the last %d bytes of the journal, which the interrupted run had not finished writing", n))
	}
	last := config.History.Owner()
	config.Alone = hasExited(last)
	config.Moved = d.isShared && !config.SharedFiles && last.Machine != options.Owner.Machine
	d.owner, d.ran = last.N+1, config.History.Ran()
	d.writer.Append(&journal.Record{RecordKind: journal.KResume, Owner: options.Owner.Numbered(d.owner)})
	if err := d.writer.Flush(journal.Synced); err != nil {
		return errors.Join(&durable.Unwritable{Err: err}, d.writer.Close())
	}
	return nil
}

// addSecrets registers the run's secrets in the runtime, and connects the run to the runtime's
// hosts and servers.
func (d *durableRun) addSecrets(world *runtime.Runtime, seams *Seams) error {
	if d == nil {
		return nil
	}
	d.world = world
	if d.keeper != nil {
		d.run.SetHosts(world.Hosts())
	}
	durable.SetSteerer(d.run, world.Hosts())
	d.run.SetServers(world.Servers())
	var outside durable.World = world
	if seams != nil && seams.World != nil {
		outside = seams.World(world)
	}
	err := d.run.SetSecrets(world.Secrets(), outside)
	if d.keeper != nil {
		world.Secrets().Each(func(name, value string) { d.keeper.Secret(keeper.Secret{Name: name, Value: value}) })
	}
	return err
}

// before returns the duration for which earlier processes ran the run.
func (d *durableRun) before() time.Duration {
	if d == nil {
		return 0
	}
	return d.ran
}

// failBegin closes the ledger and the journal of a run that could not start because of err, and
// returns err joined with the errors of closing. It returns nil if err is nil.
func (d *durableRun) failBegin(err error) error {
	if d == nil || err == nil {
		return err
	}
	return errors.Join(err, d.closeLedger(), d.writer.Close())
}

// closeLedger closes the ledger, if it is open.
func (d *durableRun) closeLedger() error {
	if d.ledger == nil {
		return nil
	}
	l := d.ledger
	d.ledger = nil
	return l.Close()
}

// withJournal configures the VM to record and replay the run. The end of ctx suspends the run. The
// returned context ends only when the run ends or must stop.
func (d *durableRun) withJournal(ctx context.Context, c *vm.Config) context.Context {
	if d == nil {
		return ctx
	}
	c.AskPerson, c.Application.Tools, c.Application.Audited = d.begun.Asks, d.begun.Tools, d.begun.Audited
	context.AfterFunc(ctx, func() { d.run.Suspend(context.Cause(ctx)) })
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	d.cancel = cancel
	c.Durable = &drainedRun{d.run, func() <-chan struct{} { return d.finish(context.Cause(ctx), own.Done()) }}
	go d.stored.Watch(own, func() {
		if d.stored.IsStopRequested() {
			cancel(ErrStopped)
		}
		d.run.ApplyAnswers()
		durable.ApplySteers(d.run)
	})
	return own
}

// drainedRun is a durable run that waits for effects in progress when it is suspended.
type drainedRun struct {
	*durable.Run
	drain func() <-chan struct{}
}

// DrainBeforeSuspend implements vm.Durable.
func (r *drainedRun) DrainBeforeSuspend() <-chan struct{} { return r.drain() }

// finish returns a channel that is closed when the effects in progress must not continue, because
// the run was suspended. why is the cause of the context's end, or nil. A nil channel means that
// they must not continue at all. over is closed when the run is.
func (d *durableRun) finish(why error, over <-chan struct{}) <-chan struct{} {
	if d.finishWithin == nil || why == nil || !errors.Is(d.run.Err(), why) {
		return nil
	}
	within := d.finishWithin(why)
	if within <= 0 {
		return nil
	}
	until := make(chan struct{})
	go func() {
		defer close(until)
		select {
		case <-time.After(within):
		case <-d.kill:
		case <-over:
		}
	}()
	return until
}

// ErrStopped is the cause of the cancellation of a run that another process has stopped.
var ErrStopped = errors.New("the run was stopped by `concerto runs stop`")

// endRun records the end or the suspension of the run. It returns err, the error of recording, or a
// *Suspended.
func (d *durableRun) endRun(err error) error {
	if d == nil {
		return err
	}
	defer d.cancel(nil)
	if !errors.Is(err, vm.ErrSuspended) && d.run.Printed() == nil {
		if d.owner > 1 {
			d.world.EndRun()
		}
		next, err := d.successor(err)
		werr := firstError(d.run.Finish(codeOf(err), next != nil), d.closeLedger())
		if next != nil && werr == nil { // a run whose end is not stored has no successor
			if w, ok := d.writer.(journal.Continuer); ok {
				w.ContinueAs(next)
			}
			if werr = d.writer.Close(); werr == nil {
				return &Continued{Run: d.id, Dir: d.dir, As: next.Run, shared: d.isShared}
			}
			return werr
		}
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
