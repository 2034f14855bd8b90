package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// States of a run.
const (
	Running = "running"
	Waiting = "waiting" // for an answer
	Invalid = "?"       // the run has not sent its state
)

// State is the state of a run. It is also an element of the output of `concerto top --json`.
type State struct {
	Run     string    `json:"run"`
	Program string    `json:"program"`
	PID     int       `json:"pid"` // 0 if no process executes the run
	State   string    `json:"state"`
	Started string    `json:"started"` // RFC 3339
	Seconds float64   `json:"seconds"` // time since the start
	Tasks   int       `json:"tasks"`
	Hosts   []Host    `json:"hosts"`
	Pending []Pending `json:"pending"`
	Usage   Usage     `json:"usage"`
	PerMin  int64     `json:"tokens_per_minute"` // in the last minute
	Journal string    `json:"journal"`           // directory of a stored run, or ""
	Lines   []string  `json:"lines,omitempty"`   // the last lines of the output
}

// Host is an open exchange with a host.
type Host struct {
	Name  string `json:"name"`
	State string `json:"state"` // working or waiting
	Last  string `json:"last"`  // its last message

	typ, text string // of the last message, which is not yet short
}

// Pending is an open request for an answer.
type Pending struct {
	ID      string   `json:"id"`
	Channel string   `json:"channel"`
	Host    string   `json:"host"`
	Type    string   `json:"type"` // question, approval or await
	Text    string   `json:"text"`
	Since   string   `json:"since"` // RFC 3339
	Options []string `json:"options,omitempty"`
	// Payload is the whole message of a host's request, or of the approval of a tool call.
	Payload json.RawMessage `json:"payload,omitempty"`

	effect int64 // that waits for the answer; 0 if a handler of the program answers
}

// Usage is what models and hosts have used.
type Usage struct {
	Calls     int64       `json:"calls"`
	Exchanges int64       `json:"exchanges"`
	TokensIn  int64       `json:"tokens_in"`
	TokensOut int64       `json:"tokens_out"`
	CostUSD   json.Number `json:"cost_usd"`
}

// UsageOf returns a sum as Usage.
func UsageOf(s models.Sum) Usage {
	return Usage{Calls: s.Calls, Exchanges: s.Exchanges, TokensIn: s.TokensIn, TokensOut: s.TokensOut, CostUSD: json.Number(budget.Money(s.Cost).String())}
}

const (
	maxLines = 10
	maxText  = 400 // bytes of a shown text
)

// tracker builds the state of a run from its events.
type tracker struct {
	began time.Time

	mu      sync.Mutex
	state   State
	hosts   map[int64]*Host    // by items
	pending map[int64]*Pending // by items
	order   []int64            // the items of pending and hosts, in the order of their beginnings
	recent  []used             // of the last minute
}

// used is a usage of tokens.
type used struct {
	at     time.Time
	tokens int64
}

func newTracker(run, program, journal string, pid int, began time.Time) *tracker {
	return &tracker{began: began, hosts: map[int64]*Host{}, pending: map[int64]*Pending{},
		state: State{Run: run, Program: program, PID: pid, State: Running, Started: began.UTC().Format(time.RFC3339), Journal: journal}}
}

// omitted contains the kinds of events that the state does not depend on, with the reasons.
var omitted = func() map[event.Kind]string {
	const parts, short = "a part of what is shown", "too short to be shown"
	return map[event.Kind]string{
		event.Pipeline: parts, event.Stage: parts, event.Listen: parts, event.Handler: parts, event.Agent: parts, event.Retry: parts, event.Fallback: parts,
		event.Repair: parts, event.Tool: parts, event.MCP: parts, event.Decision: parts, event.HTTP: short, event.Command: short,
		event.Timer: short, event.Store: short, event.File: short, event.Work: short, event.Log: "not a part of the output", event.Error: "the run ends with it",
	}
}()

