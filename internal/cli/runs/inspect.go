package runs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// inspectCommand is the command inspect with its options.
type inspectCommand struct {
	console *console.Console
	format  *cmdline.Format
	at      int64  // number of the effect to show; 0 without --at
	name    string // the run or tape, as the user gave it
}

func NewInspect(a *console.Console) *cobra.Command {
	cmd := inspectCommand{console: a}
	c := &cobra.Command{
		Use:   "inspect RUN|TAPE [PATH]",
		Short: "Inspect a run's effects and variables",
		Long: `Shows the effects of a stored run or a tape, and the program's variables at each. inspect replays
the recorded inputs: it performs no effects and does not change the run, which may be running. On
the terminal, → and ← move between effects, ↓ and ↑ between lines, and ? shows all keys.

With --format ndjson each effect is a line with effect (its number), task, kind, status (done,
none, unknown or pending), at (FILE:LINE:COLUMN), request, result and error. Secrets are shown by
their names. PATH is the program of a tape, by default the recorded one.`,
		Example: `  concerto runs inspect job
  concerto runs inspect job --format ndjson | jq -r 'select(.kind == "agent.call") | .at'
  concerto runs inspect job --at 7 --format ndjson   show effect 7 with calls and variables
  concerto runs inspect bug.tape triage.conc`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("at") && cmd.at < 1 {
				return console.Usage("effects are numbered from 1", "invalid value %d for --at", cmd.at)
			}
			cmd.name = args[0]
			return cmd.inspect(c.Context(), strings.Join(args[1:], ""))
		},
	}
	cmd.format = cmdline.AddFormatUsage(c, "show as `FORMAT`: text, on the terminal, or ndjson (default text)", "text", "ndjson")
	locate.AddEngineFlag(a, c)
	c.Flags().Int64Var(&cmd.at, "at", 0, "show the effect with number `N`")
	return c
}

func (cmd *inspectCommand) inspect(parent context.Context, path string) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	s, tape, err := cmd.open(ctx, path, signals)
	if err != nil {
		return err
	}
	if !cmd.format.IsText() {
		return cmd.writeEffects(ctx, s)
	}
	return cmd.view(ctx, s, tape, signals)
}

// open opens a stored run or a tape for inspection. tape is true for a tape.
func (cmd *inspectCommand) open(ctx context.Context, path string, signals *interrupt.Handler) (s *timetravel.Source, tape bool, err error) {
	s, run, err := openRecorded(ctx, cmd.console, cmd.name, path, signals)
	return s, run == nil, err
}

// openRecorded opens the stored run or the tape with a name. run is nil for a tape. path is the
// program of a tape, or "" for the recorded one.
func openRecorded(ctx context.Context, a *console.Console, name, path string, signals *interrupt.Handler) (s *timetravel.Source, run *locate.Run, err error) {
	if info, err := os.Stat(a.Abs(name)); err != nil || info.IsDir() {
		run, err := locate.Find(ctx, a, name, locate.Reader)
		if err != nil {
			return nil, nil, err
		}
		if path != "" {
			return nil, nil, console.Usage("leave out the path", "a stored run contains its program")
		}
		s, err = timetravel.Run(run.Journal(), a.Environ)
		return s, run, err // run is also set if it is damaged
	}
	t, err := runner.ReadTape(a, name)
	if err != nil {
		return nil, nil, err
	}
	from, err := runner.TapeSource(a, t, path)
	if err != nil {
		return nil, nil, err
	}
	from.Evals = t.IsSample()
	p, o, err := program.Prepare(ctx, a, from, &program.WorldFlags{}, signals)
	if err != nil {
		return nil, nil, err
	}
	if t.IsSample() {
		text, err := userfile.Read(a.Abs(name), userfile.MaxRecording)
		if err != nil {
			return nil, nil, console.Usage("", "read %s: %v", name, console.Cause(err))
		}
		x, err := p.WholeSample(ctx, text, o)
		if err != nil {
			return nil, nil, err
		}
		s, err = timetravel.Sample(bytes.NewReader(x.Tape), x.Program, a.Environ, timetravel.EvalCall{Edit: x.Edit, Function: x.Function, Row: x.Row, RowType: x.RowType})
		return s, nil, err
	}
	f, err := userfile.Open(a.Abs(name), userfile.MaxRecording)
	if err != nil {
		return nil, nil, console.Usage("", "read %s: %v", name, console.Cause(err))
	}
	defer f.Close()
	s, err = timetravel.Tape(f, p.Encode(), a.Environ)
	return s, nil, err
}

// writeEffects writes the effects of a run as one JSON object per line. With --at it writes only
// one effect, with its stack frames.
func (cmd *inspectCommand) writeEffects(ctx context.Context, s *timetravel.Source) error {
	r, err := s.Play(ctx, cmd.at)
	if r == nil {
		return err
	}
	if cmd.at > 0 {
		return cmd.writeEffect(r, err)
	}
	w := bufio.NewWriter(cmd.console.Stdout)
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
	return cmd.divergedError(err)
}

func (cmd *inspectCommand) writeEffect(r *timetravel.Recording, played error) error {
	for i := range r.Effects {
		if r.Effects[i].N == cmd.at {
			return cmd.console.WriteJSON(&r.Effects[i])
		}
	}
	if played != nil {
		return cmd.divergedError(played)
	}
	return cmd.noSuchEffect(r)
}

func (cmd *inspectCommand) noSuchEffect(r *timetravel.Recording) error {
	return console.Usage(fmt.Sprintf("`concerto runs inspect %s --format ndjson` lists its effects", cmd.name), "%s has no effect %d, only %d effects", cmd.name, cmd.at, len(r.Effects))
}

// divergedError replaces the error of a program that diverged from its recording by a message for
// the user.
func (cmd *inspectCommand) divergedError(err error) error {
	if d, ok := errors.AsType[*tape.DivergedError](err); ok {
		return console.Modified("give the version of the program that was recorded", "could not replay all of %s: %v", cmd.name, d)
	}
	return err
}
