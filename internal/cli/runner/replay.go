package runner

import (
	"bytes"
	"context"

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

func NewReplay(a *console.Console) *cobra.Command {
	var form string
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
  concerto replay bug.tape                the same program
  concerto replay bug.tape changed.conc   another one, on the same answers
  concerto replay job                     the run that is kept in job

The program may have changed, and the tape may be edited: an effect of the program
gets the next line of the tape whose request is the same. Where there is none the
replay ends with exit code 76 and the difference to the nearest line.

Without PATH it is the recorded program, where it lies here; else the Concerto.toml
here or above decides. Secrets are not on a tape: their variables are read, and
where one is not set its mark stands.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			path := ""
			if len(args) == 2 {
				path = args[1]
			}
			return replay(c.Context(), a, args[0], path, form)
		},
	}
	c.Flags().StringVar(&form, "emit", "", "`FORM` of emits on stdout: text, ndjson or none (default: that of the recorded run)")
	return c
}

func replay(parent context.Context, a *console.Console, file, path, form string) error {
	if form != "" {
		if err := console.OneOf("--emit", form, program.ModeNames); err != nil {
			return err
		}
	}
	t, own, err := played(a, file)
	if err != nil {
		return err
	}
	if path == "" && own == nil {
		if name := t.Program(); name != "" && console.IsFile(a.Abs(name)) {
			path = name
		}
	}
	var s driver.Request
	if path != "" || own == nil {
		if s, err = program.Source(a, path, nil); err != nil {
			return err
		}
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	a.Interrupt = signals.Interrupt
	p, o, err := program.PrepareWith(a, &program.WorldFlags{}, signals, func(grants *permit.Grants) (*engine.Program, string, error) {
		if path == "" && own != nil {
			p, err := own.Program()
			return p, own.Root, err
		}
		return program.Open(ctx, a, s, &program.WorldFlags{}, grants)
	})
	if err != nil {
		return err
	}
	mode := t.Mode()
	if form != "" {
		mode = emit.Modes[form]
	}
	o.Output = engine.Output{To: a.Stdout, Mode: mode, Terminal: a.OutTerminal}
	unused, n, err := p.Replay(ctx, t, o)
	if n > 0 && err == nil {
		a.Complain("warning: "+program.NotUsed(unused, n), "")
	}
	return err
}

// played is the tape in a file, or that of a run that is kept.
func played(a *console.Console, name string) (*engine.Tape, *engine.StoredRun, error) {
	if console.IsFile(a.Abs(name)) {
		t, err := ReadTape(a, name)
		return t, nil, err
	}
	dir, err := FindRun(a, name)
	if err != nil {
		t, err := ReadTape(a, name) // whose error says how to get one
		return t, nil, err
	}
	own, err := engine.OpenRun(dir)
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
	return t, own, nil
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
