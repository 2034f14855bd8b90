package llm

import (
	"context"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Meter is called before each attempt and returns when the attempt may begin. It returns ctx's
// error, or the reason why the attempt must not begin. granted is the maximum number of tokens of
// the reply if the call has no limit; 0 means no limit. settle must be called once with what the
// provider reported, or with an estimate. A Meter must be safe for concurrent use.
type Meter func(ctx context.Context, m Metered) (granted int64, settle func(models.Spent), err error)

// Metered describes one attempt for a Meter. In is the estimated number of tokens of the prompt.
// Out is the limit on the tokens of the reply, or 0. Price is nil if the model's price is unknown.
// Hour means that the prompt may be written to the provider's cache for one hour.
type Metered struct {
	Connection, Model string
	In, Out           int64
	Price             *models.Price
	Hour              bool
}

// StoresForHour reports whether requests may be written to the provider's cache for one hour.
func (l *Connection) StoresForHour() bool { return l.Cache == models.CacheHour }

// AnyModel is the key of a connection's default price.
const AnyModel = models.AnyModel

func (l *Connection) tariff() models.Tariff {
	return models.Tariff{Provider: l.Provider, Address: l.BaseURL, Own: l.Prices, IsOther: l.Function != nil}
}

// Price returns the price of a model at a time, or nil if it is unknown.
func (l *Connection) Price(model string, at time.Time) *models.Price {
	return l.tariff().Price(model, at)
}

// CostOf returns the cost of a recorded reply in units of 10⁻¹² US dollars: that at the time of the
// reply, or, if it was unknown, that at the manifest's price. ok is false if it is still unknown.
func (l *Connection) CostOf(r *effect.AgentReply) (cost int64, ok bool) {
	t := l.tariff()
	switch {
	case r.CostUSD > 0 && !r.Unpriced:
		return r.Picodollars(), true
	case t.IsFixed(r.Model):
		return models.Cost(r.Usage(), t.Price(r.Model, time.Time{}))
	}
	return r.Picodollars(), false
}

// PromptTokens estimates the number of tokens of a call's prompt.
func PromptTokens(q *effect.AgentCall) int64 { return promptTokens(&Request{AgentCall: q}) }
