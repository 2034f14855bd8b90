package llm

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Meter is called before each attempt and returns when it may be made; an error says why
// not, or is the context's. granted bounds, in tokens, the reply of a call that sets no bound itself;
// 0 means no bound. settle is called once, with the tokens that the provider
// reported; answered is false when there was no reply. A Meter is safe for
// concurrent use.
type Meter func(ctx context.Context, m Metered) (granted int64, settle func(in, out int64, answered bool), err error)

// Metered is one attempt as a Meter sees it. In is an estimate of the prompt's
// tokens. Out is the bound on the reply's tokens, 0 without one. Price is nil
// when the manifest gives none.
type Metered struct {
	Connection, Model string
	Price             *Price
	In, Out           int64
}

// AnyModel is the key of a connection's prices for models that have no price of
// their own.
const AnyModel = "*"

// Price is what a model costs; nil when that is not known. Scripted replies are
// free unless the manifest gives them a price.
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

// PromptTokens estimates the tokens of a call's prompt.
func PromptTokens(q *effect.AgentCall) int64 { return promptTokens(&Request{AgentCall: q}) }
