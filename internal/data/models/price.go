package models

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

// Rates are prices in US dollars for a million tokens. The cache's rates are nil if there are none:
// tokens that are read from the provider's cache then cost as much as other input, and tokens that
// are written to it WriteFactor times as much.
type Rates struct {
	Input        float64  `json:"input"`
	Output       float64  `json:"output"`
	CacheRead    *float64 `json:"cache_read,omitempty"`
	CacheWrite   *float64 `json:"cache_write,omitempty"`
	CacheWrite1h *float64 `json:"cache_write_1h,omitempty"` // with a lifetime of one hour; nil means CacheWrite
}

// WriteFactor is the price of a token that is written to a cache, relative to that of other input,
// if no price is known for it. Anthropic and OpenAI have it in common
// (https://platform.claude.com/docs/en/about-claude/pricing,
// https://developers.openai.com/api/docs/guides/prompt-caching).
const WriteFactor = 1.25

// Price is the price of a model.
type Price struct {
	Rates
	// Above contains the rates of all tokens of a request whose input is longer; nil for none.
	Above *Above `json:"above,omitempty"`
	// Tiers contains factors of service tiers.
	Tiers map[string]float64 `json:"tiers,omitempty"`
	// From is the first day on which the price applies, in UTC; "" if it is the first price.
	From string `json:"from,omitempty"`
	// Source contains names in sources, or addresses. It is nil in the price of a manifest, which
	// applies to each service tier.
	Source []string `json:"source,omitempty"`
}

// Above are the rates of requests with more than Tokens input tokens.
type Above struct {
	Tokens int64 `json:"tokens"`
	Rates
}

// Usage is what a request has used. In includes Cached and CacheWrite, and CacheWrite includes
// CacheWrite1h. Out includes Reasoning.
type Usage struct {
	In, Out int64
	Parts
	CacheWrite1h int64  // written to the provider's cache with a lifetime of one hour
	Tier         string // service tier; "" for the standard one
}

// Parts are numbers of tokens that the input and the output of requests include; 0 if the provider
// reports none.
type Parts struct {
	Cached     int64 `json:"tokens_cached,omitempty"`      // read from the provider's cache
	CacheWrite int64 `json:"tokens_cache_write,omitempty"` // written to it
	Reasoning  int64 `json:"tokens_reasoning,omitempty"`
}

// Plus returns the sum of parts.
func (p Parts) Plus(q Parts) Parts {
	return Parts{p.Cached + q.Cached, p.CacheWrite + q.CacheWrite, p.Reasoning + q.Reasoning}
}

// Spent is what a request has used, and its cost in units of 10⁻¹² US dollars.
type Spent struct {
	Usage
	Cost     int64
	Unpriced bool // the price is unknown, and Cost is not the whole cost
	Answered bool // false if there was no reply
	Failed   bool // there was no reply, or one that the program does not receive
	// Estimated means that the provider did not report one of the numbers.
	Estimated bool
}

// Dollar is a US dollar in the unit of costs. In this unit, the price of one token has the same
// number as the price of a million tokens in millionths of a dollar, so sums are exact.
const Dollar = 1_000_000_000_000

// mostTokens is the largest number of tokens of one request that can be true.
const mostTokens = 1e12

// Limited returns the usage with numbers that can be true: none is negative or greater than the
// number that includes it, and a part that a provider counts twice is counted once. A report of a
// provider can so neither reduce what a budget has counted nor exceed the price of all its tokens.
func (u Usage) Limited() Usage {
	limit := func(n *int64, most int64) { *n = min(max(*n, 0), most) }
	limit(&u.In, mostTokens)
	limit(&u.Out, mostTokens)
	limit(&u.Cached, u.In)
	limit(&u.CacheWrite, u.In-u.Cached)
	limit(&u.CacheWrite1h, u.CacheWrite)
	limit(&u.Reasoning, u.Out)
	return u
}

