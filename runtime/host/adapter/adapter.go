// Package adapter translates between the messages of the host protocol and the lines of vendors'
// agents: Claude Code, Codex, and agents of the Agent Client Protocol. Protocols is the table of
// the vendors. runtime/host starts their processes and passes each line through the Adapter of its
// process.
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
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Adapter translates between the lines of a vendor's agent and the messages of the host protocol.
// It has no goroutine, no clock and no connection, and its state is plain data: the same lines in
// the same order always produce the same lines. A host that uses the host protocol itself needs no
// Adapter.
//
// The messages are those of spec/host-protocol.md. The message init begins the vendor's handshake,
// which ends with init_ack or error. The messages prompt, response and cancel are translated.
type Adapter interface {
	// FromAgent translates a line that the vendor's agent has sent.
	FromAgent(line []byte) Output
	// ToAgent translates a message for the agent.
	ToAgent(line []byte) Output
	// Conversation returns the vendor's name of the session that the agent reported last, or "".
	Conversation() string
}

// Output contains the results of translating one line. Its lines have no line ends.
type Output struct {
	Messages [][]byte         // messages of the host protocol, as if the host had sent them
	Lines    [][]byte         // lines to send to the vendor's agent
	Requests []Request        // requests to perform for the agent, which expects their results
	Bridge   []BridgeLine     // lines to send to clients of the tool bridge
	Steered  []Steered        // answers of the agent to messages of the type steer
	Lost     []Undelivered    // decisions that the agent has not received
	Refused  []RefusedRequest // requests of the agent that were answered with an error
	Own      []OwnDecision    // decisions that the agent has made itself, without a request
	Quiet    string           // name of the agent's message if the program does not receive it; otherwise ""

	session string          // of the agent; its requests contain it
	agent   json.RawMessage // HostAgent of the messages; nil for the host's agent itself
}

// addAgent adds the member agent to a message of a subagent.
func (s *Output) addAgent(o *jsonobject.Object) {
	if s.agent != nil {
		o.Raw("agent", s.agent)
	}
}

func (s *Output) addMessage(o *jsonobject.Object) { s.Messages = append(s.Messages, o.End()) }
func (s *Output) addLines(lines ...[]byte)        { s.Lines = append(s.Lines, lines...) }

// RefusedRequest is a request of an agent that an adapter has refused, because Concerto does not
// support it or cannot read it. The lines of the Output contain the answer.
type RefusedRequest struct {
	ID      string // of the request
	Name    string // method or subtype
	Reason  string // as the agent receives it
	Request []byte // the agent's line
	Session string // of the agent; "" if it has none yet
}

// refused adds a refusal and returns its reason. If problem is "", the request is not supported.
func (s *Output) refused(id, name, problem string, line []byte) string {
	reason := "concerto does not support " + name
	if problem != "" {
		reason = "concerto cannot answer " + name + ": " + problem
	}
	s.Refused = append(s.Refused, RefusedRequest{ID: id, Name: name, Reason: reason, Request: line, Session: s.session})
	return reason
}

// Undelivered is a decision that an agent has not received. Reason is one of the constants below.
type Undelivered struct{ ID, Reason string }

const (
	ReasonExited      = "the process has exited"
	ReasonClosed      = "the request was no longer open"
	ReasonUnconfirmed = "the agent did not confirm it"
)

// exchangeEnded is the reason for which a request is refused that is open when its exchange ends.
const exchangeEnded = "the exchange has ended"

// Confirmer is an Adapter of an agent that confirms the decisions which it receives.
type Confirmer interface {
	// Unconfirmed returns the IDs of the requests whose decisions the agent has not confirmed,
	// sorted.
	Unconfirmed() []string
}

// confirmations are the decisions that an agent has not confirmed.
type confirmations struct {
	Answered map[string]bool `json:",omitempty"` // IDs of the requests
	Knows    bool            // the agent has confirmed a decision: it is a version that does
}

