package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// passed is the variable that has the programs which were passed over on the way to a tool: those
// of other relays, whose links would lead back.
const passed = "RELAY_PASSED"

// exitNotFound is a shell's exit code for a program that does not exist.
const exitNotFound = 127

// pass goes, within a run, past a link to us that has the name of a tool: to the next program of
// that name on PATH. Called by a name of ours, or by one that nothing else has, it does nothing.
func (a *app) pass(name string, args []string) (code int, done bool) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if a.env("RELAY_RUN_ID") == "" || err != nil || name == filepath.Base(exe) || name == "concerto-relay" || calledAs[name] != "" {
		return 0, false
	}
	over := append(filepath.SplitList(a.env(passed)), exe)
	path := a.next(name, over)
	switch {
	case path != "":
		env := append(slices.Clone(a.environ), passed+"="+strings.Join(over, string(filepath.ListSeparator)))
		err := become(path, append([]string{name}, args...), env)
		fmt.Fprintf(a.stderr, "%s: start %s: %v\n", name, path, err)
	case name == a.env("RELAY_TOOL"):
		fmt.Fprintf(a.stderr, "%s: it is a link to concerto-relay, and no other %s is on PATH\n", name, name)
	default:
		return 0, false
	}
	return exitNotFound, true
}

// next is the first program of a name on PATH that is none of those; "" when there is none.
func (a *app) next(name string, over []string) string {
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
