package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// application returns the layer that passes emits to the embedding application.
func (o *Options) application(next effect.Performer) effect.Performer {
	return &application{Performer: next, o: o}
}

type application struct {
	effect.Performer
	o    *Options
	turn sync.Mutex // lets one awaited emit at a time call the application, because the calls come from several goroutines
}

func (a *application) receiveEmit(channel string, payload json.RawMessage) {
	if a.o.OnEmit == nil {
		return
	}
	a.turn.Lock()
	defer a.turn.Unlock()
	a.o.OnEmit(channel, payload)
}

// Perform passes an emit to the application, and any other request to the next layer.
func (a *application) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.Emit:
		if a.o.OnEmit != nil {
			a.receiveEmit(r.Channel, r.Payload)
			return nil, nil
		}
	case *effect.AwaitEmit:
		a.receiveEmit(r.Channel, r.Payload)
		return a.o.awaitAnswer(ctx, r, a.Performer)
	case *effect.AskHost:
		if a.o.Answers.OnAskHost != nil {
			return a.o.askHost(ctx, r)
		}
	}
	return a.Performer.Perform(ctx, r)
}

// Start passes an awaited emit to the application at once, so that the application receives emits
// in the program's order. Awaited emits and requests of hosts are answered while the program
// continues.
func (a *application) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	var answer func(context.Context) (effect.Result, error)
	switch r := r.(type) {
	case *effect.AwaitEmit:
		if a.o.OnEmit != nil || a.o.OnAwait != nil {
			a.receiveEmit(r.Channel, r.Payload)
			answer = func(ctx context.Context) (effect.Result, error) { return a.o.awaitAnswer(ctx, r, a.Performer) }
		}
	case *effect.AskHost:
		if a.o.Answers.OnAskHost != nil {
			answer = func(ctx context.Context) (effect.Result, error) { return a.o.askHost(ctx, r) }
		}
	}
	if answer != nil {
		ctx, stop := context.WithCancel(ctx)
		go func() {
			done(answer(ctx))
			stop()
		}()
		return stop, true
	}
	if s, can := a.Performer.(effect.Starter); can {
		return s.Start(ctx, r, done)
	}
	return nil, false
}

func (o *Options) awaitAnswer(ctx context.Context, r *effect.AwaitEmit, next effect.Performer) (effect.Result, error) {
	if o.OnAwait == nil {
		return next.Perform(ctx, r)
	}
	v, err := o.OnAwait(ctx, r.Channel, r.Payload)
	return resultOfAnswer(ctx, r.Channel, v, err)
}

// askHost passes a host's request to the application, and returns its answer.
func (o *Options) askHost(ctx context.Context, r *effect.AskHost) (effect.Result, error) {
	v, err := o.Answers.OnAskHost(ctx, r.Asking, r.Message)
	return resultOfAnswer(ctx, hostmsg.Lookup(r.Type).Channel, v, err)
}

// asksHosts reports whether the application or a prompter answers the requests of hosts that the
// program does not handle.
func (o *Options) asksHosts() bool {
	_, prompts := o.Answers.Prompter.(emit.HostPrompter)
	return prompts || o.Answers.OnAskHost != nil
}

// resultOfAnswer converts the application's answer to the result of an awaited emit.
func resultOfAnswer(ctx context.Context, channel string, v json.RawMessage, err error) (effect.Result, error) {
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, tool.ErrNoApprover):
		return nil, effect.Errorf("EmitError", "%v", tool.ErrNoApprover).With("channel", channel).With("reason", "no_listener")
	case err != nil:
		return nil, effect.Errorf("EmitError", "%v", err).With("channel", channel).With("reason", "refused")
	}
	if err := schema.CheckAnswer(v, nil); err != nil {
		return nil, effect.Errorf("EmitError", "the answer on channel '%s' was refused: %v", channel, err).With("channel", channel).With("reason", "refused")
	}
	return &effect.Answer{Value: v, By: effect.ByApplication}, nil
}
