package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// moment is what an event of a hook reports.
type moment int

const (
	beforeCall   moment = iota // the agent will make a call
	beforeAsk                  // the agent will ask a person about a call
	afterCall                  // a call has been executed
	onSettings                 // the settings of the agent change
	afterSession               // the session has ended
)

// contract describes the hooks of an agent: the events, the input on stdin, and the answers.
type contract struct {
	agent   string
	project string                   // variable with the directory in which the agent was started; "" if there is none
	events  map[string]moment        // by name
	kind    func(tool string) string // returns the kind of a tool's calls, as in approvals, or inside
	asks    bool                     // the answer ask before a call shows a dialog, and its hook runs at the same time
	// allow and deny return the answers about an event; nil prints nothing.
	allow, deny func(event, reason string) any
}

// inside is the kind of calls that act only inside the agent: they start a subagent, whose calls
// reach the hook, or read or end what an earlier call has started.
const inside = "inside"

// The names of events that several agents use.
const (
	beforeTool   = "PreToolUse"
	askPerson    = "PermissionRequest"
	afterTool    = "PostToolUse"
	afterFailure = "PostToolUseFailure"
	configChange = "ConfigChange"
	sessionEnd   = "SessionEnd"
)

// contracts returns the contracts of the supported agents.
func contracts() []contract {
	return []contract{
		{
			agent: "claude-code", project: "CLAUDE_PROJECT_DIR", kind: claudeKind, asks: true, allow: hookAllow, deny: hookDeny,
			events: map[string]moment{beforeTool: beforeCall, askPerson: beforeAsk, afterTool: afterCall, afterFailure: afterCall, configChange: onSettings, sessionEnd: afterSession},
		},
		{
			agent: "codex", kind: codexKind, deny: hookDeny,
			events: map[string]moment{beforeTool: beforeCall, askPerson: beforeAsk, afterTool: afterCall},
			allow: func(event, reason string) any {
				if event == beforeTool { // Codex refuses this answer, and then asks as it is configured
					return nil
				}
				return hookAllow(event, reason)
			},
		},
	}
}

// claudeOwn are tools of Claude Code that act only inside it, in addition to adapter.ClaudeInside.
var claudeOwn = []string{"Task", "Agent", "TodoWrite", "KillShell", "KillBash", "BashOutput", "TaskOutput", "ToolSearch"}

func claudeKind(tool string) string {
	switch {
	case slices.Contains(claudeOwn, tool) || slices.Contains(adapter.ClaudeInside, tool):
		return inside
	case strings.Contains(tool, "Mcp"): // it reads what a server has, and no file
		return "other"
	}
	return adapter.ClaudeKind(tool)
}

func codexKind(tool string) string {
	switch tool {
	case "Bash":
		return "execute"
	case "apply_patch":
		return "edit"
	case "view_image":
		return "read"
	case "spawn_agent", "wait_agent", "send_input", "close_agent", "resume_agent", "update_plan", "update_goal", "request_user_input", "list_mcp_resources", "list_mcp_resource_templates":
		return inside
	}
	return "other"
}

// hookAllow returns the answer of Claude Code's form that allows a call.
func hookAllow(event, reason string) any { return hookAnswer(event, "allow", reason) }

// hookDeny returns the answer of Claude Code's form that denies a call, or an alarm.
func hookDeny(event, reason string) any { return hookAnswer(event, "deny", reason) }

func hookAnswer(event, verdict, reason string) any {
	specific := map[string]any{"hookEventName": event}
	switch event {
	case askPerson:
		decision := map[string]string{"behavior": verdict}
		if verdict == "deny" {
			decision["message"] = reason
		}
		specific["decision"] = decision
	case beforeTool:
		specific["permissionDecision"], specific["permissionDecisionReason"] = verdict, reason
	default:
		return map[string]string{"decision": "block", "reason": reason}
	}
	return map[string]any{"hookSpecificOutput": specific}
}

// SupportedAgents returns the names of the agents whose hooks are supported.
func SupportedAgents() (names []string) {
	for _, c := range contracts() {
		names = append(names, c.agent)
	}
	return names
}

// contractOf returns the contract of an agent, or nil.
func contractOf(agent string) *contract {
	for _, c := range contracts() {
		if c.agent == agent {
			return &c
		}
	}
	return nil
}

// input is what an agent sends to its hook.
type input struct {
	event, session, id, mode, subagent string
	at                                 moment
	call                               Call
}

var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })

