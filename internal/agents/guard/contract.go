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
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
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
	project string // variable with the directory in which the agent was started; "" if there is none
	members members
	events  map[string]moment                      // by name
	mcp     func(tool string, all object) []string // returns the possible meanings of the name of a tool of an MCP server, as SERVER.TOOL
	guesses bool                                   // mcp may take another tool for one of a server
	asks    bool                                   // the answer ask before a call shows a dialog, and its hook runs at the same time
	again   bool                                   // the event beforeAsk comes also if no person is asked
	// answer returns the answer about an event, and nil for none.
	answer func(event string, at moment, verdict hostpolicy.Verdict, reason string) any
}

// members are the names of the input's members; "" means that there is none.
type members struct{ session, event, dir, mode, tool, args, call, subagent string }

// hookMembers are the names of Claude Code and of agents that follow it.
var hookMembers = members{"session_id", "hook_event_name", "cwd", "permission_mode", "tool_name", "tool_input", "tool_use_id", "agent_type"}

// object is an object in JSON.
type object = map[string]json.RawMessage

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
			agent: "claude-code", project: "CLAUDE_PROJECT_DIR", members: hookMembers, mcp: splitAfter("mcp__", "__"), asks: true,
			events: map[string]moment{beforeTool: beforeCall, askPerson: beforeAsk, afterTool: afterCall, afterFailure: afterCall, configChange: onSettings, sessionEnd: afterSession},
			answer: claudeAnswer,
		},
		{
			agent: "codex", members: hookMembers, mcp: splitAfter("mcp__", "__"),
			events: map[string]moment{beforeTool: beforeCall, askPerson: beforeAsk, afterTool: afterCall},
			answer: func(event string, at moment, v hostpolicy.Verdict, reason string) any {
				if at == beforeCall && v != hostpolicy.Deny { // Codex refuses it, and then asks as it is configured
					return nil
				}
				return claudeAnswer(event, at, v, reason)
			},
		},
		{
			agent: "gemini", members: members{session: "session_id", event: "hook_event_name", dir: "cwd", tool: "tool_name", args: "tool_input"},
			mcp:    geminiTool,
			events: map[string]moment{"BeforeTool": beforeCall, "AfterTool": afterCall},
			answer: func(_ string, _ moment, v hostpolicy.Verdict, reason string) any {
				if v != hostpolicy.Deny {
					return nil
				}
				return map[string]string{"decision": "deny", "reason": reason}
			},
		},
		{
			agent: "copilot", members: members{session: "sessionId", dir: "cwd", tool: "toolName", args: "toolArgs", subagent: "agentType"},
			mcp: splitAfter("", "-"), guesses: true, again: true,
			events: map[string]moment{"preToolUse": beforeCall, "permissionRequest": beforeAsk, "postToolUse": afterCall},
			answer: copilotAnswer,
		},
		{
			agent: "opencode", members: hookMembers, mcp: splitAfter("", "_"), guesses: true,
			events: map[string]moment{beforeTool: beforeCall, afterTool: afterCall},
			answer: func(string, moment, hostpolicy.Verdict, string) any { return nil }, // its plugin reads the exit code and stderr
		},
		{
			agent: "cursor", members: members{session: "conversation_id", event: "hook_event_name", dir: "cwd", tool: "tool_name", args: "tool_input", call: "tool_use_id"},
			mcp:    splitAfter("MCP:", ":"),
			events: map[string]moment{"preToolUse": beforeCall, "postToolUse": afterCall},
			answer: func(_ string, at moment, v hostpolicy.Verdict, reason string) any {
				if at != beforeCall {
					return nil
				}
				if v != hostpolicy.Deny {
					v = hostpolicy.Allow // Cursor has no answer that leaves the decision to it
				}
				return map[string]string{"permission": string(v), "user_message": reason, "agent_message": reason}
			},
		},
	}
}

// splitAfter returns a function that splits the names of the tools of MCP servers, which have a
// prefix, at each separator, because the names may contain it.
func splitAfter(prefix, separator string) func(string, object) []string {
	return func(tool string, _ object) (names []string) {
		rest, ok := strings.CutPrefix(tool, prefix)
		if !ok {
			return nil
		}
		for at := range rest {
			if strings.HasPrefix(rest[at:], separator) && at > 0 && at+len(separator) < len(rest) {
				names = append(names, rest[:at]+"."+rest[at+len(separator):])
			}
		}
		return names
	}
}

// geminiTool returns the name that Gemini CLI reports beside the call.
func geminiTool(_ string, all object) []string {
	var context struct {
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	}
	if json.Unmarshal(all["mcp_context"], &context) != nil || context.Server == "" || context.Tool == "" {
		return nil
	}
	return []string{context.Server + "." + context.Tool}
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
	return hostmsg.ClaudeKind(tool)
}