func (c *confirmations) add(id string) {
	if c.Answered == nil {
		c.Answered = map[string]bool{}
	}
	c.Answered[id] = true
}

// confirm notes that the agent has confirmed a decision. It ignores other requests' IDs.
func (c *confirmations) confirm(id string) {
	if !c.Answered[id] {
		return
	}
	if delete(c.Answered, id); len(c.Answered) == 0 {
		c.Answered = nil
	}
	c.Knows = true
}

func (c *confirmations) Unconfirmed() []string {
	if !c.Knows {
		return nil
	}
	return sortedKeys(c.Answered)
}

// endTurn reports the decisions that the agent has not confirmed in its turn.
func (c *confirmations) endTurn(s *Output) {
	for _, id := range c.Unconfirmed() {
		s.Lost = append(s.Lost, Undelivered{id, ReasonUnconfirmed})
	}
	c.Answered = nil
}

// Steered is the answer of an agent to a message of the type steer. A refused message becomes the
// prompt of a later turn.
type Steered struct {
	ID       string
	Accepted bool
	Begins   bool // it is the prompt of a turn that has begun
}

// TurnBeginner is an Adapter of an agent that begins a turn by itself with the messages that it has
// not read in its last one.
type TurnBeginner interface {
	// BeginsTurn reports whether the agent has such messages.
	BeginsTurn() bool
}

// LateReader is an Adapter of an agent whose messages do not name the prompt to which they belong.
type LateReader interface {
	// FromAgentLate is FromAgent for a line that the agent wrote before it was sent the newest
	// prompt.
	FromAgentLate(line []byte) Output
}

// then returns s with the results of more appended.
func (s Output) then(more Output) Output {
	s.Messages, s.Lines = append(s.Messages, more.Messages...), append(s.Lines, more.Lines...)
	s.Requests, s.Bridge = append(s.Requests, more.Requests...), append(s.Bridge, more.Bridge...)
	s.Steered, s.Refused = append(s.Steered, more.Steered...), append(s.Refused, more.Refused...)
	s.Lost, s.Own = append(s.Lost, more.Lost...), append(s.Own, more.Own...)
	return s
}

// Config configures an adapter.
type Config struct {
	Host    string       // name of the host declaration, used in messages
	Seed    string       // unique for each process; the IDs of messages to the agent are derived from it
	Dir     string       // absolute path of the working directory
	Model   string       // "" selects the vendor's default
	Mode    string       // "" selects the vendor's default
	Policy  string       // for Codex: when the agent requests approval
	Sandbox string       // for Codex: what the agent may access
	Bridge  *BridgeEntry // for ACP: how the agent reaches the program's tools as an MCP server; nil if it cannot
	Serves  bool         // for ACP: the client performs requests for files and terminals
	Fresh   bool         // each exchange begins a new session
	Resume  string       // session to continue; "" begins a new one
	Tools   Tools        // tools of the program that the agent may call
	// for Claude Code: JSON Schema of the results; nil for none
	Schema json.RawMessage

	Stores     bool   // for Claude Code: it reads the settings in which it stores rules
	Background string // one of the values above; "" means BackgroundWait
}

// Tools lists the program's tools that an agent may call.
type Tools []effect.ToolSpec

// Equal reports whether two lists are equal.
func (t Tools) Equal(other Tools) bool {
	return slices.EqualFunc(t, other, func(a, b effect.ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
	})
}

// mcpList returns the tools in the form of an MCP server's list. Claude Code otherwise shows its
// model the names of tools only when the model searches for them.
func (t Tools) mcpList() []any {
	out := []any{}
	for _, f := range t {
		out = append(out, obj{"name": f.Name, "description": f.Description, "inputSchema": f.Parameters, "_meta": obj{"anthropic/alwaysLoad": true}})
	}
	return out
}

// obj is a JSON object of a vendor's protocol. Its members are written in the order of their names.
type obj = map[string]any