// sink returns what receives the events of the run.
func (t *tracker) sink() event.Sink {
	shows := map[event.Kind]func(*event.Event){
		event.Run: t.task, event.Task: t.task, event.Exchange: t.exchange, event.Message: t.message, event.Question: t.request, event.Approval: t.request,
		event.Await: t.request, event.Request: t.asked, event.Model: t.model, event.Emit: t.output, event.Print: t.output,
	}
	for kind, f := range shows {
		shows[kind] = func(e *event.Event) {
			t.mu.Lock()
			defer t.mu.Unlock()
			f(e)
		}
	}
	return event.Sink{Shows: shows, Omits: omitted}
}

func (t *tracker) task(e *event.Event) {
	if e.Phase == event.Begin {
		t.state.Tasks++
	} else {
		t.state.Tasks--
	}
}

func (t *tracker) exchange(e *event.Event) {
	if e.Phase == event.Begin {
		t.hosts[e.Item] = &Host{Name: e.Name, State: "working"}
		t.order = append(t.order, e.Item)
		return
	}
	delete(t.hosts, e.Item)
	t.forget(e.Item)
}

func (t *tracker) forget(item int64) {
	if i := slices.Index(t.order, item); i >= 0 {
		t.order = slices.Delete(t.order, i, i+1)
	}
}

// message stores the message as it is: most are replaced by the next one before they are shown.
func (t *tracker) message(e *event.Event) {
	if h := t.hosts[e.Parent]; h != nil {
		h.typ, h.text = e.Name, textOf(e)
	}
}

// textMembers are the members of messages that are meant for people, the first one that is a text
// first.
var textMembers = []string{"message", "question", "description", "text"}

// textOf returns the text of a message: its member that is meant for people, or else the beginning
// of all of it as JSON. It is called for each message, on the goroutine of the run.
func textOf(e *event.Event) string {
	if e.Message == nil {
		return ""
	}
	return textOfMembers(e.Message.Payload.Map())
}

func textOfMembers(m *value.Map) string {
	for _, name := range textMembers {
		if v, _ := m.GetString(name); v.Kind() == value.KindString {
			return v.AsString()
		}
	}
	b := []byte{'{'}
	m.Each(func(k, v value.Slot) bool {
		if len(b) > 1 {
			b = append(b, ',')
		}
		if v.Kind() == value.KindString && len(v.AsString()) > maxText {
			v = value.String(strings.ToValidUTF8(v.AsString()[:maxText], "") + "…")
		}
		b = value.AppendJSON(append(value.AppendJSON(b, k), ':'), v)
		return len(b) <= 4*maxText
	})
	return string(append(b, '}'))
}

// textOfJSON returns the text of a message as JSON.
func textOfJSON(message json.RawMessage) string {
	v, err := value.Parse(message)
	if err != nil || v.Map() == nil {
		return short(string(message))
	}
	return short(textOfMembers(v.Map()))
}

// optionsOf returns the options of a message, if it has a list of texts.
func optionsOf(message json.RawMessage) []string {
	var m struct {
		Options []string `json:"options"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	return m.Options
}

// short returns a text on one line, cut if it is long.
func short(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText]
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

func (t *tracker) request(e *event.Event) {
	if q, isAwait := e.Request.(*effect.AwaitEmit); isAwait && q.Asks != nil && t.waitFor(e) {
		return
	}
	if e.Phase != event.Begin {
		delete(t.pending, e.Item)
		t.forget(e.Item)
		return
	}
	p := &Pending{ID: fmt.Sprintf("q%d", e.Effect), Type: string(e.Kind), Since: t.began.Add(e.At).UTC().Format(time.RFC3339)}
	switch q, isAwait := e.Request.(*effect.AwaitEmit); {
	case isAwait:
		p.Channel, p.Text, p.effect = q.Channel, short(string(q.Payload)), e.Effect
		if q.Misfit != "" {
			p.Text = short(q.Misfit + ": " + string(q.Payload))
		}
		if q.Channel == effect.ToolApproval {
			p.Type, p.Payload = "approval", q.Payload
		}
		if q.Asks != nil {
			p.Host = q.Asks.Host
		}
	case e.Message != nil:
		p.ID, p.Text = strings.Trim(e.Message.ID, `"`), short(textOf(e))
		if h := t.hosts[e.Parent]; h != nil {
			p.Host, p.Channel = h.Name, "host:"+string(e.Kind)
		}
		p.Payload = value.AppendJSON(nil, e.Message.Payload)
		p.Options = optionsOf(p.Payload)
	}
	t.pending[e.Item] = p
	t.order = append(t.order, e.Item)
}

