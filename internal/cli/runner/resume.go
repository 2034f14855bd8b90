package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// restoreFlags sets the flags that the run was started with, except the flags that the user has set
// for this command. Answers from both command lines are combined.
func restoreFlags(all *pflag.FlagSet, stored json.RawMessage) error {
	var flags map[string][]string
	if stored == nil {
		return nil
	}
	if err := json.Unmarshal(stored, &flags); err != nil {
		return fmt.Errorf("the flags of the run: %w", err)
	}
	for name, values := range flags {
		f := all.Lookup(name)
		if f == nil || f.Changed && name != "answer" {
			continue
		}
		if many, ok := f.Value.(pflag.SliceValue); ok {
			if err := many.Replace(append(values, many.GetSlice()...)); err != nil {
				return err
			}
			continue
		}
		for _, v := range values {
			if err := all.Set(name, v); err != nil {
				return fmt.Errorf("the flags of the run: --%s: %w", name, err)
			}
		}
	}
	return nil
}

func NewResume(a *console.Console) *cobra.Command {
	cmd := resumeCommand{runCommand: runCommand{console: a}}
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume an interrupted run",
		Long: `Continues a run that was stored by --journal, or by [run] journal in the manifest: after Ctrl-C,
kill -9, a power failure, or while it is parked. Effects that are done are not repeated, and output
is not printed twice. The flags of the first run apply unless you give them again. A finished run
only returns its exit code. RUN is the run's directory, or its id if the manifest has [run] journal.`,
		Example: `  concerto run --journal job --park review.conc   wait for an answer: exit code 75
  concerto runs answer job q7 yes
  concerto runs resume job
  concerto runs resume --due runs                 resume each run in runs that can continue`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.durable.command = c
			if cmd.resumeAll {
				return resumeReady(c.Context(), a, args[0])
			}
			return cmd.resume(c.Context(), args[0])
		},
	}
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
	cmdline.Group(c, "Stored runs", "journal", "park", "wait", "sync", "snapshot-every")
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

func (cmd *resumeCommand) resume(parent context.Context, run string) error {
	dir, err := FindRun(cmd.console, run)
	if err != nil {
		return err
	}
	cmd.durable.dir = run
	stored, err := engine.OpenRun(dir)
	if err != nil {
		return err
	}
	if code, over := stored.Finished(); over {
		cmd.console.Verbosef("the run has already ended")
		return console.ExitError(code)
	}
	if err := restoreFlags(cmd.durable.command.Flags(), stored.Given); err != nil {
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
	err = stored.Adopt(ctx, p, cmd.console.Environ)
	if missing, ok := errors.AsType[*durable.DroppedError](err); ok {
		return console.Usage("add --as-started to run the original version", "%s %s, and the new version cannot be checked: %v", cmd.console.Relative(path), what, missing)
	}
	return err
}

// resumeReady resumes each run below the directory root that can continue.
func resumeReady(ctx context.Context, a *console.Console, root string) error {
	dir, err := ResolveRoot(a, []string{root})
	if err != nil {
		return err
	}
	all, err := runs.List(dir)
	if err != nil {
		return err
	}
	failed := 0
	for _, r := range all {
		if !runs.IsReady(r, time.Now()) {
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
