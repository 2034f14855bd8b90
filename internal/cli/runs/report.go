package runs

import (
	"bytes"
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
)

// reportCommand is the command report with its options.
type reportCommand struct {
	console      *console.Console
	format       *cmdline.Format
	out, content string
}

// contents are the values of --content.
var contents = []string{"all", "none"}

func NewReport(a *console.Console) *cobra.Command {
	cmd := reportCommand{console: a}
	c := &cobra.Command{
		Use:   "report RUN|TAPE|REPORT [PATH]",
		Short: "Show what a run did, and compare runs",
		Long: `Writes a report of a stored run or a tape: its state, its totals, every decision with who made it,
errors with their source lines, and the items that took longest. The run may be running, and may
have been killed. With --format json the report contains every item of the run. PATH is the program
of a tape, by default the recorded one.`,
		Example: `  concerto report job
  concerto report job --format json -o job.json
  concerto report bug.tape triage.conc`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := console.OneOf("--content", cmd.content, contents); err != nil {
				return err
			}
			path := ""
			if len(args) > 1 {
				path = args[1]
			}
			return cmd.run(c.Context(), args[0], path)
		},
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	c.Flags().StringVarP(&cmd.out, "output", "o", "", "write to `FILE`; - is stdout")
	c.Flags().StringVar(&cmd.content, "content", "all", "contents of the report: all, or none of the texts (`WHAT`; default all)")
	console.CompleteFlag(c, "content", func() []string { return contents })
	locate.AddEngineFlag(a, c)
	c.AddCommand(newReportDiff(a))
	return c
}

// newReportDiff returns the command report diff.
func newReportDiff(a *console.Console) *cobra.Command {
	cmd := reportCommand{console: a}
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two runs, and print the first difference",
		Long: `Compares two runs, tapes or reports, item by item, and names the first difference: a request, a
result, an answer, a status, or an item that only one run has. Times, numbers, ids of runs and
sessions, tokens and costs may differ. Exits with 0 if the runs are the same, and with 1 if not.`,
		Example: `  concerto report diff yesterday today
  concerto report diff good.tape bad.tape --format json`,
		Args: console.Arguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error { return cmd.compare(c.Context(), args) },
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

func (cmd *reportCommand) compare(parent context.Context, names []string) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	var sides []*report.Report
	for _, name := range names {
		r, err := BuildReport(ctx, cmd.console, name, "", signals)
		if err != nil {
			return err
		}
		sides = append(sides, r)
	}
	d := report.Compare(sides[0], sides[1])
	write := d.WriteText
	if !cmd.format.IsText() {
		write = d.WriteJSON
	}
	if err := write(cmd.console.Stdout); err != nil {
		return err
	}
	if !d.Same {
		return console.ExitError(1)
	}
	return nil
}

func (cmd *reportCommand) run(parent context.Context, name, path string) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	r, played := BuildReport(ctx, cmd.console, name, path, signals)
	if r == nil {
		return played
	}
	if cmd.content == "none" {
		r.WithoutContent()
	}
	r.Limit()
	var b bytes.Buffer
	write := r.WriteText
	if !cmd.format.IsText() {
		write = r.WriteJSON
	}
	if err := write(&b); err != nil {
		return err
	}
	if cmd.out == "" || cmd.out == "-" {
		if _, err := cmd.console.Stdout.Write(b.Bytes()); err != nil {
			return err
		}
	} else if err := console.WriteFile(cmd.console.Abs(cmd.out), b.Bytes()); err != nil {
		return console.Usage("", "write %s: %v", cmd.out, err)
	}
	return played
}

// BuildReport builds the report of a run or a tape, or reads a report. path is the program of a
// tape, or "" for the recorded one. If a run cannot be played to its end, BuildReport returns the
// report of the part before and the error.
func BuildReport(ctx context.Context, a *console.Console, name, path string, signals *interrupt.Handler) (*report.Report, error) {
	if info, err := os.Stat(a.Abs(name)); err == nil && info.Mode().IsRegular() {
		text, err := userfile.Read(a.Abs(name), userfile.MaxRecording)
		if err != nil {
			return nil, console.Usage("", "read %s: %v", name, console.Cause(err))
		}
		r, err := report.Read(text)
		if newer, ok := errors.AsType[*report.NewerError](err); ok {
			return nil, console.Usage("", "%s: %v", name, newer)
		}
		if err == nil {
			return r, nil
		}
		if _, err := tape.Read(bytes.NewReader(text)); err != nil {
			if wrong, ok := errors.AsType[*tape.SyntaxError](err); ok && wrong.Line == 1 {
				return nil, notRecorded(name)
			}
		}
	}
	s, run, err := openRecorded(ctx, a, name, path, signals)
	switch damaged, _ := errors.AsType[*journal.DamagedError](err); {
	case errors.Is(err, journal.ErrNoRun):
		return nil, notRecorded(name)
	case damaged != nil && run != nil:
		return buildDamaged(ctx, a, run, damaged)
	case err != nil:
		return nil, err
	}
	state := ""
	if run != nil {
		shown, err := runs.Show(run.Journal())
		if err != nil {
			return nil, err
		}
		state = shown.State
	}
	return report.Of(ctx, s, state)
}

// buildDamaged builds the report of the part of a run before its damage. It also returns the
// damage.
func buildDamaged(ctx context.Context, a *console.Console, run *locate.Run, damaged *journal.DamagedError) (*report.Report, error) {
	s, err := timetravel.Undamaged(run.Journal(), a.Environ)
	if err != nil {
		return nil, damaged
	}
	r, err := report.Of(ctx, s, durable.IsDamaged)
	if r == nil {
		return nil, err
	}
	r.Gaps = append(r.Gaps, "the journal is "+damaged.Error()+"; the report ends before")
	return r, damaged
}

// notRecorded returns the error for a file or a directory that is no source of a report.
func notRecorded(name string) error {
	return console.Usage("name a directory that was given to --journal, a file that was given to --record, or a report", "%s: not a run, tape or report", name)
}
