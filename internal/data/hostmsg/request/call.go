package request

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// kindOf returns the kind of a call by the name of its tool. Agents that speak ACP use the kinds as
// names of tools.
func kindOf(tool string) string {
	switch tool {
	case "read", "edit", "delete", "move", "search", "execute", "think", "fetch":
		return tool
	case "command", "commandExecution", "shell", "terminal":
		return "execute"
	case "fileChange":
		return "edit"
	case "webSearch":
		return "search"
	}
	return hostmsg.ClaudeKind(tool)
}

// subjectOf returns the name of the argument that the text of a call contains, or "".
func subjectOf(kind string) string {
	switch kind {
	case "execute":
		return "command"
	case "read", "edit", "delete":
		return "path"
	case "search":
		return "query"
	case "fetch":
		return "url"
	}
	return ""
}

// called is a progress message about a call, with the forms in which vendors describe calls.
type called struct {
	Message string `json:"message"`
	Stage   string `json:"stage"`
	Payload struct {
		Message struct {
			Content json.RawMessage `json:"content"` // blocks, of Claude Code
		} `json:"message"`
		Params struct {
			Item   json.RawMessage `json:"item"`   // of Codex
			Update json.RawMessage `json:"update"` // of agents that speak ACP
		} `json:"params"`
	} `json:"payload"`
}

// OfCall returns the view of a call that a host reports by a progress message, or nil if the
// message reports no call.
func OfCall(progress json.RawMessage) *View {
	var c called
	isOther := json.Unmarshal(progress, &c) != nil // the payload has a form of another vendor
	if c.Stage != "tool" || c.Message == "" {
		return nil
	}
	name, about, _ := strings.Cut(c.Message, ": ")
	if strings.ContainsAny(name, " \n") {
		return &View{Title: c.Message, IsOwn: true}
	}
	m := message{Tool: name, Kind: kindOf(name), Description: c.Message}
	if !isOther && c.fill(&m, about) {
		m.Description = strings.TrimSuffix(c.Message, "…")
	} else if subject := subjectOf(m.Kind); subject != "" && about != "" && m.Tool != m.Kind {
		m.Args = jsonwrite.MustEncode(map[string]string{subject: about})
	}
	v := m.view(nil)
	if m.Tool == m.Kind && v.Title == "Use "+m.Tool && v.Text != "" { // the agent has named the call itself
		v.Title, v.Text, _ = strings.Cut(v.Text, "\n")
		v.IsOwn = true
	}
	return v
}

// fill sets the arguments of a call, and reports whether the message has them. about is the text of
// the call after the name of its tool.
func (c *called) fill(m *message, about string) bool {
	var blocks []struct {
		Type  string          `json:"type"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if json.Unmarshal(c.Payload.Message.Content, &blocks) == nil {
		for _, b := range blocks {
			x := message{Tool: m.Tool, Kind: m.Kind, Args: b.Input}
			if b.Type == "tool_use" && b.Name == m.Tool && x.view(nil).shows(strings.TrimSuffix(about, "…")) {
				m.Args = b.Input
				return true
			}
		}
	}
	var item struct {
		Command string          `json:"command"`
		Dir     string          `json:"cwd"`
		Changes json.RawMessage `json:"changes"`
		Args    json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(c.Payload.Params.Item, &item) == nil {
		switch {
		case item.Command != "":
			if !strings.HasSuffix(about, "…") {
				item.Command = about // without the shell that runs it
			}
			m.Args = jsonwrite.MustEncode(map[string]string{"command": item.Command, "cwd": item.Dir})
		case item.Changes != nil:
			m.Args = slices.Concat([]byte(`{"changes":`), item.Changes, []byte("}"))
		default:
			m.Args = item.Args
		}
		return m.Args != nil
	}
	var update struct {
		Input   json.RawMessage `json:"rawInput"`
		Content []struct {
			Type string  `json:"type"`
			Path string  `json:"path"`
			Old  *string `json:"oldText"`
			New  string  `json:"newText"`
		} `json:"content"`
	}
	if json.Unmarshal(c.Payload.Params.Update, &update) != nil {
		return false
	}
	for _, x := range update.Content {
		if x.Type == "diff" {
			m.Changes = append(m.Changes, replacement{x.Path, x.Old, x.New})
		}
	}
	m.Args = update.Input
	return len(m.Args) > len("{}") || m.Changes != nil
}
