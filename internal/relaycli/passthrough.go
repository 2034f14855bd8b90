package relaycli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
)

// passed is the environment variable with the paths of relay programs that passThrough has skipped
// on the way to a tool. Links may point to more than one relay program; without the list, two of
// them would execute each other forever.
const passed = "RELAY_PASSED"

// exitNotFound is the exit code of shells for a program that does not exist.
const exitNotFound = 127

// passThrough handles a call of this program through a link that has the name of a tool. Within a
// run, it replaces this process by the next program of that name on PATH. It returns done = false
// outside a run, under a name of the relay, and if PATH has no such program and name is not the
// run's tool.
func passThrough(a *console.Console, name string, args []string) (code int, done bool) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if a.Env("RELAY_RUN_ID") == "" || err != nil || name == filepath.Base(exe) || name == "concerto-relay" || calledAs[name] != "" {
		return 0, false
	}
	over := append(filepath.SplitList(a.Env(passed)), exe)
	path := nextProgram(a, name, over)
	switch {
	case path != "":
		env := append(slices.Clone(a.Environ), passed+"="+strings.Join(over, string(filepath.ListSeparator)))
		err := procgroup.Exec(path, append([]string{name}, args...), env)
		fmt.Fprintf(a.Stderr, "%s: start %s: %v\n", name, path, err)
	case name == a.Env("RELAY_TOOL"):
		fmt.Fprintf(a.Stderr, "%s: it is a link to concerto-relay, and no other %s is on PATH\n", name, name)
	default:
		return 0, false
	}
	return exitNotFound, true
}

// nextProgram returns the path of the first program on PATH that has this name and is not one of
// the files in over. It returns "" if there is none.
func nextProgram(a *console.Console, name string, over []string) string {
	for _, dir := range filepath.SplitList(a.Env("PATH")) {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !slices.ContainsFunc(over, func(other string) bool {
			was, err := os.Stat(other)
			return err == nil && os.SameFile(was, info)
		}) {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
