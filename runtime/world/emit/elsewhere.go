package emit

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Elsewhere reaches the remote users of a run through a relay. They receive all output, even if the
// local output is disabled, and are asked if no other source answers. Only Ask may wait. An
// Elsewhere is safe for concurrent use.
type Elsewhere interface {
	// Emitted reports an emit. It returns the ID under which the users are asked to answer an
	// awaited emit.
	Emitted(channel string, payload json.RawMessage, awaited bool) (id string)
	// Printed reports printed text.
	Printed(text string, newline bool)
	// Ask asks the users to answer an *effect.AwaitEmit or *effect.AskHost. id is the result of
	// Emitted, or "" for other requests. alone means that no local user is asked at the same time.
	// Ask returns nil, nil if no user is connected.
	Ask(ctx context.Context, id string, r effect.Request, alone bool) (*effect.Answer, error)
	// Reachable reports whether a user is connected now or was connected before.
	Reachable(ctx context.Context) bool
}

// users are the last source of answers: the user at the terminal and the remote users, who are
// asked at the same time. Either may be nil.
type users struct {
	here      Prompter
	elsewhere Elsewhere
}

func (p users) answer(ctx context.Context, r *effect.AwaitEmit, id string) (*effect.Answer, error) {
	var here func(context.Context) (*effect.Answer, error)
	if p.here != nil {
		here = func(ctx context.Context) (*effect.Answer, error) { return asking{p.here}.answer(ctx, r) }
	}
	return firstAnswer(ctx, here, p.elsewhere, id, r)
}

// firstAnswer asks the local and the remote users, returns the first answer and withdraws the other
// question. If the input of the terminal has ended, only the answer of the remote users counts.
func firstAnswer(ctx context.Context, here func(context.Context) (*effect.Answer, error), elsewhere Elsewhere, id string, r effect.Request) (*effect.Answer, error) {
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
		<-atTerminal // waits until the prompt is removed from the terminal
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
