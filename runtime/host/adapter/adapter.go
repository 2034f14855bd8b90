// Package adapter translates between the lines of vendors' agents (Claude Code, Codex, agents of
// the Agent Client Protocol) and the messages of the host protocol; its API promises nothing.
// Protocols is the table of the vendors. runtime/host starts their processes and passes each line
// through the Adapter of its process.
package adapter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Adapter translates between a vendor's lines and those of the host protocol. It has no goroutine,
// no clock and no connection, and its state is plain data: the same lines in the same order always
// produce the same lines. A host of our protocol needs none.
//
// The messages are those of spec/host-protocol.md: init begins the vendor's handshake, which ends
// with init_ack or error; prompt, response and cancel are translated.
type Adapter interface {
	// FromAgent translates a line of the vendor's agent.
	FromAgent(line []byte) Output
	// ToAgent translates a message to the host.
	ToAgent(line []byte) Output
	// Conversation returns the vendor's name of the session, as last received, or "".
	Conversation() string
}

// Output contains the results of a line. Lines have no line ends.
type Output struct {
	Messages [][]byte     // messages of the host, in our protocol
	Lines    [][]byte     // lines to the vendor's agent
	Requests []Request    // requests to perform, whose results the agent expects
	Bridge   []BridgeLine // lines over the bridge to the tools
	Quiet    string       // name of a message that is not passed to the program, or ""
}

func (s *Output) addMessage(o *jsonobject.Object) { s.Messages = append(s.Messages, o.End()) }
func (s *Output) addLines(lines ...[]byte)        { s.Lines = append(s.Lines, lines...) }

// then returns s followed by more.
func (s Output) then(more Output) Output {
	s.Messages, s.Lines = append(s.Messages, more.Messages...), append(s.Lines, more.Lines...)
	s.Requests, s.Bridge = append(s.Requests, more.Requests...), append(s.Bridge, more.Bridge...)
	return s
}

// Config configures an adapter.
type Config struct {
	Host    string       // name of the declaration, used in messages
	Dir     string       // absolute path of the working directory
	Model   string       // "" selects the vendor's default
	Mode    string       // "" selects the vendor's default
	Policy  string       // codex: when it asks
	Sandbox string       // codex: what it may access
	Bridge  *BridgeEntry // acp: how the agent reaches the tools as an MCP server; nil if it does not
	Serves  bool         // acp: we perform requests for files and terminals
	Fresh   bool         // each exchange begins a new session
	Resume  string       // the session to continue; "" begins a new one
	Tools   Tools        // of the program, that the agent may call
}

// Tools are the program's tools for an agent.
type Tools []effect.ToolSpec

// Equal reports whether two lists are equal.
func (t Tools) Equal(other Tools) bool {
	return slices.EqualFunc(t, other, func(a, b effect.ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
	})
}

// mcpList returns the tools in the form of an MCP server's list.
func (t Tools) mcpList() []any {
	out := []any{}
	for _, f := range t {
		out = append(out, obj{"name": f.Name, "description": f.Description, "inputSchema": f.Parameters})
	}
	return out
}

// obj is a JSON object of a vendor's protocol; its members are written in order of name.
type obj = map[string]any

// ours is a line of our protocol.
type ours struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Context  json.RawMessage `json:"context"`
	Schema   json.RawMessage `json:"schema"`
	Resumed  *Resumption     `json:"resumed"` // of a prompt
	AnswerTo string          `json:"answer_to"`
	Value    json.RawMessage `json:"value"`
	Error    string          `json:"error"`
	Reason   string          `json:"reason"`
}

// parseOurs parses a line that this package or its caller wrote. An adapter's message ids are
// texts, so answer_to is one.
func parseOurs(line []byte) ours {
	var o ours
	if err := json.Unmarshal(line, &o); err != nil {
		panic("host: a line of ours is no message: " + err.Error())
	}
	return o
}

// prompt returns the complete text of a prompt.
func (o *ours) prompt() string {
	s := o.Text
	if len(o.Context) > 0 {
		s += "\n\nContext: " + string(o.Context)
	}
	if len(o.Schema) > 0 {
		s += "\n\nAnswer with JSON alone, which this JSON Schema describes: " + string(o.Schema)
	}
	if o.Resumed != nil {
		s += "\n\n" + o.Resumed.instructions()
	}
	return s
}

// instructions returns the text that describes to an agent the exchange that it continues.
func (r *Resumption) instructions() string {
	s := "You were interrupted while you worked on this. Continue from the point of the interruption, and do not repeat work that is done."
	if r.Answered != nil {
		s += "\nYour last question that was answered: " + string(r.Answered) + "\nThe answer: " + string(r.Response) + "\nRepeat the questions that you have asked since then."
	}
	return s
}

