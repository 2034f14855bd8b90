package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/fileuri"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// inside is the kind of tools that act only inside the agent.
const inside = "inside"

// codexTools contains the kinds of Codex's tools. A command, a change of files and a call of an MCP
// server are items of their own. The kind of a tool that is not listed is other.
var codexTools = map[string]string{
	"exec_command": "execute", "shell": "execute", "shell_command": "execute", "local_shell": "execute", "write_stdin": "execute",
	"apply_patch": "edit", "view_image": "read", "list_mcp_resources": "read", "list_mcp_resource_templates": "read", "read_mcp_resource": "read",
	"tool_search": "search", "web_search": "fetch",
	"update_plan": inside, "get_goal": inside, "create_goal": inside, "update_goal": inside, "request_user_input": inside, "request_permissions": inside,
	"spawn_agent": "think", "resume_agent": inside, "send_input": inside, "wait_agent": inside, "close_agent": inside, "wait": inside,
}

// notExecuted lists how the outputs of calls begin that Codex did not execute. The output of a
// command begins with another text, which the command cannot change.
var notExecuted = []string{"Command blocked by PreToolUse hook: ", "unsupported call: ", "exec_command failed", "write_stdin failed", "patch rejected", "failed to parse function arguments"}

// codexLine contains the members of a line that are read.
type codexLine struct {
	Time    string       `json:"timestamp"`
	Payload codexPayload `json:"payload"`
}

// codexPayload contains the members of the payloads that are read.
type codexPayload struct {
	Type      string          `json:"type"`
	Name      string          `json:"name"`
	CallID    string          `json:"call_id"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    codexOutput     `json:"output"`
	Action    json.RawMessage `json:"action"`
	ID        string          `json:"id"`
	Dir       string          `json:"cwd"`
	Item      codexItem       `json:"item"`
}

// codexOutput is true if the output of a call states that Codex did not execute it. The output
// itself, which may be long, is not stored.
type codexOutput bool

func (o *codexOutput) UnmarshalJSON(text []byte) error {
	*o = codexOutput(slices.ContainsFunc(notExecuted, func(begin string) bool { return bytes.HasPrefix(text, []byte(`"`+begin)) }))
	return nil
}

// codexLines lists the types of the lines that are read, and of their payloads, besides calls.
var codexLines = []string{
	"session_meta", "turn_context", "event_msg item_completed", "response_item function_call_output", "response_item custom_tool_call_output",
}

// codexQuiet lists the types of items that are texts or states of Codex, or that report a call
// which has a line of its own.
var codexQuiet = []string{
	"UserMessage", "HookPrompt", "AgentMessage", "FunctionCallOutput", "Plan", "Reasoning", "SubAgentActivity", "WebSearch", "ImageView", "Sleep", "ImageGeneration",
	"EnteredReviewMode", "ExitedReviewMode", "ContextCompaction",
}

// codexItem reports an effect of a call.
type codexItem struct {
	Type      string                  `json:"type"`
	ID        string                  `json:"id"`
	Status    string                  `json:"status"`
	Command   []string                `json:"command"`
	Dir       string                  `json:"cwd"`
	Parsed    []struct{ Type string } `json:"parsed_cmd"`
	Changes   map[string]codexChange  `json:"changes"`
	Server    string                  `json:"server"`
	Tool      string                  `json:"tool"`
	Arguments json.RawMessage         `json:"arguments"`
	Query     string                  `json:"query"`
}

type codexChange struct {
	Type     string  `json:"type"`
	Content  string  `json:"content"`
	Diff     string  `json:"unified_diff"`
	MovePath *string `json:"move_path"`
}

// codexReader reads one transcript of Codex.
type codexReader struct {
	kinds   Kinds
	session string
	agent   string // of another thread than the session's
	file    string
	dir     string // working directory
	calls   map[string]*codexCall
	order   []string // IDs of calls
	each    func(Call)
}

// codexCall is a call of a function, or the item that reports its effect.
type codexCall struct {
	Call
	isItem bool
}

// readCodex calls each for every call in a transcript. An item follows that reports the effect of
// the call. It contains the arguments as an approval shows them.
func readCodex(r io.Reader, f File, kinds Kinds, each func(Call), problem func(n int, err error)) error {
	c := codexReader{kinds: kinds, session: f.Session, agent: f.Agent, file: f.Path, calls: map[string]*codexCall{}, each: each}
	err := eachLine(r, c.line, problem)
	for _, id := range c.order {
		c.end(id)
	}
	return err
}

