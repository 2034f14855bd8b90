package runner

import (
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// FindRun returns the directory of a run: a directory, or an id below [run] journal.
// Errors about that run have the name by which it was found.
func FindRun(a *console.Console, run string) (string, error) {
	dir := a.Abs(run)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		a.RunName = run
		return dir, nil
	}
	if root, err := runsRoot(a); err == nil && root != "" {
		below := filepath.Join(root, filepath.Base(run))
		if info, err := os.Stat(below); err == nil && info.IsDir() {
			a.RunName = run
			return below, nil
		}
		return "", console.Usage("`concerto runs list` shows the runs", "there is no run %s, neither a directory of that name nor below %s", run, a.Relative(root))
	}
	return "", console.Usage("name the directory that was given to --journal", "there is no directory %s", run)
}

// runsRoot is where the manifest here or above has runs kept; "" when it does not.
func runsRoot(a *console.Console) (string, error) { return runs.Root(a.Dir) }

// RootOf is where runs are listed.
func RootOf(a *console.Console, args []string) (string, error) {
	if len(args) > 0 {
		dir := a.Abs(args[0])
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", console.Usage("name the directory below which runs are kept", "there is no directory %s", args[0])
		}
		return dir, nil
	}
	root, err := runsRoot(a)
	if err != nil {
		return "", err
	}
	if root == "" {
		return "", console.Usage("`concerto runs list DIR`, or [run] journal = \"runs\" in the manifest", "where are the runs? No manifest here says")
	}
	return root, nil
}