// waitFor handles an effect that waits for the answer to an open request of a host. ok is false if
// there is no such request.
func (t *tracker) waitFor(e *event.Event) (ok bool) {
	p := t.pending[e.Parent]
	if p == nil {
		return false
	}
	p.effect = 0
	if e.Phase == event.Begin {
		p.effect = e.Effect
	}
	return true
}

// asked handles a request of a host that no handler answers.
func (t *tracker) asked(e *event.Event) {
	q, ok := e.Request.(*effect.AskHost)
	if !ok || t.waitFor(e) {
		return
	}
	if e.Phase != event.Begin { // nothing was recorded when the host sent it
		t.request(e)
		return
	}
	t.pending[e.Item] = &Pending{ID: fmt.Sprintf("q%d", e.Effect), Channel: "host:" + q.Type, Host: q.Host, Type: q.Type, Text: textOfJSON(q.Message),
		Since: t.began.Add(e.At).UTC().Format(time.RFC3339), Options: optionsOf(q.Message), Payload: q.Message, effect: e.Effect}
	t.order = append(t.order, e.Item)
}

// effectOf returns the effect that waits for the answer to a request.
func (t *tracker) effectOf(id, host string) (e int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range t.order {
		if p := t.pending[item]; p != nil && p.ID == id && p.Host == host && p.effect != 0 {
			return p.effect, true
		}
	}
	return 0, false
}

func (t *tracker) model(e *event.Event) {
	a := e.Attempt
	if e.Phase == event.Begin || a.Reply == nil {
		return
	}
	t.recent = append(t.recent, used{time.Now(), a.Reply.TokensIn + a.Reply.TokensOut})
}

func (t *tracker) output(e *event.Event) {
	line := ""
	switch q := e.Request.(type) {
	case *effect.Emit:
		line = "[" + q.Channel + "] " + string(q.Payload)
	case *effect.Print:
		line = q.Text
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	if len(line) > 4*maxText { // the rest is not shown, and not kept
		line = strings.Clone(line[:4*maxText])
	}
	if t.state.Lines = append(t.state.Lines, line); len(t.state.Lines) > maxLines {
		t.state.Lines = t.state.Lines[1:]
	}
}

// snapshot returns the present state.
func (t *tracker) snapshot(now time.Time) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.state
	s.Seconds = now.Sub(t.began).Round(time.Millisecond).Seconds()
	s.Hosts, s.Pending, s.Lines = []Host{}, []Pending{}, nil
	for _, line := range t.state.Lines {
		s.Lines = append(s.Lines, short(line))
	}
	asking := map[string]bool{}
	for _, item := range t.order {
		if p := t.pending[item]; p != nil {
			s.Pending, s.State = append(s.Pending, *p), Waiting
			asking[p.Host] = true
		}
	}
	for _, item := range t.order {
		if h := t.hosts[item]; h != nil {
			shown := Host{Name: h.Name, State: h.State, Last: strings.TrimSpace(h.typ + " " + short(h.text))}
			if asking[h.Name] {
				shown.State = "waiting"
			}
			s.Hosts = append(s.Hosts, shown)
		}
	}
	t.recent = slices.DeleteFunc(t.recent, func(u used) bool { return now.Sub(u.at) > time.Minute })
	for _, u := range t.recent {
		s.PerMin += u.tokens
	}
	return s
}