// read reads the input of a hook. project is the directory in which the agent was started, or "".
// With an error, the event is set if it is known.
func (c *contract) read(text []byte, project string) (*input, error) {
	in := &input{event: beforeTool, call: Call{Agent: c.agent, Project: project}}
	var all map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&all); err != nil {
		return in, fmt.Errorf("the input is not a JSON object: %v", err)
	}
	if rest, _ := d.Token(); rest != nil || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return in, fmt.Errorf("the input contains more than one JSON object")
	}
	if _, ok := all["cursor_version"]; ok {
		return in, fmt.Errorf("Cursor is not supported yet")
	}
	needs := []string{"session_id", "hook_event_name"}
	event := ""
	for name, to := range map[string]*string{"session_id": &in.session, "hook_event_name": &event, "cwd": &in.call.Dir, "permission_mode": &in.mode,
		"tool_name": &in.call.Tool, "tool_use_id": &in.id, "agent_type": &in.subagent} {
		if value, ok := all[name]; ok && json.Unmarshal(value, to) != nil {
			return in, fmt.Errorf("`%s` of the input is not a string", name)
		}
	}
	known := false
	if in.at, known = c.events[event]; event != "" && !known {
		return in, fmt.Errorf("unknown event %q", event)
	} else if known {
		in.event = event
	}
	if in.at != onSettings && in.at != afterSession {
		needs = append(needs, "cwd", "tool_name", "tool_input")
	}
	if in.at == beforeCall || in.at == afterCall {
		needs = append(needs, "tool_use_id")
	}
	for _, name := range needs {
		if len(all[name]) == 0 || string(all[name]) == `""` || string(all[name]) == "null" {
			return in, fmt.Errorf("the input has no `%s`", name)
		}
	}
	if !sessionName().MatchString(in.session) {
		in.session = ""
		return in, fmt.Errorf("`session_id` of the input is not a valid name")
	}
	if in.call.Tool == "" {
		return in, nil
	}
	in.call.Args = all["tool_input"]
	if in.id == "" {
		in.id = decision.Hash(in.call.Args)
	}
	if !filepath.IsAbs(in.call.Dir) {
		return in, fmt.Errorf("`cwd` of the input is not an absolute path")
	}
	if project != "" && !filepath.IsAbs(project) {
		return in, fmt.Errorf("the directory %q of the project is not an absolute path", project)
	}
	return in, c.classify(&in.call)
}

// classify sets the kind of a call, and what the rules match.
func (c *contract) classify(call *Call) error {
	var args map[string]json.RawMessage
	if json.Unmarshal(call.Args, &args) != nil {
		return fmt.Errorf("`tool_input` is not an object")
	}
	if rest, ok := strings.CutPrefix(call.Tool, "mcp__"); ok {
		call.Kind = "mcp"
		for at := range rest { // the names may contain the separator
			if strings.HasPrefix(rest[at:], "__") && at > 0 && at+2 < len(rest) {
				call.names = append(call.names, rest[:at]+"."+rest[at+2:])
			}
		}
		if call.names == nil {
			return fmt.Errorf("%q is not the name of a tool of an MCP server", call.Tool)
		}
		return nil
	}
	kind := c.kind(call.Tool)
	if kind == inside {
		return nil
	}
	call.Kind = kind
	var paths []string
	if call.Tool == "apply_patch" {
		var err error
		if paths, err = patchedFiles(args["command"]); err != nil {
			return err
		}
		delete(args, "command")
	}
	text, err := jsonwrite.Encode(map[string]any{"tool": call.Tool, "kind": kind, "args": args, "paths": paths})
	if err != nil {
		return err
	}
	call.request = hostpolicy.ParseRequest(text)
	if q := &call.request; !filepath.IsAbs(q.Dir) {
		q.Dir = filepath.Join(call.Dir, q.Dir)
	}
	if (kind == "read" || kind == "search") && len(call.request.Paths) == 0 {
		call.request.Paths = []string{call.Dir}
	}
	return nil
}

// patchedFiles returns the files that a patch in Codex' form adds, changes, moves or deletes.
func patchedFiles(value json.RawMessage) (files []string, err error) {
	var patch string
	if json.Unmarshal(value, &patch) != nil {
		return nil, fmt.Errorf("the patch is not a text")
	}
	for line := range strings.Lines(patch) {
		for _, verb := range []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"} {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), verb); ok {
				files = append(files, strings.TrimSpace(name))
			}
		}
	}
	if files == nil {
		return nil, fmt.Errorf("the patch names no file")
	}
	return files, nil
}

// ParseCommand returns the call of an agent that runs a command.
func ParseCommand(agent, command, dir string) *Call {
	args, _ := jsonwrite.Encode(map[string]string{"command": command}) // strings have a JSON form
	call := &Call{Agent: agent, Tool: "Bash", Dir: dir, Args: args}
	_ = contracts()[0].classify(call) // the arguments are an object
	return call
}

// ParseInput returns the call in the input of an agent's hook.
func ParseInput(agent string, text []byte) (*Call, error) {
	c := contractOf(agent)
	if c == nil {
		return nil, fmt.Errorf("the hooks of %s are not supported yet", agent)
	}
	in, err := c.read(text, "")
	if err != nil {
		return nil, err
	}
	if in.call.Tool == "" {
		return nil, fmt.Errorf("the event %s has no call of a tool", in.event)
	}
	return &in.call, nil
}

// answer is what a hook prints, and its exit code.
type answer struct {
	stdout, stderr string
	code           int
}

// answer returns the answer about an event. A denial is the agent's own form on stdout, the reason
// on stderr, and the exit code 2: each blocks by itself.
func (c *contract) answer(in *input, d Decision) answer {
	var v any
	switch d.Verdict {
	case hostpolicy.Deny:
		v = c.deny(in.event, d.Reason)
	case hostpolicy.Allow:
		if in.at == beforeCall || in.at == beforeAsk {
			v = c.allow(in.event, d.Reason)
		}
		if d.input != nil {
			v = map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": in.event, "decision": map[string]any{"behavior": "allow", "updatedInput": d.input}}}
		}
	case hostpolicy.Ask:
		if in.at == beforeCall {
			v = hookAnswer(in.event, "ask", d.Reason)
		}
	}
	var a answer
	if v != nil {
		text, err := json.Marshal(v)
		if err != nil {
			return answer{stderr: "concerto guard: " + err.Error() + "\n", code: 2}
		}
		a.stdout = string(text) + "\n"
	}
	if d.Verdict == hostpolicy.Deny {
		a.stderr, a.code = "concerto guard: "+strings.ToValidUTF8(d.Reason, "?")+"\n", 2
	}
	return a
}
