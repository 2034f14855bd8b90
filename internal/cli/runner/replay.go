package runner

import (
	"bytes"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/runs"
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
		Short: "Run a program on what a recorded run got",
		Long: `Runs a program on the tape of a run, which ` + "`concerto run --record TAPE`" + ` wrote:
what models, hosts, tools, files, clocks and people gave then is given again. No
network, no subprocess, no file and no clock is touched; what the run put out on
stdout is put out again, byte by byte, and the exit code is the same.

A run that is kept (` + "`concerto run --journal`" + `) is replayed from its journal, as far as that
goes: its program is the one that is kept with it.

  concerto run --record bug.tape triage.conc
  concerto runs replay bug.tape                the same program
  concerto runs replay bug.tape changed.conc   another one, on the same answers
  concerto runs replay job                     the run that is kept in job

The program may have changed, and the tape may be edited: an effect of the program
gets the next line of the tape whose request is the same. Where there is none the
replay ends with exit code 76 and the difference to the nearest line.

Without PATH it is the recorded program, where it lies here; else the Concerto.toml
here or above decides. Secrets are not on a tape: their variables are read, and
where one is not set its mark stands.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return cmd.replay(c.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	c.Flags().StringVar(&cmd.emit, "emit", "", "`FORM` of emits on stdout: text, ndjson or none (default: that of the recorded run)")
	return c
}

func (cmd *replayCommand) replay(parent context.Context, name, path string) error {
	if cmd.emit != "" {
		if err := console.OneOf("--emit", cmd.emit, program.ModeNames); err != nil {
			return err
		}
	}
	t, stored, err := cmd.openTape(name)
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
	o.Output = engine.Output{To: cmd.console.Stdout, Mode: mode, Terminal: cmd.console.TTY.Out}
	unused, n, err := p.Replay(ctx, t, o)
	if n > 0 && err == nil {
		cmd.console.Complain("warning: "+program.NotUsed(unused, n), "")
	}
	return err
}

// openTape reads the tape in a file, or makes one of a stored run, which it then also returns.
func (cmd *replayCommand) openTape(name string) (*engine.Tape, *engine.StoredRun, error) {
	if console.IsFile(cmd.console.Abs(name)) {
		t, err := ReadTape(cmd.console, name)
		return t, nil, err
	}
	dir, err := FindRun(cmd.console, name)
	if err != nil {
		t, err := ReadTape(cmd.console, name) // whose error says how to get one
		return t, nil, err
	}
	stored, err := engine.OpenRun(dir)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := runs.Tape(dir, &text); err != nil {
		return nil, nil, err
	}
	t, err := engine.ReadTape(&text)
	if err != nil {
		return nil, nil, console.Broken("", "%s: %v", name, err)
	}
	return t, stored, nil
}

// ReadTape reads the tape in a file.
func ReadTape(a *console.Console, file string) (*engine.Tape, error) {
	f, err := userfile.Open(a.Abs(file), userfile.MaxRecording)
	if err != nil {
		return nil, console.Usage("`concerto run --record FILE` writes one", "read %s: %v", file, console.Cause(err))
	}
	defer f.Close()
	t, err := engine.ReadTape(f)
	if err != nil {
		return nil, console.Broken("", "%s:%v", file, err)
	}
	return t, nil
}

// TapeSource returns the program to play a tape on: that of path, else the recorded one if it is here,
// else the project's.
func TapeSource(a *console.Console, t *engine.Tape, path string) (driver.Request, error) {
	if path == "" && t.Program() != "" && console.IsFile(a.Abs(t.Program())) {
		path = t.Program()
	}
	return program.Source(a, path, nil)
}
