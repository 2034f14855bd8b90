// Package evals has the command eval, which runs evals, compares and shows their results, and
// compares the decisions of programs with recorded runs.
package evals

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// NewEval returns the command eval with its subcommands.
func NewEval(a *console.Console) *cobra.Command {
	cmd := runCommand{console: a}
	c := &cobra.Command{
		Use:   "eval [PATH]",
		Short: "Run evals, and compare results and policies",
		Long: `Runs each @eval function on the rows of its dataset, and reports its metrics with their uncertainty.
Each sample has a tape: what is on it is not requested again. To continue an eval that was stopped,
run the same command again.

Exit codes, if the result is compared with a baseline or with another model: 0 no worse, 1 a metric
is worse, 2 errors, 3 inconclusive: more cases are necessary. Otherwise 0 or 2.`,
		Example: `  concerto eval                               evaluate the project in this directory or above
  concerto eval --repeat 5 --parallel 8       run each case five times, eight samples at a time
  concerto eval --baseline main-evals         compare with the results in a directory
  concerto eval --model small,large           compare two models
  concerto eval show evals/triages.ndjson     show a result`,
		RunE: cmd.runEvals,
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 && !isDir(a, args[0]) && !console.IsFile(a.Abs(args[0])) {
			for _, sub := range c.Commands() {
				if suggest.Nearest(args[0], []string{sub.Name()}) != "" {
					return console.UnknownCommand(c, args)
				}
			}
		}
		return console.OnePath(false)(c, args)
	}
	cmd.addFlags(c)
	c.AddCommand(newCompare(a), newShow(a), newReplay(a))
	return c
}

// readResult reads the result in a file. Its errors are those of a wrong command line.
func readResult(a *console.Console, path string) (*result.Result, error) {
	data, err := userfile.Read(a.Abs(path), userfile.MaxRecording)
	if err != nil {
		return nil, &result.ReadError{File: path, Err: console.Cause(err)}
	}
	return result.Read(path, data)
}

// readOthers returns the other results in the directory of the current results, because their
// agreements validate judges. It reads nothing if no sample has a judge, and skips files that are
// no results.
func readOthers(a *console.Console, pairs []summary.Pair) []*result.Result {
	if len(pairs) == 0 || !hasJudges(pairs) {
		return nil
	}
	dir := filepath.Dir(pairs[0].Current.Path)
	var others []*result.Result
	for _, name := range resultFiles(a, dir) {
		isCurrent := func(p summary.Pair) bool { return filepath.Base(p.Current.Path) == name }
		if slices.ContainsFunc(pairs, isCurrent) {
			continue
		}
		if other, err := readResult(a, filepath.Join(dir, name)); err == nil {
			others = append(others, other)
		}
	}
	return others
}

// hasJudges reports whether a current result has scores of judges.
func hasJudges(pairs []summary.Pair) bool {
	return slices.ContainsFunc(pairs, func(p summary.Pair) bool {
		return slices.ContainsFunc(p.Current.Result.Samples, func(s *result.Sample) bool { return len(s.Judges) > 0 })
	})
}

// resultFiles returns the names of the results in a directory, in order.
func resultFiles(a *console.Console, dir string) []string {
	entries, _ := os.ReadDir(a.Abs(dir)) // without entries the directory has no results
	var names []string
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == result.Ext {
			names = append(names, e.Name())
		}
	}
	return names
}

// isDir reports whether a path is a directory.
func isDir(a *console.Console, path string) bool {
	info, err := os.Stat(a.Abs(path))
	return err == nil && info.IsDir()
}

// printed returns the error for output that could not be printed. Its exit code is that of errors,
// because 1 is a verdict.
func printed(err error) error {
	if err == nil {
		return nil
	}
	return console.Usage("", "could not print the output: %v", console.Cause(err))
}
