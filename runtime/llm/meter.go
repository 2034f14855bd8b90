package llm

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Price is the price of a model in US dollars for a million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Meter is called before each attempt and returns when the attempt may begin. It returns ctx's
// error, or the reason why the attempt must not begin. granted is the maximum number of tokens of
// the reply if the call has no limit; 0 means no limit. settle must be called once with the tokens
// that the provider reported, or with an estimate of them; answered is false if there was no reply.
// A Meter must be safe for concurrent use.
type Meter func(ctx context.Context, m Metered) (granted int64, settle func(in, out int64, answered, estimated bool), err error)

// Metered describes one attempt for a Meter. In is the estimated number of tokens of the prompt.
// Out is the limit on the tokens of the reply, or 0. Price is nil if the manifest contains no price
// for the model.
type Metered struct {
	Connection, Model string
	Price             *Price
	In, Out           int64
}

// AnyModel is the key of a connection's default price.
const AnyModel = "*"

// Price returns the price of a model, or nil if it is unknown. Scripted replies are free unless the
// manifest sets a price.
func (l *Connection) Price(model string) *Price {
	for _, name := range []string{model, AnyModel} {
		if p, ok := l.Prices[name]; ok {
			return &p
		}
	}
	if l.Provider == "scripted" {
		return &Price{}
	}
	return nil
}

// PromptTokens estimates the number of tokens of a call's prompt.
func PromptTokens(q *effect.AgentCall) int64 { return promptTokens(&Request{AgentCall: q}) }
