package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

func NewResume(a *console.Console) *cobra.Command {
	cmd := resumeCommand{runCommand: runCommand{console: a}}
	c := &cobra.Command{
		Use:   "resume RUN [PATH]",
		Short: "Resume an interrupted run",
		Long: `Continues a run that was stored by --journal, or by [run] journal in the manifest: after Ctrl-C,
kill -9, a power failure, or while it is parked. Effects that are done are not repeated, and output
is not printed twice. The flags of the first run apply unless you give them again. A finished run
only returns its exit code. RUN is the run's directory, or its id if the manifest has [run] journal.
Workers resume the runs of an engine: there, --accept-changes only replaces the program by PATH.`,
		Example: `  concerto run --journal job --park review.conc   wait for an answer: exit code 75
  concerto runs answer job q7 yes
  concerto runs resume job
  concerto runs resume --due runs                 resume each run in runs that can continue`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.durable.command = c
			if cmd.resumeAll {
				return resumeReady(c.Context(), a, args[0])
			}
			return cmd.resume(c.Context(), args[0], args[1:])
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.emit, "emit", "text", "print emits as `FORM`: text, ndjson or none (default text)")
	c.Flags().BoolVar(&cmd.detail, "emit-detail", false, "add time, place and task to ndjson emits; write stderr as ndjson")
	cmd.Add(c)
	c.Flags().StringVar(&cmd.shown, "progress", "", "show progress as `FORM`: auto, plain or none (default auto)")
	c.Flags().BoolVar(&cmd.noInput, "no-input", false, "never prompt on the terminal")
	addRelayFlag(c, &cmd.relay)
	cmd.addRecordFlags(c)
	cmdline.Hide(c, "record")
	cmd.durable.addWaitFlags(c)
	c.Flags().BoolVar(&cmd.asStarted, "as-started", false, "continue with the version with which the run began")
	c.Flags().BoolVar(&cmd.accept, "accept-changes", false, "continue with a changed program, if it repeats the recorded requests")
	c.Flags().BoolVar(&cmd.resumeAll, "due", false, "resume all runs below RUN that have an answer or an expired timer")
	cmdline.Group(c, "Answers and prompts", "answers", "answer", "emit-handler", "pass-env", "no-input", "share")
	cmdline.Group(c, "Permissions", "permissions", append(program.PermissionRows(), "trust")...)
	cmdline.Group(c, "Stored runs", "journal", "park", "wait", "sync")
	cmdline.Group(c, "Output", "output", "emit", "emit-detail", "progress", "stats format | --stats [--format json] | print calls, tokens and cost by model, agent, stage and task")
	cmdline.Group(c, "Recordings", "recordings", "transcript", "wire", "ledger", "audit audit-sync | --audit FILE | record tool calls in the tamper-evident FILE; --audit-sync syncs it",
		"trace profile | --trace FILE, --profile FILE | write a timeline for ui.perfetto.dev, or a CPU profile")
	cmdline.Group(c, "Tools", "", "host-tools", "host-tools-module")
	c.MarkFlagsMutuallyExclusive("as-started", "accept-changes")
	return c
}

// resumeCommand is the command resume with its options.
type resumeCommand struct {
	runCommand
	asStarted, accept bool // select the recorded or the current version of a changed program
	resumeAll         bool // resume all runs that can continue
}

func (cmd *resumeCommand) resume(parent context.Context, run string, path []string) error {
	found, err := locate.Find(parent, cmd.console, run, locate.Worker)
	if err != nil {
		return err
	}
	if found.Engine != nil {
		return cmd.adopt(parent, found, strings.Join(path, ""))
	}
	if len(path) > 0 {
		return console.Usage("leave out the path", "a run in a directory is resumed with the program of its directory")
	}
	cmd.durable.dir = run
	stored, err := engine.OpenNewest(found.Dir)
	if err != nil {
		return err
	}
	if stored.Dir != found.Dir {
		cmd.console.Notef("concerto: run %s has continued as %s in %s\n", run, stored.ID, cmd.console.Relative(stored.Dir))
	}
	if code, over := stored.Finished(); over && !stored.Continued() {
		cmd.console.Verbosef("the run has already ended")
		if err := runs.Clear(parent, stored.Dir); err != nil {
			return err
		}
		return console.ExitError(code)
	}
	if err := program.RestoreFlags(cmd.durable.command.Flags(), stored.Given); err != nil {
		return err
	}
	form, err := progressForm(cmd.console, cmd.shown)
	if err != nil {
		return err
	}
	cmd.shown, cmd.console.NoInput = form, cmd.noInput
	if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
		return err
	}
	if err := cmd.durable.validate(); err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	for {
		err := cmd.resumeOnce(ctx, stored, signals)
		var suspended *engine.Suspended
		if !errors.As(err, &suspended) || suspended.Why != nil || !stored.Answered(suspended.Waiting) {
			return err
		}
	}
}

