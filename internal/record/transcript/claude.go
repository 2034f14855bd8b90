package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// claudeOurs begins the names of the program's tools.
const claudeOurs = "mcp__concerto__"

// claudeLine contains the members of a line that are read.
type claudeLine struct {
	UUID    string `json:"uuid"`
	Time    string `json:"timestamp"`
	Agent   string `json:"agentId"`
	Dir     string `json:"cwd"`
	Message struct {
		Content claudeBlocks `json:"content"`
	} `json:"message"`
	// NotRun is set if the user interrupted the agent before it executed the call.
	NotRun bool `json:"toolDenialBeforeRun"`
	// Decision is the agent's reason to execute or refuse the call whose result the line contains.
	Decision *struct {
		Decision string `json:"decision"`
		Source   string `json:"source"`
		Type     string `json:"reasonType"`
	} `json:"permissionDecision"`
}

// claudeBlocks is the content of a message; empty if it is a text.
type claudeBlocks []claudeBlock

func (b *claudeBlocks) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return nil
	}
	var all []claudeBlock
	err := json.Unmarshal(text, &all)
	*b = all
	return err
}

type claudeBlock struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	ToolUse string          `json:"tool_use_id"`
	Content claudeFailure   `json:"content"`
	IsError bool            `json:"is_error"`
}

// claudeFailure is true if a result states that the agent could not execute the call. The result
// itself, which may be long, is not stored.
type claudeFailure bool

func (f *claudeFailure) UnmarshalJSON(text []byte) error {
	*f = claudeFailure(bytes.HasPrefix(text, []byte(`"<tool_use_error>`)) || bytes.HasPrefix(text, []byte(`"\u003ctool_use_error\u003e`)))
	return nil
}

// claudeReader reads one transcript of Claude Code.
type claudeReader struct {
	kinds   Kinds
	session string
	file    string
	open    map[string]Call // calls without a result
	seen    map[string]bool // UUIDs of the lines with results
	each    func(Call)
}

// readClaude calls each for every call in a transcript.
func readClaude(r io.Reader, f File, kinds Kinds, each func(Call), problem func(n int, err error)) error {
	c := claudeReader{kinds: kinds, session: f.Session, file: f.Path, open: map[string]Call{}, seen: map[string]bool{}, each: each}
	err := eachLine(r, c.line, problem)
	for _, id := range slices.Sorted(maps.Keys(c.open)) {
		each(c.open[id])
	}
	return err
}

func (c *claudeReader) line(n int, text []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return unreadable(err)
	}
	if head.Type != "assistant" && head.Type != "user" {
		return nil
	}
	var l claudeLine
	if err := json.Unmarshal(text, &l); err != nil {
		return unreadable(err)
	}
	blocks := l.Message.Content
	// The agent may repeat lines when it continues a conversation.
	repeated, results := l.UUID != "" && c.seen[l.UUID], 0
	for i := range blocks {
		switch b := &blocks[i]; {
		case strings.HasSuffix(b.Type, "tool_use"): // also server_tool_use
			if b.ID == "" || b.Name == "" {
				return errors.New("a call of a tool has no id or no name")
			}
			c.open[b.ID] = Call{Session: c.session, ID: b.ID, Agent: l.Agent, Tool: b.Name, Kind: c.kinds.Claude(b.Name), Args: absolute(b.Input, l.Dir), File: c.file, Line: n,
				inside: slices.Contains(c.kinds.ClaudeInside, b.Name), own: strings.HasPrefix(b.Name, claudeOurs)}
		case strings.HasSuffix(b.Type, "tool_result"):
			if results++; repeated {
				delete(c.open, b.ToolUse)
			} else if err := c.result(&l, b); err != nil {
				return err
			}
		}
	}
	if results > 0 {
		c.seen[l.UUID] = true
	}
	return nil
}

// absolute returns the arguments of a call with an absolute path of a file, as Claude Code requests
// it.
func absolute(input json.RawMessage, dir string) json.RawMessage {
	var members map[string]json.RawMessage
	var path string
	if json.Unmarshal(input, &members) != nil || json.Unmarshal(members["file_path"], &path) != nil || path == "" || filepath.IsAbs(path) || dir == "" {
		return input
	}
	members["file_path"] = jsonwrite.MustEncode(filepath.Join(dir, path))
	return jsonwrite.MustEncode(members)
}

// result ends the call whose result a block is.
func (c *claudeReader) result(l *claudeLine, b *claudeBlock) error {
	x, ok := c.open[b.ToolUse]
	if !ok {
		return errors.New("the result of a call that the transcript does not contain")
	}
	delete(c.open, b.ToolUse)
	x.Time, x.state = parseTime(l.Time), executed
	d := l.Decision
	if d == nil {
		// Before it decides, the agent checks whether it can execute the call.
		if x.silent = true; l.NotRun || b.IsError && bool(b.Content) {
			x.state = refused
		}
		c.each(x)
		return nil
	}
	if d.Decision == "reject" {
		x.state = refused
	}
	x.Reason = d.Source
	if d.Type != "" && d.Type != d.Source {
		x.Reason += ", " + d.Type
	}
	x.isUser = strings.HasPrefix(d.Source, "user_")
	x.byRule = x.isUser && d.Type == "rule"
	c.each(x)
	return nil
}
