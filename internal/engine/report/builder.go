package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/event/fleet"
)

// Builder receives the events of a run.
type Builder struct {
	// Timed means that events have times. A tape has none.
	Timed bool

	entries  []*entry
	items    map[int64]*entry // by the numbers of their first events
	requests map[int64]*entry // the requests to models, by effect
	last     time.Duration
	env      []string
	awaited  map[int64]*Item   // awaited emits, by effect
	asked    map[request]*Item // the last request of a host
	decided  []decided
	fleet    *fleet.Fleet
}

// entry is an item, or the place of the attempts at a request to a model. Other goroutines report
// attempts, so their events come in no fixed order relative to those of other tasks.
type entry struct {
	item     *Item // nil for the place of attempts, and for events that are no items
	parent   int64 // number of the first event of the parent
	attempts []*entry
}

// NewBuilder returns a Builder.
func NewBuilder(timed bool) *Builder {
	return &Builder{Timed: timed, items: map[int64]*entry{}, requests: map[int64]*entry{}, awaited: map[int64]*Item{}, asked: map[request]*Item{}, fleet: fleet.New()}
}

// Sink returns what receives the events.
func (b *Builder) Sink() event.Sink {
	s := event.Sink{Shows: map[event.Kind]func(*event.Event){}, Omits: map[event.Kind]string{event.Log: "the log of the run contains it"}, Places: true}
	for _, row := range event.Table() {
		if row.Kind != event.Log {
			s.Shows[row.Kind] = func(e *event.Event) { b.handle(e, row.Item) }
		}
	}
	return s
}

func (b *Builder) handle(e *event.Event, isItem bool) {
	b.last = max(b.last, e.At)
	if e.Kind == event.Decision {
		b.decide(e)
		return
	}
	if e.Kind == event.Request || e.Kind == event.Work {
		b.fleet.Handle(e)
	}
	x := b.items[e.Item]
	if x == nil {
		x = b.begin(e, isItem)
	}
	if x.item == nil {
		return
	}
	if e.Phase != event.Begin {
		b.end(x.item, e)
	}
	fill(x.item, e)
	if exchange := b.items[x.parent]; e.Message != nil && exchange != nil && exchange.item != nil && exchange.item.Kind == string(event.Exchange) {
		exchange.item.setUsed(e.Used)
	}
	b.ask(x, e)
}

// begin adds the entry of an item with its first event.
func (b *Builder) begin(e *event.Event, isItem bool) *entry {
	x := &entry{parent: e.Parent}
	b.items[e.Item] = x
	if !isItem {
		switch q := e.Request.(type) {
		case *effect.AgentCall, *effect.StreamOpen:
			b.requests[e.Effect] = x
			b.entries = append(b.entries, x)
		case *effect.Env:
			b.env = append(b.env, q.Name)
		}
		return x
	}
	x.item = &Item{Kind: string(e.Kind), Name: e.Name, Task: e.Task, Status: Open, Details: Details{Stage: e.Stage}}
	if b.Timed {
		x.item.Start = seconds(e.Began)
	}
	if at := place(e.Place); at != "" {
		x.item.At = &at
	}
	if e.Effect != 0 {
		n := e.Effect
		x.item.Effect = &n
	}
	if e.Attempt != nil && e.Kind != event.Agent {
		if request := b.requests[e.Effect]; request != nil {
			request.attempts = append(request.attempts, x)
			return x
		}
	}
	b.entries = append(b.entries, x)
	return x
}

func place(p event.Place) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// end sets the outcome of an item.
func (b *Builder) end(x *Item, e *event.Event) {
	if b.Timed {
		x.End = seconds(e.At)
	}
	x.Status = OK
	switch {
	case e.How == Cancelled:
		x.Status = Cancelled
	case e.How != "":
		x.Status, x.Details.ErrorKind = Failed, e.How
	}
	if e.Err == nil {
		return
	}
	x.Status, x.Error = Failed, e.Err.Error()
	failed, ok := errors.AsType[*effect.Error](e.Err)
	switch {
	case ok:
		x.Details.ErrorKind = failed.Kind
	case e.Attempt == nil && x.Kind != string(event.Error):
		x.Status = Cancelled
	}
}

