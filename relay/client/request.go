package client

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	view "github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// request is a question to the people who follow the run.
type request struct {
	protocol.PermissionRequested
	channel string                            // channel for error messages of the program
	read    func(path string) ([]byte, error) // reads a file that a host requests to change; nil on another machine
}

// line returns the request as a line for hostd.
func (q *request) line() []byte {
	text, err := json.Marshal(struct {
		Ask string `json:"ask"`
		protocol.PermissionRequested
	}{q.RequestID, q.PermissionRequested})
	if err != nil {
		panic("relay: a request is no JSON: " + err.Error())
	}
	return append(text, '\n')
}

// NewRequest converts an effect of a run that waits for a person to a request with the given id.
// now is the time at which the effect began.
func NewRequest(id string, r effect.Request, now time.Time) protocol.PermissionRequested {
	return newRequest(id, r, now, nil).PermissionRequested
}

// newRequest converts an effect of a run to a request with the given id.
func newRequest(id string, r effect.Request, now time.Time, read func(string) ([]byte, error)) *request {
	q := &request{read: read}
	q.RequestID = id
	switch r := r.(type) {
	case *effect.AskHost:
		q.channel = hostmsg.Lookup(r.Type).Channel
		q.fillHost(&r.Asking, r.Message, now)
		q.setPosition(r.From)
	case *effect.AwaitEmit:
		q.channel = r.Channel
		if asks := r.Asks; asks != nil {
			q.fillHost(asks, r.Payload, now)
		} else if r.Channel != effect.ToolApproval || !q.fillTool(r.Payload, now) {
			q.fillEmit(r)
		}
		if q.From.Channel = r.Channel; r.Misfit != "" {
			q.Prompt = r.Misfit + "\n" + q.Prompt
		}
		q.setPosition(r.From)
	}
	return q
}

// setPosition sets the position in the program that the request comes from.
func (q *request) setPosition(from *effect.From) {
	if from != nil && from.File != "" {
		q.From.File, q.From.Line = from.File, &from.Line
	}
}

// setExpiry sets the time at which the request expires, d after now.
func (q *request) setExpiry(d time.Duration, now time.Time) {
	if d > 0 {
		q.ExpiresAt = protocol.Timestamp(now.Add(d))
	}
}

// fillEmit fills in the request of an awaited emit.
func (q *request) fillEmit(r *effect.AwaitEmit) {
	q.From = &protocol.Origin{Kind: protocol.FromEmit}
	q.Prompt = r.Channel
	var text string
	switch {
	case json.Unmarshal(r.Payload, &text) == nil && text != "":
		q.Prompt = text // the text itself is the prompt
	case text == "" && string(r.Payload) != "null" && string(r.Payload) != `""`:
		rest, diff := splitDiff(r.Payload)
		q.OpArgs, q.Diff = shorten(rest), protocol.CutDiff(diff)
	}
	q.Questions = questionsOf(r.Schema, q.Prompt)
	q.setReason()
}

// splitDiff separates the member diff of a payload, such as that of the review of a workspace, if
// it is a patch. diff is "" if there is none.
func splitDiff(payload json.RawMessage) (rest json.RawMessage, diff string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(payload, &all) != nil || json.Unmarshal(all["diff"], &diff) != nil || !strings.HasPrefix(diff, "diff --git ") {
		return payload, ""
	}
	delete(all, "diff")
	rest, err := json.Marshal(all)
	if err != nil {
		panic("relay: a payload is no JSON: " + err.Error())
	}
	return rest, diff
}

// setReason sets which kind of answer the request expects.
func (q *request) setReason() {
	q.Reason = protocol.ReasonPrompt
	switch first := q.Questions[0]; {
	case len(q.Questions) > 1:
	case first.Kind == protocol.KindConfirm:
		q.Reason = protocol.ReasonPermission
	case first.Kind == protocol.KindChoice || first.Kind == protocol.KindMulti:
		q.Reason = protocol.ReasonChoice
	}
}

// fillHost fills in a host's request from the host's message.
func (q *request) fillHost(asks *effect.Asking, message json.RawMessage, now time.Time) {
	q.setExpiry(time.Duration(asks.Within)*time.Millisecond, now)
	q.From = &protocol.Origin{Kind: protocol.FromQuestion, Host: hostmsg.SenderName(asks.Host, message), MessageID: messageID(message)}
	if hostmsg.Lookup(asks.Type).Form == hostmsg.YesNo {
		q.From.Kind = protocol.FromApproval
		q.fillApproval(message)
		return
	}
	q.Questions, q.Prompt = hostQuestions(message)
	q.setReason()
}

// messageID returns the id of a host's message as plain text; "" if it has none.
func messageID(message json.RawMessage) string {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &m) != nil {
		return ""
	}
	return plainID(string(m.ID))
}

