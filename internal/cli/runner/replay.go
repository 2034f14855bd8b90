package runner

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// replayCommand is the command replay with its options.
type replayCommand struct {
	console *console.Console
	emit    string
}

func NewReplay(a *console.Console) *cobra.Command {
	cmd := replayCommand{console: a}
	c := &cobra.Command{
		Use:   "replay TAPE|RUN [PATH]",
		Short: "Replay a recorded run",
		Long: `Runs a program with the inputs of a recorded run: models, hosts, tools, files, clocks and people
answer as recorded. replay uses no network, subprocess, file or clock, and repeats stdout and the
exit code. If the program makes a request that was not recorded, replay exits with code 76 and
shows the nearest recorded request.

Without PATH, replay runs the recorded program if it is in this directory, otherwise the project.
Recordings contain no secrets: replay reads them from the environment variables.`,
		Example: `  concerto run --record bug.tape triage.conc
  concerto runs replay bug.tape                replay the same program
  concerto runs replay bug.tape changed.conc   replay another program
  concerto runs replay job                     replay the stored run in job`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.replay(c.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	locate.AddEngineFlag(a, c)
	c.Flags().StringVar(&cmd.emit, "emit", "", "print emits as `FORM`: text, ndjson or none (default: as recorded)")
	return c
}

func (cmd *replayCommand) replay(parent context.Context, name, path string) error {
	if cmd.emit != "" {
		if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
			return err
		}
	}
	t, stored, err := cmd.openTape(parent, name)
	if err != nil {
		return err
	}
	var s driver.Request
	asStored := path == "" && stored != nil
	if !asStored {
		if s, err = TapeSource(cmd.console, t, path); err != nil {
			return err
		}
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	p, o, err := program.PrepareWith(cmd.console, &program.WorldFlags{}, signals, func(grants *permit.Grants) (*engine.Program, string, error) {
		if asStored {
			p, err := stored.Program()
			return p, stored.Root, err
		}
		return program.Open(ctx, cmd.console, s, &program.WorldFlags{}, grants)
	})
	if err != nil {
		return err
	}
	mode := t.Mode()
	if cmd.emit != "" {
		mode = emit.Modes[cmd.emit]
	}
	o.Output = engine.Output{To: cmd.console.Stdout, Mode: mode, Terminal: cmd.console.TTY.Out, Events: cmd.console.PrintEvent}
	unused, n, err := p.Replay(ctx, t, o)
	if n > 0 && err == nil {
		cmd.console.Complain("warning: "+program.UnusedEntries(unused, n), "")
	}
	return err
}

// openTape reads the tape in the file name. If name is a stored run, it creates a tape from the run
// and also returns the run.
func (cmd *replayCommand) openTape(ctx context.Context, name string) (*engine.Tape, *engine.StoredRun, error) {
	if console.IsFile(cmd.console.Abs(name)) {
		t, err := ReadTape(cmd.console, name)
		return t, nil, err
	}
	run, err := locate.Find(ctx, cmd.console, name, locate.Reader)
	if url, uerr := locate.EngineURL(cmd.console); err != nil && uerr == nil && url == "" {
		t, err := ReadTape(cmd.console, name) // the error explains how to create a tape
		return t, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	stored, err := OpenStored(cmd.console, run)
	if err != nil {
		return nil, nil, err
	}
	t, err := run.Tape()
	return t, stored, err
}

// OpenStored opens a stored run that this process does not execute.
func OpenStored(a *console.Console, run *locate.Run) (*engine.StoredRun, error) {
	if run.Engine == nil {
		return engine.OpenRun(run.Dir)
	}
	return engine.OpenSharedRun(run.Journal(), "", a.Dir)
}

// ReadTape reads the tape in a file.
func ReadTape(a *console.Console, file string) (*engine.Tape, error) {
	f, err := userfile.Open(a.Abs(file), userfile.MaxRecording)
	if err != nil {
		return nil, console.Usage("create it with `concerto run --record "+file+"`", "read %s: %v", file, console.Cause(err))
	}
	defer f.Close()
	t, err := engine.ReadTape(f)
	if err != nil {
		return nil, console.Modified("", "%s:%v", file, err)
	}
	return t, nil
}

// TapeSource returns the program to replay a tape with: the program at path if path is not empty,
// otherwise the recorded program if its file exists on this machine, otherwise the current
// project's program.
func TapeSource(a *console.Console, t *engine.Tape, path string) (driver.Request, error) {
	if path == "" && t.Program() != "" && console.IsFile(a.Abs(t.Program())) {
		path = t.Program()
	}
	return program.Source(a, path, nil)
}
