package emit

import (
	"context"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// answerer is a source of answers to awaited emits. When it gives a nil value,
// the next source is asked.
type answerer interface {
	answer(ctx context.Context, r *effect.AwaitEmit) (*effect.Answer, error)
}

// fixed answers with what was given beforehand, by channel.
type fixed map[string]*effect.Answer

func newFixed(all []Fixed) fixed {
	f := fixed{}
	for _, a := range all {
		f[a.Channel] = &effect.Answer{Value: value.AppendString(nil, a.Value), Typed: true, By: effect.ByCommandLine}
	}
	return f
}

func (f fixed) answer(_ context.Context, r *effect.AwaitEmit) (*effect.Answer, error) {
	return f[r.Channel], nil
}

// Prompter asks the user. It shows a prompt, such as the channel of an awaited
// emit, whose payload has been printed before, and gives the text typed. io.EOF
// means that there can be no answer. When ctx ends, it gives up with ctx's
// cause.
type Prompter interface {
	Ask(ctx context.Context, prompt string) (string, error)
}

// asking answers with what the user types. It says what is wanted, and asks
// again when the text does not fit.
type asking struct{ p Prompter }

func (a asking) answer(ctx context.Context, r *effect.AwaitEmit) (*effect.Answer, error) {
	prompt := r.Channel
	if r.Wants != "" {
		prompt += " (" + r.Wants + ")"
	}
	if r.Misfit != "" {
		prompt = r.Misfit + "\n" + prompt
	}
	s, err := a.p.Ask(ctx, prompt)
	if err == nil {
		return &effect.Answer{Value: value.AppendString(nil, s), Typed: true, Again: true, By: effect.ByTerminal}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := failure(r.Channel, noListener, "nobody answers the emit on channel '%s': the terminal's input ended (%v)", r.Channel, err)
	f.Cause = err
	return nil, f
}
