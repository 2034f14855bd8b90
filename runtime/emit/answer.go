package emit

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/value"
)

// answerer is one of those who may answer an awaited emit. A nil value leaves
// it to the next one.
type answerer interface {
	answer(ctx context.Context, r *effect.AwaitEmit) (json.RawMessage, error)
}

// fixed answers with what was given beforehand, by channel.
type fixed map[string]json.RawMessage

func newFixed(all []Fixed) fixed {
	f := fixed{}
	for _, a := range all {
		f[a.Channel] = value.AppendString(nil, a.Value)
	}
	return f
}

func (f fixed) answer(_ context.Context, r *effect.AwaitEmit) (json.RawMessage, error) {
	return f[r.Channel], nil
}

// Prompter asks the user for the answer to an awaited emit, which has been
// printed before, and gives the text typed. io.EOF means that no answer can be
// had. When ctx ends it gives up with ctx's cause.
type Prompter interface {
	Ask(ctx context.Context, channel string) (string, error)
}

// asking answers with what the user types, a String.
type asking struct{ p Prompter }

func (a asking) answer(ctx context.Context, r *effect.AwaitEmit) (json.RawMessage, error) {
	s, err := a.p.Ask(ctx, r.Channel)
	if err == nil {
		return value.AppendString(nil, s), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := failure(r.Channel, noListener, "nobody answers the emit on channel '%s': the terminal's input ended (%v)", r.Channel, err)
	f.Cause = err
	return nil, f
}