// ours contains the fields of the messages of the host protocol that an adapter receives.
type ours struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Context json.RawMessage `json:"context"`
	Schema  json.RawMessage `json:"schema"`
	Resumed *Resumption     `json:"resumed"` // of a prompt
	// position in the trace, of an init or a prompt
	Trace    map[string]string `json:"trace"`
	AnswerTo string            `json:"answer_to"`
	Value    json.RawMessage   `json:"value"`
	Error    string            `json:"error"`
	Reason   string            `json:"reason"`
	ID       string            `json:"id"`     // of a steer
	Queued   bool              `json:"queued"` // of a prompt: it begins a later turn of the exchange
}

// Types of lines for adapters of the type Worker that are no messages of the host protocol.
const (
	pollLine = "poll" // sent regularly while the exchange waits
	stopLine = "stop" // the exchange no longer waits; the member reason is described at expire
)

// Poll returns a line for an adapter whose exchange waits for background tasks.
func Poll() []byte { return []byte(`{"type":"` + pollLine + `"}`) }

// Stop returns a line after which an adapter stops the background tasks. why completes a sentence
// about the host: the exchange fails with it if agents are among the tasks.
func Stop(why string) []byte {
	o := jsonobject.New(stopLine)
	o.Text("reason", why)
	return o.End()
}

// parseOurs parses a message that this package or its caller wrote. The IDs of an adapter's
// messages are strings, so answer_to is a string as well.
func parseOurs(line []byte) ours {
	var o ours
	if err := json.Unmarshal(line, &o); err != nil {
		panic("host: a line of ours is no message: " + err.Error())
	}
	return o
}

// prompt returns the text of the prompt, with the context and the instructions for a continued
// exchange.
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

// instructions returns a text that describes to an agent the interrupted exchange that it
// continues.
func (r *Resumption) instructions() string {
	s := "You were interrupted while you worked on this. Continue from the point of the interruption, and do not repeat work that is done."
	if r.Answered != nil {
		s += "\nYour last question that was answered: " + string(r.Answered) + "\nThe answer: " + string(r.Response) + "\nRepeat the questions that you have asked since then."
	}
	if r.Lost != "" {
		s += "\nThese background tasks were lost; start them again if you need them: " + r.Lost
	}
	return s
}

// foreign handles a line that does not belong to the vendor's protocol. A line that begins as an
// object but is not valid JSON is passed on unchanged, so that the reader fails as it does for any
// host. Any other line is logged as a warning.
func foreign(line []byte) (s Output) {
	if jsonobject.Begins(line) && !json.Valid(line) {
		s.Messages = append(s.Messages, line)
		return s
	}
	s.warn(stderrlog.Quote(line))
	return s
}

func (s *Output) log(level, message string) {
	o := jsonobject.New("log")
	o.Text("level", level)
	o.Text("message", message)
	s.addMessage(o)
}

func (s *Output) warn(message string) { s.log("warn", message) }

func (s *Output) thought(text string) {
	if text != "" {
		s.log("thought", text)
	}
}

// subagentText reports a text of an agent that works for the host's agent. It is not part of the
// result.
func (s *Output) subagentText(text string) {
	if text != "" {
		s.log("agent", text)
	}
}

// partial reports a piece of the agent's text. message is the ID by which it can be retracted; ""
// for none.
func (s *Output) partial(text, message string) {
	if text == "" {
		return
	}
	o := jsonobject.New(hostmsg.Partial)
	o.Text("text", text)
	if message != "" {
		o.Text("message", message)
	}
	s.addMessage(o)
}

// retract retracts the pieces of messages.
func (s *Output) retract(messages []string) {
	o := jsonobject.New(hostmsg.Retract)
	o.Raw("messages", jsonwrite.MustEncode(messages))
	s.addMessage(o)
}

