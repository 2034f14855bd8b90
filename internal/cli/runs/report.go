package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/telemetry"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/web/onepage"
)

// reportCommand is the command report with its options.
type reportCommand struct {
	console      *console.Console
	format       *cmdline.Format
	out, content string
	open         bool
}

// contents are the values of --content.
var contents = []string{"all", "none"}

func NewReport(a *console.Console) *cobra.Command {
	cmd := reportCommand{console: a}
	c := &cobra.Command{
		Use:   "report SOURCE [PATH]",
		Short: "Show what a run did, and compare runs",
		Long: `Writes a report of SOURCE, a stored run, a tape, a transcript or a report, as one HTML file: what
the run did and when, its conversations, decisions, errors and costs. The run may be running, and
may have been killed. Without -o the file has the name of the run; its path is printed. --format
text prints a summary, and --format json every item of the run. PATH is the program of a tape, by
default the recorded one.`,
		Example: `  concerto report job --open            write r_….html, and open it in a browser
  concerto report job --format text     print a summary
  concerto report job -o job.json       write the data
  concerto report bug.tape triage.conc  report what a tape of triage.conc contains`,
		Args: console.Arguments(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := console.OneOf("--content", cmd.content, contents); err != nil {
				return err
			}
			path := ""
			if len(args) > 1 {
				path = args[1]
			}
			format := cmd.format.String()
			if !c.Flags().Changed("format") {
				format = program.ReportForm(cmd.out)
			}
			return cmd.run(c.Context(), args[0], path, format)
		},
	}
	cmd.format = cmdline.AddFormatUsage(c, "write as `FORMAT`: html, json or text (default: as -o, else html)", "html", "json", "text")
	c.Flags().StringVarP(&cmd.out, "output", "o", "", "write to `FILE`; - is stdout (default: html to RUN.html, others to stdout)")
	c.Flags().BoolVar(&cmd.open, "open", false, "open the file in a browser")
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

func (cmd *reportCommand) run(parent context.Context, name, path, format string) error {
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
	text, err := program.EncodeReport(r, format)
	if err != nil {
		return err
	}
	out := cmd.out
	if out == "" && (format == "html" || cmd.open) {
		out = defaultFile(r, name) + map[string]string{"html": ".html", "json": ".json", "text": ".txt"}[format]
	}
	if err := cmd.write(out, text); err != nil {
		return err
	}
	if cmd.open && out != "-" {
		cmd.console.OpenInBrowser(ctx, cmd.console.Abs(out))
	}
	return played
}

// defaultFile returns the name of the file of a report without its extension: the id of the run, or
// the name of the file from which the report was built.
func defaultFile(r *report.Report, name string) string {
	if r.Run.ID != "" && r.Run.Source != report.FromTape && r.Run.Source != report.FromTranscript {
		return r.Run.ID
	}
	base := filepath.Base(name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// write writes the report. If -o does not name the file, it prints the path.
func (cmd *reportCommand) write(out string, text []byte) error {
	if out == "" || out == "-" {
		_, err := cmd.console.Stdout.Write(text)
		return err
	}
	if err := program.WriteReport(cmd.console, out, text); err != nil {
		return err
	}
	if cmd.out == "" {
		fmt.Fprintln(cmd.console.Stdout, out)
	}
	return nil
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
		if data, err := onepage.ReadData(text, userfile.MaxRecording); err == nil {
			text = data
		}
		r, err := report.Read(text)
		if newer, ok := errors.AsType[*report.NewerError](err); ok {
			return nil, console.Usage("", "%s: %v", name, newer)
		}
		if err == nil {
			return r, nil
		}
		if r, ok := report.OfTranscript(text); ok {
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
	r, played := report.Of(ctx, s, state)
	if r != nil && run != nil && run.Dir != "" {
		r.SetTrace(telemetry.TraceOf(run.Dir, r.Run.ID))
	}
	return r, played
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
	if filepath.Ext(name) == ".conc" {
		return console.Usage(fmt.Sprintf("run it with `concerto run %s --journal DIR`, and name DIR", name), "%s is a program, not a run, tape, transcript or report", name)
	}
	return console.Usage("name a directory that was given to --journal, a file that was given to --record, or a report", "%s: not a run, tape, transcript or report", name)
}