// fill sets the members that an item of the event's kind has.
func fill(x *Item, e *event.Event) {
	switch e.Kind {
	case event.Model:
		fillModel(x, e)
	case event.Retry, event.Repair:
		fillStep(x, e)
	case event.Fallback:
		fillAttempt(x, e)
	case event.Tool:
		fillTool(x, e)
	case event.MCP, event.HTTP, event.Command, event.Timer, event.Store, event.File, event.Work:
		fillEffect(x, e)
	case event.Exchange:
		fillExchange(x, e)
	case event.Message, event.Question, event.Approval:
		fillMessage(x, e)
	case event.Emit, event.Await:
		fillEmit(x, e)
	case event.Print:
		fillPrint(x, e)
	case event.Agent:
		fillAgent(x, e)
	case event.Error:
		fillError(x, e)
	}
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // requests and results of effects are JSON
	}
	return out
}

func fillAttempt(x *Item, e *event.Event) {
	if a := e.Attempt; a != nil {
		x.Details.Connection, x.Details.Model, x.Details.Attempt = a.Connection, a.Model, a.Number
	}
}

func fillModel(x *Item, e *event.Event) {
	fillAttempt(x, e)
	a := e.Attempt
	if e.Phase == event.Begin {
		call := *a.Call
		call.Messages = effect.WithoutFileData(call.Messages)
		x.Texts.Request = encode(&call)
		return
	}
	x.first = a.First
	if a.Reply == nil {
		if a.Used.Tokens() > 0 {
			x.setUsed(a.Used)
		}
		x.used = a.Used
		return
	}
	if a.Reply.Model != "" {
		x.Details.Model = a.Reply.Model
	}
	x.setUsed(a.Used)
	x.Details.StopReason = a.Reply.StopReason
	x.Texts.Reply = encode(struct {
		Text      string            `json:"text"`
		ToolCalls []effect.ToolCall `json:"tool_calls,omitempty"`
	}{a.Reply.Text, a.Reply.ToolCalls})
}

// setUsed sets what an attempt or an exchange has used.
func (x *Item) setUsed(u models.Sum) {
	x.used = u
	x.Details.TokensIn, x.Details.TokensOut, x.Details.Parts, x.Details.Estimated, x.Details.Cost = new(u.TokensIn), new(u.TokensOut), u.Parts, u.Estimated > 0, costOf(u)
}

func fillAgent(x *Item, e *event.Event) {
	if e.Phase == event.Begin {
		x.Details.Connection, x.Details.Model = e.Attempt.Call.Connection, e.Attempt.Call.Model
		if m := e.Attempt.Call.Messages; len(m) > 0 {
			x.Texts.Prompt = encode(m[len(m)-1].Content)
		}
	} else if r, ok := e.Result.(*effect.AgentReply); ok {
		x.Texts.Reply = encode(r.Text)
	}
}

func fillStep(x *Item, e *event.Event) {
	fillAttempt(x, e)
	if e.Step != nil {
		x.Details.Attempt, x.Texts.Text = e.Step.Attempt, encode(e.Step.Text)
	}
}

func fillTool(x *Item, e *event.Event) {
	switch {
	case e.Step == nil: // cancelled with its task
	case e.Phase == event.Begin:
		x.Details.ID, x.Texts.Args = encode(e.Step.ID), encode(e.Step.Text)
	default:
		x.Texts.Result = encode(e.Step.Text)
	}
}

// fillEffect sets the request and the result of an effect.
func fillEffect(x *Item, e *event.Event) {
	if e.Request != nil {
		x.Texts.Args = encode(e.Request)
	}
	switch q := e.Request.(type) {
	case *effect.MergeFind, *effect.MergeList, *effect.MergeFinish:
		x.Details.Queue = e.Name
	case interface{ Workspace() string }:
		x.Details.Workspace = q.Workspace()
	}
	if e.Phase != event.Begin && e.Result != nil && e.Err == nil {
		x.Texts.Result = encode(e.Result)
	}
}

