package help

//go:generate go run ./gen ../../../spec/18-cli.md

import (
	"fmt"
	"strings"
)

// feature is a part of Concerto that the operating systems support differently.
type feature struct {
	// Name identifies the feature in `version --format json`, or is "".
	Name  string
	Title string
	// Linux, MacOS and Windows state how the system supports the feature, or no.
	Linux, MacOS, Windows string
}

// Forms of support that need no explanation.
const (
	yes = "yes"
	no  = "no"
)

// features are the rows of the table in the manual, from which `version --format json` is made too.
var features = []feature{
	{"", "check, compile, run and test programs; agents, HTTP, stores, stored runs, tapes, reports, editors", yes, yes, yes},
	{"", "commands by name", "`PATH`", "`PATH`", "`PATH` and `PATHEXT`"},
	{"", "locks of stored runs, stores and audit logs", "flock", "flock", "LockFileEx"},
	{"", "hosts, commands and MCP servers as processes, which end with the run", "process groups, subreaper", "process groups", no},
	{"terminal", "`inspect` and `top`, which read single keys", yes, yes, no},
	{"keeper", "hosts that continue after the process of their run has ended", yes, yes, no},
	{"hostd", "the daemon of the relay, and its terminals", yes, yes, no},
	{"sandbox", "sandboxes for tools and hosts", "Landlock, namespaces", no, no},
}

// supports returns, for each feature with a name, whether a system supports it. system is a value
// of runtime.GOOS.
func supports(system string) map[string]bool {
	all := map[string]bool{}
	for _, f := range features {
		if f.Name != "" {
			all[f.Name] = f.on(system) != no
		}
	}
	return all
}

// on returns how a system supports the feature. A system that is not in the table counts as one
// that supports nothing that differs between systems.
func (f *feature) on(system string) string {
	switch system {
	case "linux":
		return f.Linux
	case "darwin":
		return f.MacOS
	case "windows":
		return f.Windows
	}
	return no
}

// Systems returns the table for the manual.
func Systems() string {
	var b strings.Builder
	b.WriteString("| | Linux | macOS | Windows |\n| --- | --- | --- | --- |\n")
	for _, f := range features {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Title, f.Linux, f.MacOS, f.Windows)
	}
	return b.String()
}
