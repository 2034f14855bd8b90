package report

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/ledger"
)

// request identifies a request of a host.
type request struct{ host, id string }

// decided is a decision and its item.
type decided struct {
	item *Item
	Decision
}

// ask remembers an item that a decision may be about.
func (b *Builder) ask(x *entry, e *event.Event) {
	switch e.Kind {
	case event.Await:
		b.awaited[e.Effect] = x.item
		var of struct {
			ID string `json:"call_id"`
		}
		if q, ok := e.Request.(*effect.AwaitEmit); ok && q.Channel == effect.ToolApproval && json.Unmarshal(q.Payload, &of) == nil {
			b.asked[request{"", of.ID}] = x.item
		}
	case event.Question, event.Approval:
		if host := b.items[x.parent]; e.Message != nil && host != nil && host.item != nil {
			b.asked[request{host.item.Name, e.Message.ID}] = x.item
		}
	}
}

// decide adds a decision. It is about a request of a host, an awaited emit, or a tool call.
func (b *Builder) decide(e *event.Event) {
	d := e.Decided
	x := b.awaited[e.Effect]
	switch {
	case d.Call != nil:
		x = b.lastCall(d)
	case d.Host != "":
		x = b.asked[request{d.Host, string(d.ID)}]
	}
	if x == nil {
		return // the recording begins after the request
	}
	out := Decision{Request: slices.Clone(d.Asked), Answer: slices.Clone(d.Answer), Actor: ledger.Part{Type: d.Actor.Type, Name: d.Actor.Name}, Path: []ledger.Part{}}
	if b.Timed {
		out.Wait = seconds(d.Took)
	}
	x.Details.Actor = cmp.Or(x.Details.Actor, d.Actor.Type)
	if at := place(d.At); d.Handler && at != "" {
		out.Actor.At, x.Details.Rule = at, at
	}
	for _, p := range d.Path {
		out.Path = append(out.Path, ledger.Part{Effect: p.Effect, Type: p.Type, Name: p.Name, At: p.At})
	}
	b.decided = append(b.decided, decided{x, out})
}

// lastCall returns the item of a decision about a tool call: the question, which has the same id of
// the call, or the last call of a tool without one. It returns nil if there is none.
func (b *Builder) lastCall(d *event.Decided) *Item {
	var of struct {
		ID string `json:"call_id"`
	}
	_ = json.Unmarshal(d.Asked, &of) // the library has encoded the request
	if x := b.asked[request{"", of.ID}]; x != nil {
		return x
	}
	for _, x := range slices.Backward(b.entries) {
		if x.item != nil && x.item.Kind == string(event.Tool) {
			return x.item
		}
	}
	return nil
}

// decisions sets the decisions of a report.
func (b *Builder) decisions(r *Report) {
	for _, d := range b.decided {
		d.Item = d.item.N
		if at := d.Actor.At; at != "" {
			source := at
			if line := r.SourceLine(at); line != "" {
				source += ": " + line
			}
			d.Source = &source
		}
		r.Decisions = append(r.Decisions, d.Decision)
	}
}
