package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

const inspectHelp = `Looks into a run that is kept, also while it is in progress, or into the tape of one:
which effects it made, from where, and what the program's variables held then. The run is
played from what is recorded; nothing of the world is touched, and the run stays as it is.

  concerto inspect job                     on the terminal: → ← go from effect to effect,
                                           ↓ ↑ from line to line, ? shows all keys
  concerto inspect job --json              a line for each effect
  concerto inspect job --at 7 --json       effect 7, with the calls under way and their variables
  concerto inspect bug.tape triage.conc    what a tape says of a program

RUN is a run's directory, or its id where the manifest says [run] journal. To a tape belongs
the program PATH; without it the recorded one, where it lies here, or the manifest's.

Each line has effect (its number), task, kind, status (done, none: it did not happen,
unknown, pending), at (FILE:LINE:COLUMN in the program), request and result; error, where it
failed. Secrets are shown by their names.

  concerto inspect job --json | jq -r 'select(.kind == "agent.call") | .at'`

func NewInspect(a *console.Console) *cobra.Command {
	var asJSON bool
	var at int64
	c := &cobra.Command{
		Use:   "inspect RUN|TAPE [PATH]",
		Short: "Look into a recorded run: its effects, and its variables at each",
		Long:  inspectHelp,
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("at") && at < 1 {
				return console.Usage("an effect's number is 1 or more", "--at cannot be %d", at)
			}
			path := ""
			if len(args) == 2 {
				path = args[1]
			}
			ctx, signals := interrupt.Catch(c.Context())
			defer signals.Stop()
			a.Interrupt = signals.Interrupt
			s, tape, err := openRecorded(ctx, a, args[0], path, signals)
			if err != nil {
				return err
			}
			if !asJSON {
				return viewRecorded(ctx, a, s, args[0], tape, at, signals)
			}
			return inspect(ctx, a, s, args[0], at)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "write a line of JSON for each effect")
	c.Flags().Int64Var(&at, "at", 0, "the effect with number `N`")
	return c
}

// openRecorded finds a run that is kept, or one on a tape with its program, and says which.
func openRecorded(ctx context.Context, a *console.Console, name, path string, signals *interrupt.Handler) (s *timetravel.Source, tape bool, err error) {
	if info, err := os.Stat(a.Abs(name)); err != nil || info.IsDir() {
		dir, err := runner.FindRun(a, name)
		if err != nil {
			return nil, false, err
		}
		if path != "" {
			return nil, false, console.Usage("leave the path out", "a run that is kept has its program with it")
		}
		s, err = timetravel.Run(dir, a.Environ)
		return s, false, err
	}
	t, err := runner.ReadTape(a, name)
	if err != nil {
		return nil, false, err
	}
	if path == "" && t.Program() != "" && console.IsFile(a.Abs(t.Program())) {
		path = t.Program()
	}
	from, err := program.Source(a, path, nil)
	if err != nil {
		return nil, false, err
	}
	p, _, err := program.Prepare(ctx, a, from, &program.WorldFlags{}, signals)
	if err != nil {
		return nil, false, err
	}
	f, err := userfile.Open(a.Abs(name), userfile.MaxRecording)
	if err != nil {
		return nil, false, console.Usage("", "read %s: %v", name, console.Cause(err))
	}
	defer f.Close()
	s, err = timetravel.Tape(f, p.Encode(), a.Environ)
	return s, true, err
}

// inspect writes a run's effects as lines of JSON, or one with its frames.
func inspect(ctx context.Context, a *console.Console, s *timetravel.Source, name string, at int64) error {
	r, err := s.Play(ctx, at)
	if r == nil {
		return err
	}
	if at > 0 {
		return inspectOne(a, r, name, at, err)
	}
	w := bufio.NewWriter(a.Stdout)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range r.Effects {
		if err := e.Encode(&r.Effects[i]); err != nil {
			return err
		}
	}
	if werr := w.Flush(); werr != nil {
		return werr
	}
	return strayed(a, name, err)
}

func inspectOne(a *console.Console, r *timetravel.Recording, name string, at int64, played error) error {
	for i := range r.Effects {
		if r.Effects[i].N == at {
			return a.WriteJSON(&r.Effects[i])
		}
	}
	if played != nil {
		return strayed(a, name, played)
	}
	return noSuchEffect(name, at, int64(len(r.Effects)))
}

// strayed says that a program is not that of a recorded run.
func strayed(a *console.Console, name string, err error) error {
	if d, ok := errors.AsType[*tape.DivergedError](err); ok {
		return console.Broken("the program is another one than was recorded", "%s cannot be played further: %v", name, d)
	}
	return err
}