func (c *codexReader) line(n int, text []byte) error {
	var head struct {
		Type    string `json:"type"`
		Payload struct {
			Type string `json:"type"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return unreadable(err)
	}
	kind := head.Type + " " + head.Payload.Type
	isCall := head.Type == "response_item" && strings.HasSuffix(head.Payload.Type, "_call")
	if !isCall && !slices.Contains(codexLines, strings.TrimSpace(kind)) {
		return nil
	}
	var l codexLine
	if err := json.Unmarshal(text, &l); err != nil {
		return unreadable(err)
	}
	p := &l.Payload
	switch {
	case isCall:
		return c.call(n, &l, p)
	case p.Type == "":
		c.dir = p.Dir
	case p.Type == "item_completed":
		return c.item(n, &l, &p.Item)
	default: // the output of a call
		x := c.calls[p.CallID]
		if x == nil {
			return errors.New("the result of a call that the transcript does not contain")
		}
		if x.state == unfinished {
			x.Time, x.state = parseTime(l.Time), executed
			if p.Output {
				x.state = refused
			}
		}
	}
	return nil
}

// call begins a call of a function.
func (c *codexReader) call(n int, l *codexLine, p *codexPayload) error {
	id, name, args := p.CallID, p.Name, json.RawMessage(p.Arguments)
	switch p.Type {
	case "function_call":
	case "custom_tool_call":
		args = jsonwrite.MustEncode(map[string]any{"input": p.Input})
	case "local_shell_call":
		name, args = "local_shell", p.Action
	default: // performed by the provider, or by Codex without an output of this form
		name, args = strings.TrimSuffix(p.Type, "_call"), p.Action
		id = cmp.Or(p.CallID, p.ID, name)
	}
	if id == "" || name == "" {
		return errors.New("a call of a tool has no id or no name")
	}
	x := c.begin(n, id)
	x.Tool, x.Args, x.Kind = name, args, cmp.Or(codexTools[name], "other")
	var in struct {
		Command string  `json:"cmd"`
		Dir     string  `json:"workdir"`
		Chars   *string `json:"chars"`
	}
	_ = json.Unmarshal(args, &in) // a call of another form is not a command
	switch {
	case name == "exec_command":
		if in.Dir == "" {
			in.Dir = c.dir
		} else if !filepath.IsAbs(in.Dir) {
			in.Dir = filepath.Join(c.dir, in.Dir)
		}
		x.Tool, x.Args = "command", commandArgs(in.Command, in.Dir)
	case name == "write_stdin" && (in.Chars == nil || *in.Chars == ""): // waits for output
		x.Kind = inside
	}
	x.inside = x.Kind == inside
	if p.Name == "" && p.Type != "local_shell_call" {
		x.Time, x.state = parseTime(l.Time), executed
	}
	return nil
}

// begin returns a new call with an ID, and ends the one that had it.
func (c *codexReader) begin(n int, id string) *codexCall {
	if x := c.calls[id]; x != nil {
		c.end(id)
	} else {
		c.order = append(c.order, id)
	}
	x := &codexCall{Call: Call{Session: c.session, Agent: c.agent, ID: id, File: c.file, Line: n, silent: true}}
	c.calls[id] = x
	return x
}

func (c *codexReader) end(id string) {
	if x := c.calls[id]; x != nil {
		c.each(x.Call)
		delete(c.calls, id)
	}
}

// item handles the report of a call's effect. It replaces the arguments of the call by those that
// were used.
func (c *codexReader) item(n int, l *codexLine, i *codexItem) error {
	var tool, kind string
	var args json.RawMessage
	var paths []string
	switch i.Type {
	case "CommandExecution":
		dir, ok := fileuri.Path(i.Dir, "")
		if !ok {
			dir = i.Dir
		}
		var actions []string
		for _, a := range i.Parsed {
			actions = append(actions, a.Type)
		}
		tool, kind, args = "command", c.kinds.CodexCommand(actions), commandArgs(commandText(i.Command), dir)
	case "FileChange":
		paths = slices.Sorted(maps.Keys(i.Changes))
		tool, kind, args = "fileChange", "edit", jsonwrite.MustEncode(map[string]any{"changes": changeList(i.Changes, paths)})
	case "McpToolCall":
		tool, kind, args = i.Server+"."+i.Tool, "other", i.Arguments
	case "DynamicToolCall":
		tool, kind, args = i.Tool, "other", i.Arguments
	case "CollabAgentToolCall":
		tool, kind, args = i.Tool, cmp.Or(codexTools[i.Tool], "other"), nil
	default:
		if !slices.Contains(codexQuiet, i.Type) {
			return fmt.Errorf("an item of the unknown type %q", i.Type)
		}
		return nil
	}
	if i.ID == "" {
		return errors.New("an item has no id")
	}
	x := c.calls[i.ID]
	if x == nil || x.isItem {
		x = c.begin(n, i.ID)
	}
	x.Tool, x.Kind, x.Paths, x.isItem = tool, kind, paths, true
	x.own, x.inside = i.Type == "DynamicToolCall", kind == inside
	if args != nil {
		x.Args = args
	}
	x.Time, x.state = parseTime(l.Time), executed
	if i.Status == "declined" {
		x.state = refused
	}
	return nil
}

func commandArgs(command, dir string) json.RawMessage {
	return jsonwrite.MustEncode(map[string]any{"command": command, "cwd": dir})
}

// shells lists the shells whose command an approval shows alone.
var shells = []string{"bash", "zsh", "sh", "/bin/bash", "/bin/zsh", "/bin/sh", "/usr/bin/bash", "/usr/bin/zsh", "/usr/bin/sh"}

// commandText returns a command in the form in which an approval shows it.
func commandText(words []string) string {
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") && slices.Contains(shells, words[0]) {
		return words[2]
	}
	return strings.Join(words, " ")
}

// changeList returns changes in the form of Codex's protocol, which approvals show.
func changeList(changes map[string]codexChange, paths []string) []any {
	all := []any{}
	for _, path := range paths {
		c := changes[path]
		kind := map[string]any{"type": c.Type}
		text := c.Content
		if c.Type == "update" {
			kind["move_path"], text = c.MovePath, c.Diff
			if c.MovePath != nil {
				text += "\n\nMoved to: " + *c.MovePath
			}
		}
		all = append(all, map[string]any{"path": path, "kind": kind, "diff": text})
	}
	return all
}