func (s *Output) progress(stage, message string, payload []byte) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", message)
	o.Text("stage", stage)
	s.addAgent(o)
	o.Raw("payload", payload)
	s.addMessage(o)
}

// foreignTurn reports the end of a turn that the exchange has not begun.
func (s *Output) foreignTurn(text string, payload []byte) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", short(text))
	o.Text("stage", "turn")
	o.Raw("foreign", []byte("true"))
	o.Raw("payload", payload)
	s.addMessage(o)
}

// spent reports what the current turn has used so far, as far as it is known; payload may be nil.
func (s *Output) spent(message string, used totals, payload []byte) {
	o := jsonobject.New(hostmsg.Progress)
	o.Text("message", message)
	o.Text("stage", "usage")
	used.addTo(o)
	if payload != nil {
		o.Raw("payload", payload)
	}
	s.addMessage(o)
}

// other reports a message for which the adapter has no handler.
func (s *Output) other(name string, payload []byte) { s.progress("other", name, payload) }

func (s *Output) withdraw(id string) {
	o := jsonobject.New("withdraw")
	o.Text("id", id)
	s.addMessage(o)
}

// toolCall reports that the agent calls one of the program's tools.
func (s *Output) toolCall(id, tool string, args json.RawMessage) {
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	o := jsonobject.New("tool_call")
	o.Text("id", id)
	o.Text("tool", tool)
	o.Raw("args", args)
	s.addAgent(o)
	s.addMessage(o)
}

// toolText returns a tool's result as text for a model. failed reports whether the result is an
// error.
func (o *ours) toolText() (text string, failed bool) {
	switch {
	case o.Error != "":
		return o.Error, true
	case json.Unmarshal(o.Value, &text) == nil:
		return text, false
	}
	return string(o.Value), false
}

// ready ends the handshake successfully. steers reports whether the agent receives messages while
// it works.
func (s *Output) ready(version string, steers bool) {
	o := jsonobject.New("init_ack")
	if version != "" {
		o.Text("version", version)
	}
	capabilities := `["cancel","resume"]`
	if steers {
		capabilities = `["cancel","resume","steer"]`
	}
	o.Raw("capabilities", []byte(capabilities))
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

// summaryLimit is the maximum length, in characters, of a call's summary in a displayed message.
const summaryLimit = 200

// short returns the first line of a text, cut to summaryLimit characters. A cut text ends in "…".
func short(text string) string {
	text, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(text)
	if len(runes) > summaryLimit || rest != "" {
		return string(runes[:min(len(runes), summaryLimit-1)]) + "…"
	}
	return text
}

// summaryOf lists names of arguments, in order of preference, whose value serves as the summary of
// a call.
var summaryOf = []string{"command", "file_path", "filePath", "path", "url", "pattern", "query"}

// subject returns the summary of a call with the given arguments: the first text argument that is
// listed in summaryOf, or the first text argument.
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

// about returns "TOOL: SUMMARY", or only the tool's name if the summary is empty.
func about(tool, summary string) string {
	if summary == "" {
		return tool
	}
	return tool + ": " + summary
}

// commandLimit is the maximum length, in characters, of an approval's description.
const commandLimit = 500

// described returns the description of an approval: the tool's name and the action.
func described(tool, what string) string {
	return about(terminal.OneLine(tool), terminal.Brief(strings.Trim(what, " \t\r\n"), commandLimit))
}

// JoinLines concatenates the lines and ends each with a newline.
func JoinLines(all [][]byte) []byte {
	var b []byte
	for _, l := range all {
		b = ndjson.Append(b, l)
	}
	return b
}

// Resumption describes an interrupted exchange for a new process of the host, which continues the
// exchange.
type Resumption struct {
	Answered json.RawMessage `json:"answered,omitempty"` // the message that was answered last,
	Response json.RawMessage `json:"response,omitempty"` // and the response to it
	Lost     string          `json:"lost,omitempty"`     // names of the background tasks that were lost; "" for none
}