// toolKinds are the kinds of the tools of the other agents. A tool without a row has the kind
// other.
var toolKinds = []struct{ agent, kind, tools string }{
	{"codex", "execute", "Bash"},
	{"codex", "edit", "apply_patch"},
	{"codex", "read", "view_image"},
	{"codex", inside, "spawn_agent wait_agent send_input close_agent resume_agent update_plan update_goal request_user_input list_mcp_resources list_mcp_resource_templates"},
	{"copilot", "execute", "bash powershell"},
	{"copilot", "edit", "create edit str_replace_editor apply_patch"},
	{"copilot", "read", "view"},
	{"copilot", "search", "grep glob rg"},
	{"copilot", "fetch", "web_fetch"},
	{"copilot", inside, "task report_intent update_todo ask_user read_bash stop_bash list_bash read_powershell stop_powershell list_powershell read_agent list_agents task_complete"},
	{"cursor", "execute", "Shell"},
	{"cursor", "edit", "Write StrReplace Edit EditNotebook"},
	{"cursor", "delete", "Delete"},
	{"cursor", "read", "Read"},
	{"cursor", "search", "Grep Glob LS SemanticSearch"},
	{"cursor", "fetch", "WebFetch"},
	{"cursor", inside, "Task TodoWrite AskQuestion"},
	{"gemini", "execute", "run_shell_command"},
	{"gemini", "edit", "write_file replace"},
	{"gemini", "read", "read_file read_many_files"},
	{"gemini", "search", "list_directory glob grep_search search_file_content"},
	{"gemini", "fetch", "web_fetch"},
	{"gemini", inside, "update_topic invoke_agent write_todos ask_user activate_skill complete_task enter_plan_mode exit_plan_mode"},
	{"opencode", "execute", "bash"},
	{"opencode", "edit", "edit write multiedit patch apply_patch"},
	{"opencode", "read", "read"},
	{"opencode", "search", "grep glob list"},
	{"opencode", "fetch", "webfetch"},
	{"opencode", inside, "task todowrite todoread question skill plan_enter plan_exit invalid"},
}

// kind returns the kind of a tool's calls, as in approvals, or inside.
func (c *contract) kind(tool string) string {
	if c.agent == "claude-code" {
		return claudeKind(tool)
	}
	for _, row := range toolKinds {
		if row.agent == c.agent && slices.Contains(strings.Fields(row.tools), tool) {
			return row.kind
		}
	}
	return "other"
}

// claudeAnswer returns the answers of Claude Code.
func claudeAnswer(event string, at moment, v hostpolicy.Verdict, reason string) any {
	specific := map[string]any{"hookEventName": event}
	switch {
	case at == beforeAsk && v == hostpolicy.Ask:
		return nil // the agent's own dialog asks
	case at == beforeAsk:
		decision := map[string]string{"behavior": string(v)}
		if v == hostpolicy.Deny {
			decision["message"] = reason
		}
		specific["decision"] = decision
	case at == beforeCall:
		specific["permissionDecision"], specific["permissionDecisionReason"] = string(v), reason
	case v == hostpolicy.Deny:
		return map[string]string{"decision": "block", "reason": reason}
	default:
		return nil
	}
	return map[string]any{"hookSpecificOutput": specific}
}

// copilotAnswer returns the answers of Copilot CLI.
func copilotAnswer(_ string, at moment, v hostpolicy.Verdict, reason string) any {
	switch {
	case at == beforeCall && v == hostpolicy.Ask:
		return nil
	case at == beforeCall:
		return map[string]string{"permissionDecision": string(v), "permissionDecisionReason": reason}
	case at == beforeAsk && v != hostpolicy.Ask:
		return map[string]string{"behavior": string(v), "message": reason}
	}
	return nil
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
	program                            string // of a probe; see AgentProgram
	cursor                             bool   // Cursor has sent it, which also runs the hooks of Claude Code
	call                               Call
}

var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })

// read reads the input of a hook. event is the event if the input does not name it. project is the
// directory in which the agent was started, or "". With an error, in.event is set if it is known.
func (c *contract) read(text []byte, event, project string) (*input, error) {
	in := &input{event: c.firstEvent(), call: Call{Agent: c.agent, Project: project}}
	var all object
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&all); err != nil {
		return in, fmt.Errorf("the input is not a JSON object: %v", err)
	}
	if rest, _ := d.Token(); rest != nil || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return in, fmt.Errorf("the input contains more than one JSON object")
	}
	_, in.cursor = all["cursor_version"]
	m := c.members
	for name, to := range map[string]*string{m.session: &in.session, m.event: &event, m.dir: &in.call.Dir, m.mode: &in.mode, m.tool: &in.call.Tool, m.call: &in.id, m.subagent: &in.subagent} {
		if value, ok := all[name]; ok && name != "" && json.Unmarshal(value, to) != nil {
			return in, fmt.Errorf("`%s` of the input is not a string", name)
		}
	}
	needs := []string{m.session}
	if at, known := c.events[event]; known {
		in.at, in.event = at, event
	} else if event != "" {
		return in, fmt.Errorf("unknown event %q", event)
	} else if m.event == "" {
		return in, fmt.Errorf("the command of the hook names no event")
	} else {
		needs = append(needs, m.event)
	}
	if in.at != onSettings && in.at != afterSession {
		needs = append(needs, m.dir, m.tool, m.args)
	}
	if in.at == beforeCall || in.at == afterCall {
		needs = append(needs, m.call)
	}
	for _, name := range needs {
		if value := string(all[name]); name != "" && (value == "" || value == `""` || value == "null") {
			return in, fmt.Errorf("the input has no `%s`", name)
		}
	}
	if !sessionName().MatchString(in.session) {
		in.session = ""
		return in, fmt.Errorf("`%s` of the input is not a valid name", m.session)
	}
	if in.call.Tool == "" {
		return in, nil
	}
	in.call.Args = all[m.args]
	if decoded := ""; json.Unmarshal(in.call.Args, &decoded) == nil && json.Valid([]byte(decoded)) {
		in.call.Args = json.RawMessage(decoded) // Cursor sends a text that contains the object
	}
	if in.id == "" { // the agent has no ids of calls
		in.id = in.call.Tool + " " + decision.Hash(in.call.Args)
	}
	if !filepath.IsAbs(in.call.Dir) {
		return in, fmt.Errorf("`%s` of the input is not an absolute path", m.dir)
	}
	if project != "" && !filepath.IsAbs(project) {
		return in, fmt.Errorf("the directory %q of the project is not an absolute path", project)
	}
	return in, c.classify(&in.call, all)
}

// firstEvent returns the event before a call.
func (c *contract) firstEvent() string {
	for name, at := range c.events {
		if at == beforeCall {
			return name
		}
	}
	return ""
}

// classify sets the kind of a call, and what the rules match. all is the input.
func (c *contract) classify(call *Call, all object) error {
	var args object
	if json.Unmarshal(call.Args, &args) != nil || args == nil {
		return fmt.Errorf("the arguments of %s are not an object", call.Tool)
	}
	kind := c.kind(call.Tool)
	if kind == "other" {
		if call.names = c.mcp(call.Tool, all); call.names != nil {
			call.Kind, call.guessed = "mcp", c.guesses
			return nil
		}
	}
	if kind == inside {
		return nil
	}
	call.Kind = kind
	paths, err := patchOf(call.Tool, args)
	if err != nil {
		return err
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

// patchOf returns the files of a call that applies a patch, and removes the patch from its
// arguments.
func patchOf(tool string, args object) ([]string, error) {
	if tool != "apply_patch" && tool != "patch" {
		return nil, nil
	}
	for _, name := range []string{"command", "patchText", "patch", "input"} {
		if value, ok := args[name]; ok {
			delete(args, name)
			return patchedFiles(value)
		}
	}
	return nil, fmt.Errorf("the patch is missing")
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
	_ = contracts()[0].classify(call, nil) // the arguments are an object
	return call
}

// ParseInput returns the call in the input of an agent's hook. An input that does not name its
// event is one before a call.
func ParseInput(agent string, text []byte) (*Call, error) {
	c := contractOf(agent)
	if c == nil {
		return nil, fmt.Errorf("the hooks of %s are not supported", agent)
	}
	event := ""
	if c.members.event == "" {
		event = c.firstEvent()
	}
	in, err := c.read(text, event, "")
	if err != nil {
		return nil, err
	}
	if in.call.Tool == "" {
		return nil, fmt.Errorf("the event %s has no call of a tool", in.event)
	}
	in.call.id, in.call.subagent = in.id, in.subagent
	return &in.call, nil
}

// answer is what a hook prints, and its exit code.
type answer struct {
	stdout, stderr string
	code           int
}

// reply returns the answer about an event. A denial is the agent's own form on stdout, the reason
// on stderr, and the exit code 2: each blocks by itself.
func (c *contract) reply(in *input, d Decision) answer {
	var a answer
	v := c.answer(in.event, in.at, d.Verdict, d.Reason)
	if d.Verdict == hostpolicy.Allow && d.input != nil {
		v = map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": in.event, "decision": map[string]any{"behavior": "allow", "updatedInput": d.input}}}
	}
	if v != nil && (d.Verdict != hostpolicy.Pass || c.agent == "cursor") {
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