func fillExchange(x *Item, e *event.Event) {
	x.Details.Host = e.Name
	if q, ok := e.Request.(*effect.ExchangeOpen); ok {
		x.Texts.Prompt, x.Details.Session, x.Details.Workspace = encode(q.Prompt), q.Session, q.Workspace
	}
	if e.Used.Exchanges > 0 {
		x.setUsed(e.Used)
	}
	if e.Message == nil {
		return
	}
	x.Texts.Result = value.AppendJSON(nil, e.Message.Payload)
	if s := e.Message.Session(); s != "" {
		x.Details.Session = s
	}
}

func fillMessage(x *Item, e *event.Event) {
	if m := e.Message; m != nil {
		x.Details.Type = m.Type
		if m.ID != "" {
			x.Details.ID = json.RawMessage(m.ID)
		}
		payload := value.AppendJSON(nil, m.Payload)
		if e.Kind != event.Message {
			x.Texts.Request = payload
		} else {
			x.Texts.Text = payload
			var reported struct {
				Percent *float64 `json:"percent"`
			}
			if json.Unmarshal(payload, &reported) == nil {
				x.Details.Percent = reported.Percent
			}
		}
		if m.IsRuling() {
			x.setDecided(payload)
		}
	}
	switch q := e.Request.(type) {
	case *effect.ExchangeReply:
		x.Details.Actor, x.Texts.Answer = q.By, q.Value
		if q.Error != "" {
			x.Texts.Answer = encode(struct {
				Error string `json:"error"`
			}{q.Error})
		}
		x.Details.Wait = x.wait()
	case *effect.AwaitEmit, *effect.AskHost:
		fillEmit(x, e)
	}
}

// setDecided sets the request and the answer of an approval that the host's rules have decided.
func (x *Item) setDecided(payload json.RawMessage) {
	var of struct {
		Decision json.RawMessage `json:"decision"`
		Asked    json.RawMessage `json:"asked"`
	}
	if json.Unmarshal(payload, &of) == nil && of.Asked != nil {
		x.Texts.Request, x.Texts.Answer = of.Asked, of.Decision
	}
	x.Details.Actor = effect.ByRules
}

// wait returns the duration of an item, or nil if it is unknown.
func (x *Item) wait() *float64 {
	if x.Start == nil || x.End == nil {
		return nil
	}
	return seconds(time.Duration((*x.End - *x.Start) * float64(time.Second)))
}

func fillEmit(x *Item, e *event.Event) {
	switch q := e.Request.(type) {
	case *effect.Emit:
		x.Details.Channel, x.Texts.Payload = q.Channel, q.Payload
	case *effect.AwaitEmit:
		x.Details.Channel, x.Texts.Payload = q.Channel, q.Payload
	}
	if e.Phase == event.Begin {
		return
	}
	if a, ok := e.Result.(*effect.Answer); ok && a != nil {
		x.Texts.Answer, x.Details.Actor, x.Details.Wait = a.Value, a.By, x.wait()
	} else if failed, ok := errors.AsType[*effect.Error](e.Err); ok && failed.By != "" {
		x.Details.Actor, x.Details.Wait = failed.By, x.wait()
	}
}

func fillPrint(x *Item, e *event.Event) {
	if q, ok := e.Request.(*effect.Print); ok {
		x.Texts.Text = encode(q.Text)
	}
}

func fillError(x *Item, e *event.Event) {
	x.Texts.Message = encode(e.Err.Error())
	for err := errors.Unwrap(e.Err); err != nil; err = errors.Unwrap(err) {
		c := Cause{Message: err.Error()}
		if of, ok := errors.AsType[*effect.Error](err); ok {
			c.Kind = of.Kind
		}
		x.Details.Cause = append(x.Details.Cause, c)
	}
}
