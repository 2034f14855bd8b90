package runner

import (
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine/runs"
)

// FindRun returns the directory of a run, which is given as a directory or an id below [run]
// journal. Errors about the run contain the given name.
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

// runsRoot returns the directory of stored runs in the manifest here or above, or "".
func runsRoot(a *console.Console) (string, error) { return runs.Root(a.Dir) }

// ResolveRoot returns the directory of runs: the first argument, or else that of the manifest.
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
