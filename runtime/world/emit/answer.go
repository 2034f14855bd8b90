package emit

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// answerer is a source of answers to awaited emits. If it returns a nil answer, the next source is
// asked. id is the ID of the request for remote users.
type answerer interface {
	answer(ctx context.Context, r *effect.AwaitEmit, id string) (*effect.Answer, error)
}

// fixed contains predefined answers by channel.
type fixed map[string]*effect.Answer

func newFixed(all []Fixed) fixed {
	f := fixed{}
	for _, a := range all {
		f[a.Channel] = &effect.Answer{Value: value.AppendString(nil, a.Value), Typed: true, By: effect.ByCommandLine}
		if a.JSON != nil {
			f[a.Channel] = &effect.Answer{Value: a.JSON, By: effect.ByCommandLine}
		}
	}
	return f
}

func (f fixed) answer(_ context.Context, r *effect.AwaitEmit, _ string) (*effect.Answer, error) {
	return f[r.Channel], nil
}

// Prompter asks the user at the terminal. It shows a prompt, such as the channel of an awaited emit
// whose payload was printed before, and returns the typed text. io.EOF means that no answer is
// possible. When ctx ends, it returns ctx's cause.
type Prompter interface {
	Ask(ctx context.Context, prompt string) (string, error)
}

// HostPrompter is a Prompter that can also present a message of a host. AskHost returns the answer
// as JSON, in the form of a handler's result. It returns the same errors as Ask.
type HostPrompter interface {
	Prompter
	AskHost(ctx context.Context, q effect.Asking, message json.RawMessage) (json.RawMessage, error)
}

// Queue is a Prompter that asks one question at a time, in the order of the calls of Join. Join
// returns a context to pass to Ask, and a function that leaves the queue.
type Queue interface {
	Join(ctx context.Context) (joined context.Context, leave func())
}

// joinQueue joins the queue of the prompter. If the prompter has no queue, it returns ctx.
func (s *Sink) joinQueue(ctx context.Context) (joined context.Context, leave func()) {
	if q, ok := s.prompter.(Queue); ok {
		return q.Join(ctx)
	}
	return ctx, func() {}
}

// askHost asks a user to answer a message of a host.
func (s *Sink) askHost(ctx context.Context, r *effect.AskHost) (effect.Result, error) {
	p, ok := s.prompter.(HostPrompter)
	if !ok && s.elsewhere == nil {
		return nil, noHandlerError(hostmsg.Lookup(r.Type).Channel)
	}
	if err := s.out.flushOutput(ctx); err != nil {
		return nil, err
	}
	var here func(context.Context) (*effect.Answer, error)
	if ok {
		here = func(ctx context.Context) (*effect.Answer, error) { return hostAnswer(ctx, p, r.Asking, r.Message) }
	}
	a, err := firstAnswer(ctx, here, s.elsewhere, "", r)
	if a == nil && err == nil {
		err = noHandlerError(hostmsg.Lookup(r.Type).Channel)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// askSecret asks the user at the terminal for a secret. No other source of answers is asked, and
// the emit is not printed.
func (s *Sink) askSecret(ctx context.Context, r *effect.AwaitEmit) (effect.Result, error) {
	p, ok := s.prompter.(HostPrompter)
	if !ok {
		return nil, noHandlerError(r.Channel)
	}
	if err := s.out.flushOutput(ctx); err != nil {
		return nil, err
	}
	return hostAnswer(ctx, p, *r.Asks, r.Payload)
}

func hostAnswer(ctx context.Context, p HostPrompter, q effect.Asking, message json.RawMessage) (*effect.Answer, error) {
	v, err := p.AskHost(ctx, q, message)
	if err != nil {
		channel := effect.ToolApproval
		if q.Type != channel {
			channel = hostmsg.Lookup(q.Type).Channel
		}
		return nil, unasked(ctx, channel, err)
	}
	return &effect.Answer{Value: v, By: effect.ByTerminal}, nil
}

// ofTool converts the approval of a tool's call to the form of a host's approval, which a user can
// answer. It returns nil if the payload is no such approval.
func ofTool(payload json.RawMessage) (*effect.Asking, json.RawMessage) {
	var q struct {
		Tool        string          `json:"tool"`
		Description string          `json:"description"`
		Args        json.RawMessage `json:"args"`
		Options     []string        `json:"options"`
	}
	asks := effect.ToolAsking(payload)
	if asks == nil || json.Unmarshal(payload, &q) != nil {
		return nil, payload
	}
	if q.Description != "" {
		q.Description = q.Tool + ": " + q.Description
	}
	message, err := json.Marshal(map[string]any{"tool": q.Tool, "description": q.Description, "args": q.Args, "options": q.Options})
	if err != nil {
		return nil, payload
	}
	return asks, message
}

// unasked returns the error for an emit about which no user could be asked.
func unasked(ctx context.Context, channel string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := emitError(channel, noListener, "no answer to the emit on channel '%s': the input of the terminal was closed (%v)", channel, err)
	f.Cause = err
	return f
}

// asking answers with the text that the user types. It describes the required form, and repeats the
// question if the text does not fit.
type asking struct{ p Prompter }

func (a asking) answer(ctx context.Context, r *effect.AwaitEmit) (*effect.Answer, error) {
	asks, message := r.Asks, r.Payload
	if r.Channel == effect.ToolApproval && asks == nil {
		asks, message = ofTool(r.Payload)
	}
	if p, ok := a.p.(HostPrompter); ok && asks != nil && r.Misfit == "" {
		return hostAnswer(ctx, p, *asks, message)
	}
	prompt := r.Channel
	if r.Format != "" {
		prompt += " (" + schema.ShownFormat(r.Format) + ")"
	}
	if r.Misfit != "" {
		prompt = r.Misfit + "\n" + prompt
	}
	s, err := a.p.Ask(ctx, prompt)
	_, piped := a.p.(*stdin)
	switch {
	case err == nil && piped:
		return &effect.Answer{Value: value.AppendString(nil, s), Typed: true, By: effect.ByStdin}, nil
	case err == nil:
		return &effect.Answer{Value: value.AppendString(nil, s), Typed: true, Repeatable: true, By: effect.ByTerminal}, nil
	case piped && ctx.Err() == nil && errors.Is(err, io.EOF):
		return nil, noHandlerError(r.Channel)
	case piped && ctx.Err() == nil:
		return nil, emitError(r.Channel, noListener, "could not read the answer to the emit on channel '%s' from standard input: %v", r.Channel, err)
	}
	return nil, unasked(ctx, r.Channel, err)
}
