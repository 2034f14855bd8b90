package manifest

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// Guard is [guard]: the rules for agents that people start themselves. Config contains the
// section's keys as a JSON object.
type Guard struct {
	Config json.RawMessage
	At     Places

	file *source.File
	node *node
}

// Line returns the 1-based line of the value to which a JSON pointer below the section refers, such
// as "/permissions/commands/deny/0". If the value does not exist, it is the line of the innermost
// value on the way that exists.
func (g *Guard) Line(pointer string) int { return g.file.LineOf(g.node.find(pointer).Start) }

// HeaderLine returns the 1-based line of the section's header.
func (g *Guard) HeaderLine() int { return g.file.LineOf(g.At[""].Key.Start) }

// Program returns the path of the program with a @guard function, as it is written; "" for none.
func (g *Guard) Program() string {
	var c struct {
		Program string `json:"program"`
	}
	_ = json.Unmarshal(g.Config, &c) // a value of another type was reported
	return c.Program
}

// GuardAgents are the agents that [guard.agents] may name.
var GuardAgents = []string{"claude-code", "codex", "copilot", "cursor", "gemini", "opencode"}

// GuardWait is the default of guard.wait in seconds.
const GuardWait = 900

// guardKeys returns the keys of [guard].
func guardKeys() []Key {
	verdicts := []string{"allow", "ask", "deny", "pass"}
	rules := slices.Concat(accessKeys("guard.permissions"), guardToolKeys("guard.permissions"))
	ofAgent := slices.Concat(accessKeys("guard.agents.*"), guardToolKeys("guard.agents.*"))
	for i := range ofAgent {
		ofAgent[i].Doc = "Like `" + rules[i].Path + "`, for one agent."
	}
	return slices.Concat([]Key{
		{Path: "guard.program", Type: String, nonempty: true, Example: `"guard.conc"`, Doc: "The program with a function that also decides about calls: it has the decorator `@guard`. Relative to the file with the section."},
		{Path: "guard.default", Type: Enum, Values: verdicts, Default: `"ask"`, Example: `"deny"`, Doc: "The decision for calls that no rule matches: a person decides (`ask`), the call is allowed or denied, or the agent's own rules decide (`pass`)."},
		{Path: "guard.unattended", Type: Enum, Values: []string{"deny", "allow"}, Default: `"deny"`, Example: `"allow"`, Doc: "The decision for calls about which a person must decide, if no person answers."},
		{Path: "guard.wait", Type: Integer, Most: 3000, Unit: "seconds", Default: strconv.Itoa(GuardWait), Example: "600", Doc: "How long such a call waits for the person; 0 for no time."},
		{Path: "guard.keep", Type: String, Default: `"90d"`, Example: `"30d"`, check: checkDays, Doc: "How long the ledgers of sessions are stored after their last call. The shortest time of all policies applies."},
		{Path: "guard.content", Type: Enum, Values: []string{"full", "none"}, Default: `"full"`, Example: `"none"`, Doc: "Whether ledgers contain the arguments of calls, without secrets, or only their hashes, with which `guard replay` and `guard suggest` find nothing. `none` in one policy is enough."},
		{Path: "guard.recheck", Type: Enum, Values: []string{"warn", "deny"}, Default: `"warn"`, Example: `"deny"`, Doc: "The calls of an agent whose program `guard check` has not checked as it is, for example after an update, are denied, or `guard status` shows that."},
		{Path: "guard.other", Type: Enum, Values: verdicts, Default: `"deny"`, Example: `"ask"`, Doc: "The decision for calls of tools that Concerto does not know."},
	}, rules, ofAgent)
}

// Days returns the number of days that a text such as "90d" means, and false for another text.
func Days(text string) (n int, ok bool) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(days)
	return n, err == nil && n > 0 && n <= 36_500 && strconv.Itoa(n) == days
}

func checkDays(text string) error {
	if _, ok := Days(text); !ok {
		return errors.New("write a number of days such as `90d`")
	}
	return nil
}

// accessKeys returns the keys of [hosts.X.permissions] for a section of [guard], which has its own
// default.
func accessKeys(section string) []Key {
	texts := strings.NewReplacer("the host ", "the agent ", "the program's handler", "a person", "for approvals of the kind `fetch`", "with its tools",
		" and to the working directory", "", ": `[hosts.X.sandbox] net` limits what its processes reach", ": its commands may reach other addresses")
	var out []Key
	for _, k := range keys {
		if name, ok := strings.CutPrefix(k.Path, "hosts.*.permissions."); ok && name != "default" {
			k.Path, k.Doc = section+"."+name, texts.Replace(k.Doc)
			out = append(out, k)
		}
	}
	return out
}

// guardToolKeys returns the keys about tools of MCP servers.
func guardToolKeys(section string) []Key {
	return []Key{
		{Path: section + ".mcp.allow", Type: Strings, Default: "[]", Example: `["github.get_*"]`, check: hostpolicy.CheckCommand, Doc: "Globs of tools of MCP servers, as SERVER.TOOL, that the agent may call."},
		{Path: section + ".mcp.ask", Type: Strings, Default: "[]", Example: `["github.merge_*"]`, check: hostpolicy.CheckCommand, Doc: "Globs of such tools about which a person decides."},
		{Path: section + ".mcp.deny", Type: Strings, Default: "[]", Example: `["*.delete_*"]`, check: hostpolicy.CheckCommand, Doc: "Globs of such tools that it may not call."},
	}
}

// guard reads [guard].
func (r *reader) guard(n *node, v any) {
	g := &Guard{Config: json.RawMessage("{}"), file: r.file, node: n}
	r.m.Guard = g
	g.At = r.section("guard", n, v, &target{config: &g.Config}, n.name)
}

// guardAgents reads [guard.agents].
func (r *reader) guardAgents(object *json.RawMessage, n *node, v any, shown string) {
	agents := json.RawMessage("{}")
	values, ok := v.(map[string]any)
	if !ok {
		r.reportWrongType(n, v, shown, "a table")
	}
	for _, c := range n.children {
		if ok && !slices.Contains(GuardAgents, c.name) {
			d := diag.ManifestValue.At(c.key, "unknown agent `%s` in [%s]", c.name, shown)
			if near := suggest.Nearest(c.name, GuardAgents); near != "" {
				d.Hint("did you mean `%s`?", near)
			} else {
				d.Hint("write %s", list(GuardAgents))
			}
			r.add(d)
			continue
		}
		r.within(&agents, "guard.agents.*", c, values[c.name], shown+"."+c.name)
	}
	addMember(object, n.name, agents)
}
