package evals

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/ir"
)

// compareCommand is the command eval compare with its options.
type compareCommand struct {
	console *console.Console
	format  *cmdline.Format
	gate    []string
	margin  float64
	alpha   float64
}

// newCompare returns the command eval compare.
func newCompare(a *console.Console) *cobra.Command {
	cmd := compareCommand{console: a}
	c := &cobra.Command{
		Use:   "compare BASELINE RESULT",
		Short: "Compare a result with a baseline",
		Long: `Compares RESULT with BASELINE, case by case, and decides for each metric whether it is worse. Both
are results, or directories: then files of the same name are compared.

Exit codes: 0 no worse, 1 a metric is worse, 2 a result has samples with errors or cannot be
compared, 3 inconclusive: more cases are necessary, and the report states how many.`,
		Example: `  concerto eval compare main/triages.ndjson evals/triages.ndjson
  concerto eval compare main evals --margin 0.03            compare two directories
  concerto eval compare main evals --gate correct,cost_usd  decide by these metrics only`,
		Args: console.Arguments(2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			err := cmd.run(c, args[0], args[1])
			if exit, ok := errors.AsType[console.ExitError](err); ok || err == nil || cmd.format.IsText() {
				if ok {
					return exit
				}
				return err
			}
			if written := a.WriteJSON(newFailure(err)); written != nil {
				return written
			}
			return err
		},
	}
	c.Flags().StringSliceVar(&cmd.gate, "gate", nil, "decide by the metrics `NAME,…`, which may be cost_usd, latency_ms and tokens")
	c.Flags().Float64Var(&cmd.margin, "margin", 0, "accept a loss of `X`, in the unit of each metric (default: that of the result)")
	c.Flags().Float64Var(&cmd.alpha, "alpha", 0.05, "accept that a share `X` of equal programs is found worse (default 0.05)")
	cmd.format = cmdline.AddFormat(c, "text", "json")
	c.ValidArgsFunction = console.CompleteFiles(strings.TrimPrefix(result.Ext, "."))
	return c
}

// failure is what `--format json` prints if nothing could be compared.
type failure struct {
	Eval  int `json:"eval"`
	Error struct {
		Message   string     `json:"message"`
		Locations []location `json:"locations"`
	} `json:"error"`
	Exit int `json:"exit"`
}

// location is the place of an error.
type location struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func newFailure(err error) failure {
	f := failure{Eval: result.Version, Exit: console.ExitRefused}
	f.Error.Message = err.Error()
	f.Error.Locations = []location{}
	if e, ok := errors.AsType[*result.ReadError](err); ok && e.Line > 0 {
		f.Error.Locations = append(f.Error.Locations, location{e.File, e.Line, e.Err.Error()})
	}
	if e, ok := errors.AsType[*dataset.Error](err); ok {
		for _, r := range e.Rows {
			f.Error.Locations = append(f.Error.Locations, location{r.File, r.Line, r.Message})
		}
	}
	if e, ok := errors.AsType[*engine.SampleFailure](err); ok && e.Place.File != "" {
		f.Error.Locations = append(f.Error.Locations, location{e.Place.File, e.Place.Line, e.Message})
	}
	if e, ok := errors.AsType[*compileError](err); ok {
		for _, d := range e.found.Sorted() {
			if d.Severity() == diag.Error {
				f.Error.Locations = append(f.Error.Locations, location{d.File.Name, d.File.Position(d.Span.Start).Line, d.Message})
			}
		}
	}
	return f
}

func (cmd *compareCommand) run(c *cobra.Command, baseline, current string) error {
	o := summary.Options{Alpha: cmd.alpha}
	if !(cmd.alpha > 0 && cmd.alpha < 0.5) {
		return console.Usage("", "invalid value %v for --alpha: must be above 0 and below 0.5", cmd.alpha)
	}
	if c.Flags().Changed("margin") {
		if !(cmd.margin >= 0 && cmd.margin <= ir.MaxMetric) {
			return console.Usage("", "invalid value %v for --margin: must be a number that is not negative", cmd.margin)
		}
		o.Margin = &cmd.margin
	}
	pairs, err := cmd.pairs(baseline, current)
	if err != nil {
		return err
	}
	if c.Flags().Changed("gate") {
		o.Gate = cmd.gate
		if len(cmd.gate) == 0 {
			o.Gate = []string{""}
		}
		names := summary.Names(pairs)
		for _, name := range o.Gate {
			if err := console.OneOf("--gate", name, names); err != nil {
				return err
			}
		}
	}
	o.Judged = readOthers(cmd.console, pairs)
	report, err := summary.New(pairs, o)
	if err != nil {
		return newRefusal(err)
	}
	report.Dir = current
	if !isDir(cmd.console, current) {
		report.Dir = filepath.Dir(current)
	}
	if cmd.format.IsText() {
		err = writeReport(cmd.console, report, pairs)
	} else {
		err = cmd.console.WriteJSON(report)
	}
	if err == nil && report.Exit != 0 {
		return console.ExitError(report.Exit)
	}
	return printed(err)
}

// refusal is an error of a result. It ends the command like a wrong command line.
type refusal struct{ usage, cause error }

func (e *refusal) Error() string   { return e.usage.Error() }
func (e *refusal) Unwrap() []error { return []error{e.usage, e.cause} }

// newRefusal returns the error of a command whose results cannot be used.
func newRefusal(err error) error {
	return &refusal{console.Usage("", "%v", err), err}
}

// pairs reads the results that the arguments name.
func (cmd *compareCommand) pairs(baseline, current string) ([]summary.Pair, error) {
	isCurrentDir := isDir(cmd.console, current)
	if isDir(cmd.console, baseline) != isCurrentDir && cmd.allExist(baseline, current) {
		return nil, console.Usage("name two results, or two directories", "one of %s and %s is a directory, and the other is not", baseline, current)
	}
	if !isCurrentDir {
		p, err := cmd.pair(baseline, current)
		return []summary.Pair{p}, err
	}
	before, now := resultFiles(cmd.console, baseline), resultFiles(cmd.console, current)
	var pairs []summary.Pair
	for _, name := range now {
		if !slices.Contains(before, name) {
			cmd.warnMissing(filepath.Join(current, name), baseline)
			continue
		}
		p, err := cmd.pair(filepath.Join(baseline, name), filepath.Join(current, name))
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	for _, name := range before {
		if !slices.Contains(now, name) {
			cmd.warnMissing(filepath.Join(baseline, name), current)
		}
	}
	if len(pairs) == 0 {
		return nil, console.Usage("results are files that end in "+result.Ext, "%s and %s contain no results of the same name", baseline, current)
	}
	return pairs, nil
}

// warnMissing warns that a result has no counterpart in the other directory.
func (cmd *compareCommand) warnMissing(path, other string) {
	if !cmd.console.Quiet {
		cmd.console.Complain(fmt.Sprintf("warning: %s is not compared: %s has no such file", path, other), "")
	}
}

// allExist reports whether all paths exist.
func (cmd *compareCommand) allExist(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool { return !isDir(cmd.console, path) && !console.IsFile(cmd.console.Abs(path)) })
}

func (cmd *compareCommand) pair(baseline, current string) (p summary.Pair, err error) {
	p.Baseline.Path, p.Current.Path = baseline, current
	for _, side := range []*summary.Side{&p.Baseline, &p.Current} {
		if side.Result, err = readResult(cmd.console, side.Path); err != nil {
			return p, newRefusal(err)
		}
	}
	return p, nil
}