// fillTool fills in the approval of a tool call. It returns false if payload is not an approval of
// a tool call but the program's own.
func (q *request) fillTool(payload json.RawMessage, now time.Time) bool {
	asks := effect.ToolAsking(payload)
	if asks == nil {
		return false
	}
	q.From = &protocol.Origin{Kind: protocol.FromApproval, Host: asks.Host}
	q.setExpiry(time.Duration(asks.Within)*time.Millisecond, now)
	q.fillApproval(payload)
	return true
}

const (
	maxSummary = 80  // characters
	maxPrompt  = 500 // characters
)

// fillApproval fills in an approval, whose first line of the prompt is its title.
func (q *request) fillApproval(message json.RawMessage) {
	v := view.Of(message, q.read)
	q.Reason, q.OpTool = protocol.ReasonPermission, v.Tool
	if utf8.RuneCountInString(v.Text) > maxPrompt { // the prompt must not hide a part of it
		v.Fields = append(v.Fields, view.Field{Name: "text", JSON: jsonwrite.Text(nil, v.Text)})
		v.Text = ""
	}
	q.Prompt = strings.TrimRight(firstChars(v.Title, maxPrompt)+"\n"+v.Text, "\n")
	if v.Reason != "" {
		q.Prompt += "\n" + firstChars(v.Reason, maxPrompt)
	}
	if slices.Contains([]string{"low", "medium", "high"}, v.Risk) {
		q.Risk = v.Risk
	}
	q.Diff = protocol.CutDiff(v.Unified())
	if args := shownArguments(v); args != nil {
		q.OpArgs = shorten(args)
	}
	q.OpArgsSummary = firstChars(summary(v), maxSummary)
	if len(v.Args) > 0 && string(v.Args) != "null" {
		q.ArgsSHA256 = decision.Hash(v.Args)
	}
}

// shownArguments returns the arguments that neither the title nor the diff shows, in their order.
func shownArguments(v *view.View) json.RawMessage {
	out := []byte{'{'}
	add := func(name string, text json.RawMessage) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonwrite.Text(out, name), ':'), text...)
	}
	if v.Command != "" {
		add("command", jsonwrite.Text(nil, v.Command))
	}
	if v.Dir != "" {
		add("in", jsonwrite.Text(nil, v.Dir))
	}
	for _, f := range v.Fields {
		add(f.Name, f.JSON)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

// summary returns a request in one line.
func summary(v *view.View) string {
	return strings.Join(strings.Fields(cmp.Or(v.Command, v.Summary())), " ")
}

// firstChars returns a text of at most n characters. It cuts a longer text and adds "…".
func firstChars(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// hostQuestion is a question in a host's message. A message is itself a question, or contains
// several.
type hostQuestion struct {
	ID       json.RawMessage   `json:"id"`
	Question string            `json:"question"`
	Header   string            `json:"header"`
	Options  []json.RawMessage `json:"options"`
	Multi    bool              `json:"multi"`
}

// hostQuestions converts a host's message to questions and a prompt.
func hostQuestions(message json.RawMessage) (all []protocol.Question, prompt string) {
	var m struct {
		hostQuestion
		Questions []hostQuestion `json:"questions"`
	}
	if json.Unmarshal(message, &m) != nil { // a member of the message has an unexpected type
		m.hostQuestion = hostQuestion{Question: string(message)}
	}
	each := m.Questions
	if len(each) == 0 {
		each = []hostQuestion{m.hostQuestion}
	}
	for i := range each {
		q := each[i].question()
		if q.ID = each[i].name(); len(each) == 1 {
			q.ID = protocol.WholeAnswer
		} else if q.ID == "" {
			q.ID = "q" + strconv.Itoa(i+1)
		}
		all = append(all, q)
	}
	if prompt = m.Question; prompt == "" {
		prompt = all[0].Question
	}
	return all, firstChars(prompt, maxPrompt)
}

// name returns the key of the question in the answer to several questions: the question's id, or
// its text if it has no id.
func (q *hostQuestion) name() string {
	var id string
	switch {
	case json.Unmarshal(q.ID, &id) == nil && id != "":
		return id
	case len(q.ID) > 0 && string(q.ID) != "null":
		return string(q.ID)
	}
	return q.Question
}

func (q *hostQuestion) question() protocol.Question {
	out := protocol.Question{Question: q.Question, Header: q.Header, Kind: protocol.KindText, Required: true}
	if len(q.Options) == 0 {
		return out
	}
	out.AllowOther = true
	if out.Kind = protocol.KindChoice; q.Multi {
		out.Kind = protocol.KindMulti
	}
	for _, text := range q.Options {
		o := struct{ Label, Description string }{}
		if json.Unmarshal(text, &o) != nil || o.Label == "" {
			o.Description = ""
			if json.Unmarshal(text, &o.Label) != nil {
				o.Label = string(text)
			}
		}
		v, err := json.Marshal(o.Label)
		if err != nil {
			panic("relay: an option is no JSON: " + err.Error())
		}
		out.Options = append(out.Options, protocol.Option{Value: v, Label: o.Label, Description: o.Description})
	}
	return out
}
