package evals

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// showCommand is the command eval show with its options.
type showCommand struct {
	console *console.Console
	id      string // --case; any case without the flag
	hasID   bool
	failed  bool
}

// newShow returns the command eval show.
func newShow(a *console.Console) *cobra.Command {
	cmd := showCommand{console: a}
	c := &cobra.Command{
		Use:   "show RESULT",
		Short: "Show the metrics or the samples of a result",
		Long: `Prints the metrics of RESULT. With --case or --failed, it prints samples instead: their row, scores,
reasons, error and tape.`,
		Example: `  concerto eval show evals/triages.ndjson
  concerto eval show evals/triages.ndjson --failed
  concerto eval show evals/triages.ndjson --case t-17`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			cmd.hasID = c.Flags().Changed("case")
			return cmd.run(args[0])
		},
	}
	c.Flags().StringVar(&cmd.id, "case", "", "show the samples of the case `ID`")
	c.Flags().BoolVar(&cmd.failed, "failed", false, "show the samples that failed or have an error")
	c.ValidArgsFunction = console.CompleteFiles(strings.TrimPrefix(result.Ext, "."))
	return c
}

func (cmd *showCommand) run(path string) error {
	if isDir(cmd.console, path) {
		hint := "it contains no results"
		if names := resultFiles(cmd.console, path); len(names) > 0 {
			hint = "it contains " + strings.Join(names, ", ")
		}
		return console.Usage(hint, "%s is a directory, not a result", path)
	}
	r, err := readResult(cmd.console, path)
	if err != nil {
		return newRefusal(err)
	}
	if cmd.hasID || cmd.failed {
		return cmd.showSamples(r)
	}
	pairs := []summary.Pair{{Current: summary.Side{Path: path, Result: r}}}
	report, err := summary.New(pairs, summary.Options{Judged: readOthers(cmd.console, pairs)})
	if err != nil {
		return err
	}
	return printed(writeReport(cmd.console, report, pairs))
}

// showSamples prints the selected samples.
func (cmd *showCommand) showSamples(r *result.Result) error {
	var b strings.Builder
	var ids []string
	isKnown := !cmd.hasID
	for _, s := range r.Samples {
		ids = append(ids, s.Case)
		if cmd.hasID && s.Case != cmd.id {
			continue
		}
		isKnown = true
		if cmd.failed && s.Status == result.StatusScored {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		cmd.formatSample(&b, r, s)
	}
	if !isKnown {
		hint := "`concerto eval show` without --case shows the metrics of all cases"
		if near := suggest.Nearest(cmd.id, ids); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return console.Usage(hint, "the result has no case %q", cmd.id)
	}
	if b.Len() == 0 {
		b.WriteString("no sample failed\n")
	}
	_, err := fmt.Fprint(cmd.console.Stdout, b.String())
	return printed(err)
}

// formatSample writes a sample: a line with its case, and one for each part.
func (cmd *showCommand) formatSample(b *strings.Builder, r *result.Result, s *result.Sample) {
	var names, texts []string
	add := func(name, text string) {
		names = append(names, terminal.OneLine(name))
		texts = append(texts, terminal.OneLine(text))
	}
	if s.Row != nil {
		add("row", string(s.Row))
	}
	for _, m := range r.Metrics {
		text := "-"
		switch score := s.Scores[m.Name]; {
		case score.Kind == result.KindBool:
			text = fmt.Sprint(score.Value == 1)
		case score.Kind == result.KindNumber:
			text = fmt.Sprint(score.Value)
		case s.Status == result.StatusFailed && m.Kind == result.KindBool:
			text = "false"
		}
		if why := s.Why[m.Name]; why != "" {
			text += "  " + why
		}
		add(m.Name, text)
	}
	if e := s.Error; e != nil {
		text := strings.TrimPrefix(e.Kind+": "+e.Message, ": ")
		if e.At != "" {
			text += " (" + e.At + ")"
		}
		add("error", text)
	}
	var used []string
	if s.MS != nil {
		used = append(used, formatNumber(*s.MS)+" ms")
	}
	if s.CostUSD != nil {
		used = append(used, "$"+formatNumber(*s.CostUSD))
	}
	if used != nil {
		add("used", strings.Join(used, ", "))
	}
	if s.Tape != "" {
		add("tape", s.Tape)
	}
	fmt.Fprintf(b, "case %s, repetition %d: %s\n", terminal.OneLine(s.Case), s.Rep, s.Status)
	width := 0
	for _, name := range names {
		width = max(width, terminal.Width(name))
	}
	for i, name := range names {
		fmt.Fprintf(b, "  %s%s  %s\n", name, strings.Repeat(" ", width-terminal.Width(name)), texts[i])
	}
}
