package llm

import (
	"cmp"
	"context"
	"net/netip"
	"net/url"
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
type Metered struct {
	Connection, Model string
	In, Out           int64
	Price             *models.Price
}

// AnyModel is the key of a connection's default price.
const AnyModel = "*"

// Price returns the price of a model at a time, or nil if it is unknown: that of the manifest, or
// else that of the vendor if the connection uses the vendor's own address. Models that this machine
// executes are free.
func (l *Connection) Price(model string, at time.Time) *models.Price {
	own := l.ownPrice(model)
	vendor := models.PriceAt(l.Provider, model, at)
	switch {
	case own != nil:
		p := &models.Price{Rates: own.WithRatios(vendor)}
		if p.CacheWrite == nil && !models.ProviderNamed(l.Provider).Writes {
			p.CacheWrite = &p.Input // so that nothing is reserved for a write
		}
		return p
	case l.isFree():
		return &models.Price{}
	case l.isVendors():
		return vendor
	}
	return nil
}

// ownPrice returns the manifest's price of a model, or nil. Names are compared as given, and then
// without path, region, vendor and version.
func (l *Connection) ownPrice(model string) *models.Rates {
	if p, ok := l.Prices[model]; ok {
		return &p
	}
	if plain := models.Name(model); len(l.Prices) > 0 {
		found := ""
		for name := range l.Prices {
			if name != AnyModel && models.Name(name) == plain && (found == "" || name < found) {
				found = name
			}
		}
		if p, ok := l.Prices[cmp.Or(found, AnyModel)]; ok {
			return &p
		}
	}
	return nil
}

// isVendors reports whether the connection sends its requests to the own address of a vendor.
func (l *Connection) isVendors() bool {
	base := models.ProviderNamed(l.Provider).Base
	return base != "" && l.Function == nil && (l.BaseURL == "" || hostOf(l.BaseURL) == hostOf(base))
}

// isFree reports whether the connection's models are executed on this machine.
func (l *Connection) isFree() bool {
	p := models.ProviderNamed(l.Provider)
	if !p.Free || l.Function != nil && l.Provider != models.Scripted {
		return false
	}
	host := hostOf(l.Address())
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && ip.IsLoopback()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // it is no address of a vendor
	}
	return u.Hostname()
}

// CostOf returns the cost of a recorded reply in units of 10⁻¹² US dollars: that at the time of the
// reply, or, if it was unknown, that at the manifest's price. ok is false if it is still unknown.
func (l *Connection) CostOf(r *effect.AgentReply) (cost int64, ok bool) {
	if r.CostUSD > 0 && !r.Unpriced {
		return r.Picodollars(), true
	}
	if p := l.ownPrice(r.Model); p != nil || l.isFree() {
		return models.Cost(r.Usage(), l.Price(r.Model, time.Time{}))
	}
	return r.Picodollars(), false
}

// PromptTokens estimates the number of tokens of a call's prompt.
func PromptTokens(q *effect.AgentCall) int64 { return promptTokens(&Request{AgentCall: q}) }