// Cost returns the cost of a request in units of 10⁻¹² US dollars. ok is false if the price does
// not contain the service tier; the cost is then that of the standard tier.
func Cost(u Usage, p *Price) (cost int64, ok bool) {
	u = u.Limited()
	rates, factor := p.at(u.In), 1.0
	ok = true
	if u.Tier != "" && p.Source != nil {
		if factor, ok = p.Tiers[u.Tier]; !ok {
			factor = 1
		}
	}
	for _, x := range []struct {
		tokens int64
		usd    float64
	}{
		{u.In - u.Cached - u.CacheWrite, rates.Input}, {u.Cached, *rates.CacheRead},
		{u.CacheWrite - u.CacheWrite1h, *rates.CacheWrite}, {u.CacheWrite1h, *rates.CacheWrite1h}, {u.Out, rates.Output},
	} {
		cost = add(cost, times(x.tokens, perToken(x.usd*factor)))
	}
	return cost, ok
}

// Highest returns the highest cost of an input and of an output token of a request with the given
// number of input tokens, in the standard service tier, in units of 10⁻¹² US dollars. long means
// that the request writes to the cache with a lifetime of one hour. Without a price both are 0.
func (p *Price) Highest(in int64, long bool) (input, output int64) {
	if p == nil {
		return 0, 0
	}
	rates := p.at(in)
	input = max(perToken(rates.Input), perToken(*rates.CacheWrite))
	if long {
		input = max(input, perToken(*rates.CacheWrite1h))
	}
	return input, perToken(rates.Output)
}

// at returns the rates of a request with the given number of input tokens, all of which are set.
func (p *Price) at(in int64) Rates {
	r := p.Rates
	if p.Above != nil && in > p.Above.Tokens {
		r = p.Above.Rates
	}
	if r.CacheRead == nil {
		r.CacheRead = &r.Input
	}
	if r.CacheWrite == nil {
		r.CacheWrite = new(r.Input * WriteFactor)
	}
	if r.CacheWrite1h == nil {
		r.CacheWrite1h = r.CacheWrite
	}
	return r
}

// perToken returns the price of one token in units of 10⁻¹² US dollars. usd is the price of a
// million tokens in dollars.
func perToken(usd float64) int64 { return int64(math.Round(usd * 1e6)) }

// mostCost is the largest cost. It is so large that no sum of costs in a run overflows.
const mostCost = 1e16

func add(a, b int64) int64 { return min(a+b, mostCost) }

// times multiplies two numbers that are not negative.
func times(n, price int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(price))
	if high != 0 || low > mostCost {
		return mostCost
	}
	return int64(low)
}

// PriceAt returns the built-in price of a model of a vendor on a date, or nil if it is unknown. A
// row's price is that of the model which the pattern names: a further word in the name, as in
// gpt-6.2-sol-mini, is another model.
func PriceAt(vendor, model string, date time.Time) (best *Price) {
	name := Name(model)
	row := find(vendor, name)
	if row == nil || strings.TrimSuffix(name, "-latest") != strings.TrimSuffix(row.Pattern, "*") {
		return nil
	}
	day := date.UTC().Format(time.DateOnly)
	for i := range row.Price {
		if p := &row.Price[i]; p.From <= day && (best == nil || p.From >= best.From) {
			best = p
		}
	}
	return best
}

// WithRatios returns the rates of a manifest with those of the cache that it lacks: they have the
// same ratio to its input as those of the vendor's price, which may be nil.
func (r Rates) WithRatios(vendor *Price) Rates {
	if vendor == nil {
		return r
	}
	v := vendor.at(0)
	for _, x := range []struct {
		to   **float64
		from *float64
	}{{&r.CacheRead, v.CacheRead}, {&r.CacheWrite, v.CacheWrite}, {&r.CacheWrite1h, v.CacheWrite1h}} {
		if *x.to == nil {
			*x.to = new(r.Input * *x.from / v.Input)
		}
	}
	return r
}