// adoptLease is the lease of the session that replaces the program of a run.
const adoptLease = 30 * time.Second

// adopt replaces the program of a run in an engine, if it repeats the recorded requests.
func (cmd *resumeCommand) adopt(parent context.Context, run *locate.Run, path string) (err error) {
	if !cmd.accept {
		return console.Usage("`concerto worker` starts a worker; --accept-changes replaces the program of the run", "run %s is in an engine and is resumed by its workers", run.ID)
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	source, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return err
	}
	grants, err := cmd.Permissions.Grants()
	if err != nil {
		return err
	}
	p, _, err := program.Open(ctx, cmd.console, source, &cmd.WorldFlags, &grants)
	if err != nil {
		return err
	}
	session, err := locate.NewSession(ctx, cmd.console, run.Engine, adoptLease)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close(context.WithoutCancel(ctx))) }()
	taken, err := session.Take(run.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.GiveBack(taken)) }()
	stored, err := engine.OpenSharedRun(taken, "", cmd.console.Dir)
	if err != nil {
		return err
	}
	if _, over := stored.Finished(); over {
		return console.Usage("", "run %s has already ended", run.ID)
	}
	return stored.Adopt(ctx, p, cmd.console.Environ)
}

func (cmd *resumeCommand) resumeOnce(ctx context.Context, stored *engine.StoredRun, signals *interrupt.Handler) error {
	if err := cmd.checkProgram(ctx, stored); err != nil {
		return err
	}
	p, o, err := program.PrepareWith(cmd.console, &cmd.WorldFlags, signals, func(*permit.Grants) (*engine.Program, string, error) {
		p, err := stored.Program()
		return p, stored.Root, err
	})
	if err != nil {
		return err
	}
	o.Records.Durable = cmd.durable.options(cmd.console, stored.Dir)
	return cmd.runProgram(ctx, p, &o, nil, signals, func() error { return stored.Resume(ctx, o) })
}

// checkProgram returns an error if the program's sources have changed since the run began and
// neither --as-started nor --accept is set.
func (cmd *resumeCommand) checkProgram(ctx context.Context, stored *engine.StoredRun) error {
	if cmd.asStarted || stored.Name == "" {
		return nil
	}
	path := filepath.Join(stored.Root, stored.Name)
	if !console.IsFile(path) {
		return nil
	}
	p, found, err := engine.Compile(path, stored.Root)
	if err == nil && p != nil && stored.Is(p) {
		return nil
	}
	what := "has changed since the run began"
	if err != nil || found.HasErrors() {
		what += ", and does not compile"
	}
	if !cmd.accept {
		return console.Usage("add --as-started to run the original version, or --accept-changes to run the current one", "%s %s", cmd.console.Relative(path), what)
	}
	if p == nil {
		return console.Usage("correct it, or add --as-started to run the original version", "%s %s", cmd.console.Relative(path), what)
	}
	return stored.Adopt(ctx, p, cmd.console.Environ)
}

// resumeReady resumes each run below the directory root that can continue.
func resumeReady(ctx context.Context, a *console.Console, root string) error {
	dir, err := locate.Root(a, []string{root})
	if err != nil {
		return err
	}
	all, err := runs.List(dir)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range all {
		if !runs.IsReady(rundir.At(r.Dir), r, time.Now()) {
			continue
		}
		a.Notef("concerto: resuming %s\n", a.Relative(r.Dir))
		c := exec.CommandContext(ctx, a.Binary.Executable, "runs", "resume", r.Dir)
		c.Dir, c.Env, c.Stdout, c.Stderr = a.Dir, a.Environ, a.Stdout, a.Stderr
		err := c.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == console.ExitWaiting {
			err = nil
		}
		if err != nil {
			failed++
			a.Complain(fmt.Sprintf("%s: %v", a.Relative(r.Dir), err), "")
		}
	}
	if failed > 0 {
		return console.ExitError(console.ExitFailed)
	}
	return nil
}
