// Package systems contains the table of what each operating system supports. The manual,
// `concerto version`, `concerto doctor` and the messages about missing features are made from it.
package systems

import (
	"fmt"
	"strings"
)

//go:generate go run ../../../cli/help/gen ../../../../spec/18-cli.md

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
	{"", "hosts, commands and MCP servers as processes, which end with the run", "process groups, subreaper", "process groups", "job objects"},
	{"terminal", "questions at the terminal, `inspect` and `top`", yes, yes, "console with virtual terminal sequences"},
	{"keeper", "hosts that continue after the process of their run has ended", yes, yes, no},
	{"hostd", "the daemon of the relay, and its terminals", yes, yes, no},
	{"sandbox", "sandboxes for tools and hosts", "Landlock, namespaces", no, no},
}

// Supports returns, for each feature with a name, whether a system supports it. system is a value
// of runtime.GOOS.
func Supports(system string) map[string]bool {
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

// names contains the names of the systems for people, by the values of runtime.GOOS.
var names = map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}

// Name returns the name of a system for people.
func Name(system string) string {
	if name := names[system]; name != "" {
		return name
	}
	return system
}

// Missing returns the message that a system does not have a feature, such as "the keeper is not
// available on Windows", or "" if it has it. name is that of `version --format json`.
func Missing(name, system string) string {
	if Supports(system)[name] {
		return ""
	}
	article := "the "
	if name == "hostd" {
		article = ""
	}
	return article + name + " is not available on " + Name(system)
}

// Table returns the table for the manual.
func Table() string {
	var b strings.Builder
	b.WriteString("| | Linux | macOS | Windows |\n| --- | --- | --- | --- |\n")
	for _, f := range features {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Title, f.Linux, f.MacOS, f.Windows)
	}
	return b.String()
}
