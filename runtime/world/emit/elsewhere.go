package emit

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Elsewhere are people who follow a run from elsewhere, through a relay. They are told of what
// is put out, also where the output shows nothing, and asked what nobody else answers. Only Ask
// waits. Safe for concurrent use.
type Elsewhere interface {
	// Emitted tells of an emit. id is that under which an awaited one is asked.
	Emitted(channel string, payload json.RawMessage, awaited bool) (id string)
	// Printed tells of printed text.
	Printed(text string, newline bool)
	// Ask puts an *effect.AwaitEmit or *effect.AskHost to them; id is Emitted's, "" for another
	// one. alone says that nobody is asked beside them. Without an answer and an error nobody
	// is there.
	Ask(ctx context.Context, id string, r effect.Request, alone bool) (*effect.Answer, error)
	// Reachable reports whether somebody there can be asked, or could be before.
	Reachable(ctx context.Context) bool
}

// people are those who are asked last: at the terminal and elsewhere at once. Either may be nil.
type people struct {
	here      Prompter
	elsewhere Elsewhere
}

func (p people) answer(ctx context.Context, r *effect.AwaitEmit, id string) (*effect.Answer, error) {
	var here func(context.Context) (*effect.Answer, error)
	if p.here != nil {
		here = func(ctx context.Context) (*effect.Answer, error) { return asking{p.here}.answer(ctx, r) }
	}
	return first(ctx, here, p.elsewhere, id, r)
}

// first has both asked, and gives the first answer; what the other was asked is taken back. At
// a terminal whose input has ended nobody is: then the others' answer counts.
func first(ctx context.Context, here func(context.Context) (*effect.Answer, error), elsewhere Elsewhere, id string, r effect.Request) (*effect.Answer, error) {
	switch {
	case elsewhere == nil:
		return here(ctx)
	case here == nil:
		return elsewhere.Ask(ctx, id, r, true)
	}
	type outcome struct {
		a   *effect.Answer
		err error
	}
	ctx, stop := context.WithCancel(ctx)
	there := make(chan outcome, 1)
	atTerminal := make(chan outcome, 1)
	go func() {
		a, err := elsewhere.Ask(ctx, id, r, false)
		there <- outcome{a, err}
	}()
	go func() {
		a, err := here(ctx)
		atTerminal <- outcome{a, err}
	}()
	var last outcome
	select {
	case last = <-there:
		if last.a == nil && last.err == nil {
			last = <-atTerminal
			stop()
			return last.a, last.err
		}
		stop()
		<-atTerminal // the prompt is gone when the program goes on
	case last = <-atTerminal:
		if last.err != nil && elsewhere.Reachable(ctx) {
			if other := <-there; other.a != nil || other.err != nil {
				last = other
			}
			stop()
			return last.a, last.err
		}
		stop()
		<-there
	}
	return last.a, last.err
}
