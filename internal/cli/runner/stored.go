package runner

import (
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// FindRun returns the directory of a stored run. run is a directory, or the id of a run below the
// manifest's [run] journal. Errors contain run as given.
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
		return "", console.Usage("`concerto runs list` lists the runs", "run %s not found: no such directory, and no such id below %s", run, a.Relative(root))
	}
	return "", console.Usage("name the directory that was given to --journal", "no such directory: %s", run)
}

// runsRoot returns the directory of stored runs that the nearest manifest names. It searches the
// working directory and its parents, and returns "" if there is none.
func runsRoot(a *console.Console) (string, error) { return runs.Root(a.Dir) }

// ResolveRoot returns the directory of stored runs: the first argument, or the directory in the
// manifest if there is no argument.
func ResolveRoot(a *console.Console, args []string) (string, error) {
	if len(args) > 0 {
		dir := a.Abs(args[0])
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return "", console.Usage("name the directory that contains the runs", "no such directory: %s", args[0])
		}
		return dir, nil
	}
	root, err := runsRoot(a)
	if err != nil {
		return "", err
	}
	if root == "" {
		return "", console.Usage("give a directory, such as `concerto runs list runs`, or set [run] journal in the manifest", "no directory of runs: the manifest here or above does not set [run] journal")
	}
	return root, nil
}
