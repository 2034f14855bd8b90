package eventstream

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/vm"
)

// decisions passes the decisions of a run to the stream, after next has recorded them.
type decisions struct {
	*Stream
	next vm.Decisions // nil if decisions are not recorded
}

// DecisionsAfter returns what receives the decisions of the run. It passes them to next first,
// which may be nil. The result is next itself if no sink shows decisions.
func (s *Stream) DecisionsAfter(next vm.Decisions) vm.Decisions {
	if s == nil || !s.shows(event.Decision) {
		return next
	}
	return decisions{s, next}
}

// Now implements vm.Decisions.
func (d decisions) Now() int64 {
	if d.next != nil {
		return d.next.Now()
	}
	return d.options.Since().Milliseconds()
}

// Decided implements vm.Decisions.
func (d decisions) Decided(x *vm.Decision) error {
	if d.next != nil {
		if err := d.next.Decided(x); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	who, path := ledger.Decider(x)
	clean := d.options.Secrets
	shown := &event.Decided{Kind: x.Kind, Host: x.Host, ID: clean.JSON(x.ID), Asked: clean.JSON(x.Asked), Answer: clean.JSON(x.Answer), Problem: clean.Text(x.Problem),
		Channel: x.Channel, By: x.By, Actor: effect.Actor{Type: who.Type, Name: who.Name}, Handler: x.By == effect.ByHandler, At: placeOf(x.At), Took: time.Duration(x.MS) * time.Millisecond, Call: x.Call}
	for _, p := range path {
		shown.Path = append(shown.Path, event.Participant{Actor: effect.Actor{Type: p.Type, Name: p.Name}, Effect: p.Effect, At: p.At})
	}
	e := d.point(&item{kind: event.Decision, effect: x.Effect, name: x.Kind})
	e.Decided = shown
	d.emitEvent(e)
	return nil
}
