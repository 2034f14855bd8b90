package manifest

import (
	"fmt"
	"strings"
)

//go:generate go run ./gen ../../../spec/manifest-keys.md

// sectionDocs contains the description of each section of the manifest, in the order of the manual.
// TestEverySectionIsDescribed fails if a section has no description.
var sectionDocs = []struct{ section, doc string }{
	{"project", "The project itself."},
	{"dependencies.*", "A package that the project requires (chapter 46). The name is that of its root module in `use`."},
	{"connections.*", "A connection to a model, named by agents as `provider` (or `uses`). The connection `scripted` always exists."},
	{"connections.*.retry", "When a failed call is repeated, for agents without a `retry_policy`."},
	{"connections.*.rate_limit", "Rate limits of the connection; further requests wait."},
	{"connections.*.prices.*", "The prices of a model, by its name (not an alias), instead of the vendor's, which are built in; `\"*\"` matches all models that are not named. `[limits] max_cost_usd` and `run --stats` use them."},
	{"connections.*.models.*", "The parameters and forms that a model accepts, by its name or a pattern, where they differ from the built-in table; the longest pattern that matches decides."},
	{"connections.*.replies[]", "One reply of the provider `scripted`. A request takes the first reply in the list that matches and is not used up."},
	{"connections.*.replies[].tool_calls[]", "One call of a tool in a scripted reply."},
	{"connections.*.replies[].error", "A scripted failure."},
	{"hosts.*", "The configuration of a host, named by host declarations as `connector`."},
	{"hosts.*.limits", "The resource limits of a host's process and its child processes, and the limits on what its exchanges use. A process that exceeds one is terminated, and the exchange fails."},
	{"hosts.*.prices", "The prices of the tokens of a host that reports no cost."},
	{"hosts.*.sandbox", "The access rights of a host's process and its child processes, enforced by the operating system (chapter 8)."},
	{"hosts.*.workspace", "How the worktrees of a host with `isolate = \"worktree\"` are created; a key replaces that of [workspace]."},
	{"hosts.*.permissions", "The rules that decide approvals of the host before any handler: actions that need no request to the program, and actions that are never allowed."},
	{"hosts.*.permissions.commands", "The commands that it may run; `deny` takes precedence over `ask`, and both over `allow`."},
	{"hosts.*.permissions.net", "The addresses that it may reach; `deny` takes precedence over `ask`, and both over `allow`."},
	{"mcp.*", "The configuration of a tool server."},
	{"mcp.*.oauth", "How Concerto logs in to a server that requires a login, for transport http (chapter 10)."},
	{"tools.*", "An application tool, which every agent and host may call. Tool files (`--host-tools`) have the same keys. It has one of `command`, `http`, `mcp` and `concerto`."},
	{"tools.*.command", "The tool is a command."},
	{"tools.*.command.sandbox", "The access rights of the command, enforced by the operating system."},
	{"tools.*.http", "The tool is an HTTP request."},
	{"tools.*.mcp", "The tool is one of an MCP server."},
	{"tools.*.concerto", "The tool is a function of a program."},
	{"limits", "Limits of a run."},
	{"lints", "Which warnings the compiler reports."},
	{"permissions", "The access rights of a program. Without the section, files, environment and network are allowed; `default` decides what the section does not name."},
	{"audit", "Where calls of tools are recorded."},
	{"run", "How runs are stored so that they can be resumed after a crash, and what their records never contain."},
	{"run.unknown", "The handling of an effect whose outcome is unknown because the run was interrupted while it was in progress."},
	{"eval", "Defaults of `concerto eval` (chapter 49)."},
	{"workspace", "How worktrees for agents are created (chapter 42)."},
	{"merge.*", "A merge queue, which merges changes into a branch after they have passed the gate (chapter 43)."},
	{"merge.*.pull_request", "How a merge queue with `via = \"pull-request\"` creates and finds pull requests."},
	{"guard", "The policy for agents that people start themselves, such as Claude Code, whose hooks call `concerto guard hook` (chapter 51)."},
	{"guard.permissions", "The rules about calls of these agents, which are matched as those of [hosts.X.permissions]."},
	{"guard.permissions.commands", "The commands that they may run; `deny` takes precedence over `ask`, and both over `allow`."},
	{"guard.permissions.net", "The addresses that their tools may fetch."},
	{"guard.permissions.mcp", "The tools of MCP servers that they may call."},
	{"guard.agents.*", "Rules for one agent, in addition to [guard.permissions], and with the same keys and tables: `claude-code`, `codex`, `copilot`, `cursor`, `gemini` or `opencode`."},
	{"guard.agents.*.commands", "The commands that it may run."},
	{"guard.agents.*.net", "The addresses that its tools may fetch."},
	{"guard.agents.*.mcp", "The tools of MCP servers that it may call."},
	{"engine", "Where `concerto submit`, `concerto worker` and `concerto runs` find the engine, a database of durable runs (chapter 37)."},
	{"relay", "Whether people may follow runs from other devices (chapter 24)."},
}

// SectionKeys is a section of the manifest and the keys in it.
type SectionKeys struct {
	Name, Doc string
	Keys      []*Key
}

// Sections returns all sections with their keys, in the order of the manual.
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

// Reference returns the text of spec/manifest-keys.md, which is generated from the table of keys.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# The keys of Concerto.toml

<!-- written from internal/compile/manifest/keys.go by "make gen"; do not edit -->

This page lists every key of the manifest by section. A ` + "`*`" + ` is a name of your choice.
[Chapter 17](17-manifest.md) describes the manifest and how its values combine with those in the
source.
`)
	for _, s := range Sections() {
		if strings.HasPrefix(s.Name, "guard.agents.*") { // its keys are those of guard.permissions
			if s.Name == "guard.agents.*" {
				fmt.Fprintf(&b, "\n## `[%s]`\n\n%s\n", s.Name, wrap(s.Doc))
			}
			continue
		}
		fmt.Fprintf(&b, "\n## `[%s]`\n\n%s\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n", s.Name, wrap(s.Doc))
		for _, k := range s.Keys {
			doc := k.Doc + " For example " + code(k.Example) + "."
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name(), k.Describe(), code(k.Default), strings.ReplaceAll(doc, "|", `\|`))
		}
	}
	return b.String()
}

// wrap breaks a paragraph into lines of at most 100 bytes.
func wrap(text string) string {
	var b strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+1+len(word) > 100:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String()
}

// Describe returns the key's type with its unit, or the values that an enum accepts.
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
