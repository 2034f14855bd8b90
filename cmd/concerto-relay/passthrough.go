package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passed is the environment variable with the programs that were skipped on the way to a tool:
// those of other relays, whose links would lead back.
const passed = "RELAY_PASSED"

// exitNotFound is a shell's exit code for a program that does not exist.
const exitNotFound = 127

// passThrough executes, within a run, the next program on PATH if the command was called by a link
// with the name of a tool. Called by a name of the relay, or if PATH has no other program of that
// name, it does nothing.
func (a *app) passThrough(name string, args []string) (code int, done bool) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if a.env("RELAY_RUN_ID") == "" || err != nil || name == filepath.Base(exe) || name == "concerto-relay" || calledAs[name] != "" {
		return 0, false
	}
	over := append(filepath.SplitList(a.env(passed)), exe)
	path := a.nextProgram(name, over)
	switch {
	case path != "":
		env := append(slices.Clone(a.environ), passed+"="+strings.Join(over, string(filepath.ListSeparator)))
		err := execProgram(path, append([]string{name}, args...), env)
		fmt.Fprintf(a.stderr, "%s: start %s: %v\n", name, path, err)
	case name == a.env("RELAY_TOOL"):
		fmt.Fprintf(a.stderr, "%s: it is a link to concerto-relay, and no other %s is on PATH\n", name, name)
	default:
		return 0, false
	}
	return exitNotFound, true
}

// nextProgram returns the first program of a name on PATH that is not in over, or "".
func (a *app) nextProgram(name string, over []string) string {
	for _, dir := range filepath.SplitList(a.env("PATH")) {
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
