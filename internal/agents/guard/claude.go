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

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// The events of Claude Code's hooks that the guard handles.
const (
	beforeTool   = "PreToolUse"
	afterTool    = "PostToolUse"
	afterFailure = "PostToolUseFailure"
	configChange = "ConfigChange"
)

// claudeOwn are tools that act only inside the agent, in addition to adapter.ClaudeInside: they
// start a subagent, whose calls reach the hook, or read or end what an earlier call has started.
var claudeOwn = []string{"Task", "Agent", "TodoWrite", "KillShell", "KillBash", "BashOutput", "TaskOutput", "ToolSearch"}

// input is what an agent sends to its hook.
type input struct {
	event, session, id, mode, subagent string
	call                               Call
	cursor                             bool // Cursor has sent it, which also runs the hooks of Claude Code
}

var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`) })

// readClaude reads the input of Claude Code's hooks. project is the directory in which the agent
// was started, or "".
func readClaude(text []byte, project string) (*input, error) {
	var all map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("the input is not a JSON object: %v", err)
	}
	if rest, _ := d.Token(); rest != nil || len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil, fmt.Errorf("the input contains more than one JSON object")
	}
	in := &input{call: Call{Agent: "claude-code", Project: project}}
	_, in.cursor = all["cursor_version"]
	needs := []string{"session_id", "hook_event_name"}
	for name, to := range map[string]*string{"session_id": &in.session, "hook_event_name": &in.event, "cwd": &in.call.Dir, "permission_mode": &in.mode,
		"tool_name": &in.call.Tool, "tool_use_id": &in.id, "agent_type": &in.subagent} {
		if value, ok := all[name]; ok && json.Unmarshal(value, to) != nil {
			return nil, fmt.Errorf("`%s` of the input is not a string", name)
		}
	}
	if slices.Contains([]string{beforeTool, afterTool, afterFailure}, in.event) {
		needs = append(needs, "cwd", "tool_name", "tool_use_id", "tool_input")
	}
	for _, name := range needs {
		if len(all[name]) == 0 || string(all[name]) == `""` || string(all[name]) == "null" {
			return nil, fmt.Errorf("the input has no `%s`", name)
		}
	}
	if !sessionName().MatchString(in.session) {
		return nil, fmt.Errorf("`session_id` of the input is not a valid name")
	}
	if in.call.Tool == "" {
		return in, nil
	}
	in.call.Args = all["tool_input"]
	if !filepath.IsAbs(in.call.Dir) {
		return nil, fmt.Errorf("`cwd` of the input is not an absolute path")
	}
	if project != "" && !filepath.IsAbs(project) {
		return nil, fmt.Errorf("the directory %q of the project is not an absolute path", project)
	}
	return in, in.call.classifyClaude()
}

// classifyClaude sets the kind of a call of Claude Code, and what the rules match.
func (c *Call) classifyClaude() error {
	var args map[string]json.RawMessage
	if json.Unmarshal(c.Args, &args) != nil {
		return fmt.Errorf("`tool_input` is not an object")
	}
	if rest, ok := strings.CutPrefix(c.Tool, "mcp__"); ok {
		c.Kind = "mcp"
		for at := range rest { // the names may contain the separator
			if strings.HasPrefix(rest[at:], "__") && at > 0 && at+2 < len(rest) {
				c.names = append(c.names, rest[:at]+"."+rest[at+2:])
			}
		}
		if c.names == nil {
			return fmt.Errorf("%q is not the name of a tool of an MCP server", c.Tool)
		}
		return nil
	}
	if slices.Contains(claudeOwn, c.Tool) || slices.Contains(adapter.ClaudeInside, c.Tool) {
		return nil
	}
	c.Kind = hostmsg.ClaudeKind(c.Tool)
	if strings.Contains(c.Tool, "Mcp") { // it reads what a server has, and no file
		c.Kind = "other"
		return nil
	}
	text, err := jsonwrite.Encode(struct {
		Tool string          `json:"tool"`
		Kind string          `json:"kind"`
		Args json.RawMessage `json:"args"`
	}{c.Tool, c.Kind, c.Args})
	if err != nil {
		return err
	}
	c.request = hostpolicy.ParseRequest(text)
	if q := &c.request; !filepath.IsAbs(q.Dir) {
		q.Dir = filepath.Join(c.Dir, q.Dir)
	}
	if (c.Kind == "read" || c.Kind == "search") && len(c.request.Paths) == 0 {
		c.request.Paths = []string{c.Dir}
	}
	return nil
}

// ParseCommand returns the call of an agent that runs a command.
func ParseCommand(agent, command, dir string) *Call {
	args, _ := jsonwrite.Encode(map[string]string{"command": command}) // strings have a JSON form
	c := &Call{Agent: agent, Tool: "Bash", Dir: dir, Args: args}
	_ = c.classifyClaude() // the arguments are an object
	return c
}

// ParseInput returns the call in the input of Claude Code's hook.
func ParseInput(text []byte) (*Call, error) {
	in, err := readClaude(text, "")
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

// claudeAnswer returns the answer of a hook about an event. A denial is the agent's own form on
// stdout, the reason on stderr, and the exit code 2: each blocks by itself.
func claudeAnswer(event string, d Decision) answer {
	if d.Verdict == hostpolicy.Pass {
		return answer{}
	}
	var v any
	switch event {
	case afterTool, afterFailure, configChange:
		if d.Verdict != hostpolicy.Deny {
			return answer{}
		}
		v = map[string]string{"decision": "block", "reason": d.Reason}
	default:
		v = map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": beforeTool, "permissionDecision": string(d.Verdict), "permissionDecisionReason": d.Reason}}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return answer{stderr: "concerto guard: " + err.Error() + "\n", code: 2}
	}
	a := answer{stdout: string(text) + "\n"}
	if d.Verdict == hostpolicy.Deny {
		a.stderr, a.code = "concerto guard: "+strings.ToValidUTF8(d.Reason, "?")+"\n", 2
	}
	return a
}
