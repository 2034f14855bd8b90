package manifest

import (
	"fmt"
	"strings"
)

//go:generate go run ./gen ../../../spec/manifest-keys.md

// sectionDocs say what each section of the manifest is for, in the manual's
// order. A test fails for a section of the table without a row here.
var sectionDocs = []struct{ section, doc string }{
	{"project", "The project itself."},
	{"connections.*", "A way to a model, named by agents as `provider` (or `uses`). The connection `scripted` exists without being written."},
	{"connections.*.retry", "When a call is tried again, for agents without a `retry_policy`."},
	{"connections.*.rate_limit", "What the connection may be asked to do; requests beyond wait."},
	{"connections.*.prices.*", "What a model costs, by its name (not an alias); `\"*\"` stands for all that are not named. `[limits] max_cost_usd` and `run --stats` read it."},
	{"connections.*.replies[]", "One reply of the provider `scripted`. A request takes the first reply in the list that is not used up and fits."},
	{"connections.*.replies[].tool_calls[]", "One call of a tool in a scripted reply."},
	{"connections.*.replies[].error", "A scripted failure."},
	{"hosts.*", "How a host is started and treated, named by host declarations as `connector`."},
	{"hosts.*.limits", "What a process of a host, with all that it starts, may use. What uses more is ended, and the exchange fails."},
	{"hosts.*.permissions", "What the host may do without the program being asked, and what it may not do at all. It decides before any handler, for every approval of the host's."},
	{"hosts.*.permissions.commands", "The commands that it may run; denials win over asking, and both over what is allowed."},
	{"mcp.*", "How a tool server is reached."},
	{"tools.*", "A tool of the application's, which every agent and host may call. Files of tools (`--host-tools`) have the same keys. It has one of `command`, `http`, `mcp` and `concerto`."},
	{"tools.*.command", "The tool is a command."},
	{"tools.*.command.sandbox", "What the command may touch, which the system enforces."},
	{"tools.*.http", "The tool is a request."},
	{"tools.*.mcp", "The tool is one of an MCP server."},
	{"tools.*.concerto", "The tool is a function of a program."},
	{"limits", "Bounds on a run."},
	{"lints", "What the compiler tells."},
	{"permissions", "What a program may touch. Without the section, files, environment and network are allowed; with it, what it does not grant is refused."},
	{"audit", "Where it is recorded what was called."},
	{"run", "How runs are kept so that they can be gone on with after a crash, and what is never written into their records."},
	{"run.unknown", "What becomes of an effect of which it is not known whether it was done, since the run was interrupted while it was under way."},
	{"relay", "Whether people may follow runs from elsewhere (chapter 24)."},
}

// SectionKeys is a section of the manifest with its keys.
type SectionKeys struct {
	Name, Doc string
	Keys      []*Key
}

// Sections lists the keys by section, in the manual's order.
func Sections() []SectionKeys {
	var out []SectionKeys
	for _, s := range sectionDocs {
		section := SectionKeys{Name: s.section, Doc: s.doc}
		all := Keys()
		for i := range all {
			if k := &all[i]; k.Section() == s.section {
				section.Keys = append(section.Keys, k)
			}
		}
		out = append(out, section)
	}
	return out
}

// Reference is the text of spec/manifest-keys.md: every key by section, written
// from the table of keys.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# The keys of Concerto.toml

<!-- written from internal/compile/manifest/keys.go by "make gen"; do not edit -->

A ` + "`*`" + ` stands for a name of one's own. What the manifest is for and how its values meet those in the source stands in the
chapter on it.
`)
	for _, s := range Sections() {
		fmt.Fprintf(&b, "\n## `[%s]`\n\n%s\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n", s.Name, s.Doc)
		for _, k := range s.Keys {
			doc := k.Doc + " For example " + code(k.Example) + "."
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name(), k.Describe(), code(k.Default), strings.ReplaceAll(doc, "|", `\|`))
		}
	}
	return b.String()
}

// Describe is the key's value in words: its type, unit and choices.
func (k *Key) Describe() string {
	switch {
	case k.Type == Enum:
		return "`" + strings.Join(k.Values, "`, `") + "`"
	case k.Unit != "":
		return k.Type.String() + ", " + k.Unit
	}
	return k.Type.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