// foreign handles a line that does not belong to the vendor's protocol. A line that begins as an
// object but is not valid is passed on unchanged, so that the reader fails as for any host. Any
// other line is logged as a warning.
func foreign(line []byte) (s Output) {
	if jsonobject.Begins(line) && !json.Valid(line) {
		s.Messages = append(s.Messages, line)
		return s
	}
	s.warn(stderrlog.Quote(line))
	return s
}

func (s *Output) warn(message string) {
	o := jsonobject.New("log")
	o.Text("level", "warn")
	o.Text("message", message)
	s.addMessage(o)
}

func (s *Output) thought(text string) {
	if text == "" {
		return
	}
	o := jsonobject.New("log")
	o.Text("level", "thought")
	o.Text("message", text)
	s.addMessage(o)
}

func (s *Output) partial(text string) {
	if text == "" {
		return
	}
	o := jsonobject.New("partial")
	o.Text("text", text)
	s.addMessage(o)
}

func (s *Output) progress(stage, message string, payload []byte) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", message)
	o.Text("stage", stage)
	o.Raw("payload", payload)
	s.addMessage(o)
}

// other reports a message that the adapter has no row for.
func (s *Output) other(name string, payload []byte) { s.progress("other", name, payload) }

func (s *Output) withdraw(id string) {
	o := jsonobject.New("withdraw")
	o.Text("id", id)
	s.addMessage(o)
}

// toolCall reports a call of one of the program's tools.
func (s *Output) toolCall(id, tool string, args json.RawMessage) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	o := jsonobject.New("tool_call")
	o.Text("id", id)
	o.Text("tool", tool)
	o.Raw("args", args)
	s.addMessage(o)
}

// toolText returns a tool's result as text for a model, and whether it is an error.
func (o *ours) toolText() (text string, failed bool) {
	switch {
	case o.Error != "":
		return o.Error, true
	case json.Unmarshal(o.Value, &text) == nil:
		return text, false
	}
	return string(o.Value), false
}

// ready ends the handshake.
func (s *Output) ready(version string) {
	o := jsonobject.New("init_ack")
	if version != "" {
		o.Text("version", version)
	}
	o.Raw("capabilities", []byte(`["cancel","resume"]`))
	s.addMessage(o)
}

// failed ends the handshake or an exchange with an error.
func (s *Output) failed(message, code, session string, payload []byte) {
	o := jsonobject.New(hostmsg.Error)
	o.Text("message", message)
	if code != "" {
		o.Text("code", code)
	}
	if session != "" {
		o.Text("session", session)
	}
	if payload != nil {
		o.Raw("payload", payload)
	}
	s.addMessage(o)
}

// summaryLimit limits what a displayed message repeats of a call, in characters.
const summaryLimit = 200

// short returns the first line of a text, within summaryLimit. It ends in "…" if the text is
// shortened.
func short(text string) string {
	text, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(text)
	if len(runes) > summaryLimit || rest != "" {
		return string(runes[:min(len(runes), summaryLimit-1)]) + "…"
	}
	return text
}

// summaryOf lists the arguments of calls that say what the call is about.
var summaryOf = []string{"command", "file_path", "filePath", "path", "url", "pattern", "query"}

// subject returns what a call is about: the first of summaryOf that is a text, or the first text.
func subject(args []byte) string {
	var texts struct{ first, named string }
	at := len(summaryOf)
	for _, m := range jsonobject.MembersOf(args) {
		var text string
		if json.Unmarshal(m.Value, &text) != nil || text == "" {
			continue
		}
		if texts.first == "" {
			texts.first = text
		}
		for i, name := range summaryOf[:at] {
			if m.Name == name {
				texts.named, at = text, i
			}
		}
	}
	return cmp.Or(texts.named, texts.first)
}

// about returns "TOOL: SUMMARY", or the tool alone.
func about(tool, summary string) string {
	if summary == "" {
		return tool
	}
	return tool + ": " + summary
}

// commandLimit limits the characters of an approval's description.
const commandLimit = 500

// described returns the description of an approval: the tool and what it will do.
func described(tool, what string) string {
	return about(terminal.OneLine(tool), terminal.Brief(strings.Trim(what, " \t\r\n"), commandLimit))
}

// JoinLines joins lines and ends each with a newline.
func JoinLines(all [][]byte) []byte {
	var b []byte
	for _, l := range all {
		b = ndjson.Append(b, l)
	}
	return b
}

// Resumption is what a new process of a host receives about the exchange that it continues.
type Resumption struct {
	Answered json.RawMessage `json:"answered,omitempty"` // the message that was answered last,
	Response json.RawMessage `json:"response,omitempty"` // and the response to it
}
