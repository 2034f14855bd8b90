// Package evals has the command eval, which compares and shows results of evals, and compares the
// decisions of programs with recorded runs.
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
)

// NewEval returns the command eval with its subcommands.
func NewEval(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "eval COMMAND",
		Short: "Compare results of evals, and decisions with recorded runs",
		Long: `A result contains the scores of a program on the cases of a dataset, as lines of JSON. It may be
written by hand; chapter 49 of the manual describes the format. eval replay needs no result: it
compares the decisions of a program with those in recorded runs.`,
		Example: `  concerto eval show evals/triages.ndjson
  concerto eval replay tapes
  concerto eval compare main/triages.ndjson evals/triages.ndjson`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
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
