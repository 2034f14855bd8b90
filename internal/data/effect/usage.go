package effect

import (
	"fmt"
	"math"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// The largest totals of one exchange that can be true. A host that reports more is wrong, and the
// report is not counted.
const (
	MaxReportUSD    = 1e4
	MaxReportTokens = 1e12
)

// HostUsage is what a host has used since its exchange began, and whether a limit of its plan was
// reached, according to its messages.
type HostUsage struct {
	CostUSD float64 `json:"cost_usd,omitempty"` // 0 if Priced is false
	Priced  bool    `json:"priced,omitempty"`   // the host has reported a cost
	// EstimateUSD is the cost of the tokens of a host that has not reported a cost, if its tokens
	// have prices. A message contains it as cost_usd, with cost_estimated.
	EstimateUSD  float64 `json:"estimate_usd,omitempty"`
	TokensIn     int64   `json:"tokens_in,omitempty"`
	TokensOut    int64   `json:"tokens_out,omitempty"`
	TokensCached int64   `json:"tokens_cached,omitempty"` // included in TokensIn
	Turns        int64   `json:"turns,omitempty"`
	Reported     bool    `json:"reported,omitempty"` // the host has reported a cost, tokens or turns
	PlanReached  bool    `json:"plan_reached,omitempty"`
	// WaitUntil is when the last reached limit of the plan no longer applies, in milliseconds since
	// 1970; 0 if that is unknown.
	WaitUntil int64 `json:"wait_until,omitempty"`
}

// AddMessage adds the totals in a progress or a result: `cost_usd`, `usage` and `turns`, and the
// state of a plan_limit. A total that is lower than an earlier one is ignored. changed reports
// whether anything has changed. invalid describes a value that cannot be true, and "" means that
// there is none.
func (u *HostUsage) AddMessage(m *HostMessage) (changed bool, invalid string) {
	if m.Type != hostmsg.Progress && m.Type != hostmsg.Result && m.Type != hostmsg.PlanLimit {
		return false, ""
	}
	all := m.Payload.Map()
	if all == nil || all.Len() == 0 {
		return false, ""
	}
	before := *u
	if m.Type == hostmsg.PlanLimit {
		invalid = u.addPlanLimit(all)
		return *u != before, invalid
	}
	if v, ok := all.GetString("cost_usd"); ok && !v.IsNil() {
		if usd, ok := v.Number(); ok && usd >= 0 && usd <= MaxReportUSD {
			if estimated, _ := all.GetString("cost_estimated"); estimated.Kind() == value.KindBool && estimated.AsBool() {
				u.EstimateUSD = max(u.EstimateUSD, usd)
			} else {
				u.CostUSD, u.Priced, u.Reported = max(u.CostUSD, usd), true, true
			}
		} else {
			invalid = describeReport("cost_usd", v)
		}
	}
	if v, ok := all.GetString("turns"); ok && !v.IsNil() {
		u.addCount(&u.Turns, "turns", v, &invalid)
	}
	if v, ok := all.GetString("usage"); ok {
		if tokens := v.Map(); tokens != nil {
			u.addMember(&u.TokensIn, tokens, "tokens_in", &invalid)
			u.addMember(&u.TokensOut, tokens, "tokens_out", &invalid)
			u.addMember(&u.TokensCached, tokens, "tokens_cached", &invalid)
			u.TokensCached = min(u.TokensCached, u.TokensIn)
		} else if !v.IsNil() {
			invalid = describeReport("usage", v)
		}
	}
	return *u != before, invalid
}

// addPlanLimit adds a limit of the host's plan.
func (u *HostUsage) addPlanLimit(m *value.Map) (invalid string) {
	if v, _ := m.GetString("status"); v.Kind() != value.KindString || v.AsString() != PlanReached {
		return ""
	}
	u.PlanReached = true
	v, _ := m.GetString("resets_at")
	if v.IsNil() {
		return ""
	}
	if v.Kind() == value.KindString {
		if t, err := time.Parse(time.RFC3339, v.AsString()); err == nil {
			u.WaitUntil = max(u.WaitUntil, t.UnixMilli())
			return ""
		}
	}
	return describeReport("resets_at", v)
}

// The status of a plan_limit.
const (
	PlanNear    = "near"
	PlanReached = "reached"
)

func (u *HostUsage) addMember(to *int64, from *value.Map, name string, invalid *string) {
	if v, ok := from.GetString(name); ok && !v.IsNil() {
		u.addCount(to, "usage."+name, v, invalid)
	}
}

// addCount sets a count to the value v, which is higher than before.
func (u *HostUsage) addCount(to *int64, name string, v value.Slot, invalid *string) {
	n, ok := v.Number()
	if !ok || n < 0 || n > MaxReportTokens || n != math.Trunc(n) {
		*invalid = describeReport(name, v)
		return
	}
	*to, u.Reported = max(*to, int64(n)), true
}

func describeReport(name string, v value.Slot) string {
	return fmt.Sprintf("%s is %.100s", name, value.AppendJSON(nil, v))
}

// Tokens returns the sum of input and output tokens.
func (u *HostUsage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// Prices are prices of a host's tokens in US dollars for a million. Without Cached, cached tokens
// cost as much as other input.
type Prices struct {
	Input  float64  `json:"input"`
	Output float64  `json:"output"`
	Cached *float64 `json:"cached"`
}

// Picodollars returns the cost in units of 10⁻¹² US dollars: the cost that the host has reported,
// or else that of its tokens; without prices, their estimate. Without all of them it is 0.
func (u *HostUsage) Picodollars(prices *Prices) int64 {
	if u.Priced {
		return picodollars(u.CostUSD)
	}
	if prices == nil {
		return picodollars(u.EstimateUSD)
	}
	cost, _ := models.Cost(models.Usage{In: u.TokensIn, Out: u.TokensOut, Parts: models.Parts{Cached: u.TokensCached}},
		&models.Price{Rates: models.Rates{Input: prices.Input, Output: prices.Output, CacheRead: prices.Cached}})
	return min(cost, MaxReportUSD*models.Dollar)
}
