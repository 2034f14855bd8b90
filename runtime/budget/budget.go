package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// Money is an amount in units of 10⁻¹² US dollars, in which sums are exact.
type Money int64

const dollar = models.Dollar

// Dollars converts an amount in the manifest to Money. It rounds to a millionth of a dollar, and
// smaller amounts up, because a limit of 0 is none.
func Dollars(usd float64) Money {
	millionths := math.Round(usd * 1e6)
	if usd > 0 {
		millionths = max(millionths, 1)
	}
	return Money(millionths) * (dollar / 1e6)
}

// ParseDollars returns the amount that String has written. It is exact below 9,000 dollars.
func ParseDollars(s string) (Money, error) {
	usd, err := strconv.ParseFloat(s, 64)
	return Money(math.Round(usd * dollar)), err
}

// USD returns the amount in dollars, rounded to a float64.
func (m Money) USD() float64 { return float64(m) / dollar }

// String returns the exact amount in dollars, with at least two digits after the point.
func (m Money) String() string {
	whole, rest := int64(m)/dollar, int64(m)%dollar
	if m < 0 {
		return "-" + (-m).String()
	}
	digits := fmt.Sprintf("%012d", rest)
	for len(digits) > 2 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	return strconv.FormatInt(whole, 10) + "." + digits
}

// MarshalJSON returns the exact amount in dollars as a number.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

// Call describes a model call before it is made. In is the estimated number of tokens of the
// prompt. Out is the limit on the tokens of the reply; 0 means no limit. Price is nil if it is
// unknown. Hour means that the prompt may be written to the provider's cache for one hour.
type Call struct {
	Connection, Model string
	In, Out           int64
	Price             *models.Price
	Hour              bool
}

// highest returns the highest cost of an input and of an output token, which is that of a prompt
// that is written to the provider's cache.
func (c *Call) highest() (in, out Money) {
	input, output := c.Price.Highest(c.In, c.Hour)
	return Money(input), Money(output)
}

// Usage is the usage of one model of one connection in a run. The tokens are those that the
// provider reported, or else an estimate. Cost is 0 without a price.
type Usage struct {
	Connection, Model string
	// number of calls that were refused because they could exceed [limits]; set only in the sum
	// over all models
	Refused int64
	models.Sum
}

// maxExpected returns the largest number of expected tokens for which scale returns at most n.
func (s share) maxExpected(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return int64(float64(n) * float64(s.expected) / float64(s.counted))
}

// Budget counts what the models and hosts of a run use, and refuses calls and exchanges that could
// exceed a limit. If a call fits only when running calls use less than they have reserved, the call
// waits for them. It does not wait for hosts, because it may be a part of the work for which a host
// waits. If a provider counts more tokens than expected, the next call of the model is expected to
// exceed its estimate by the same factor. If a limit is exceeded, Crossed reports it. A Budget is
// safe for concurrent use.
type Budget struct {
	// Crossed receives one message for each limit that was exceeded; nil for none.
	Crossed func(message string)
	// CostLimit is the name of the limit on the cost in messages; "" means [limits] max_cost_usd.
	CostLimit string

	tokens int64 // limit on the number of tokens; 0 means no limit
	cost   Money
	day    daily

	mu       sync.Mutex
	used     Usage         // usage of all models; its field Refused counts refused calls
	underway reservation   // tokens and cost that running calls may still use
	lost     reservation   // maximum tokens and cost that unanswered calls of earlier processes may have used
	ended    chan struct{} // closed when a running call ends; nil if no call waits for that
	models   map[[2]string]*Usage
	observed map[[2]string]observed
	crossed  [2]bool // whether the limits on tokens and on cost were reported to Crossed
	spending
}

// reservation is a number of calls with the tokens and the cost that they may use.
type reservation struct {
	calls, tokens int64
	cost          Money
}

func (r *reservation) addCalls(calls, tokens int64, cost Money) {
	r.calls += calls
	r.tokens += tokens
	r.cost += cost
}

// observed contains the ratios of counted to expected tokens in the last answered call of a model.
type observed struct{ in, out share }

// share is a ratio of counted to expected tokens.
type share struct{ counted, expected int64 }

// scale multiplies n by the ratio if the ratio is greater than 1.
func (s share) scale(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return max(n, int64(math.Ceil(float64(n)*float64(s.counted)/float64(s.expected))))
}

// NewBudget returns a Budget with limits on tokens and US dollars; 0 means no limit.
func NewBudget(tokens int64, usd float64) *Budget {
	return &Budget{tokens: tokens, cost: Dollars(usd), models: map[[2]string]*Usage{}, observed: map[[2]string]observed{},
		spending: spending{hosts: map[string]*hostState{}, unknown: map[*Exchange]Amount{}, blocked: map[*Exchange]int{}}}
}

// OpenReply is the number of tokens that are reserved for a reply without a limit, if the budget
// has that many left.
const OpenReply = 8192

// Reserve reserves the tokens and the cost of a call. If they fit only after running calls have
// ended, Reserve waits for these calls. granted is the maximum number of tokens of the reply if the
// call sets no limit; 0 means that no limit is needed. The caller must call settle once, after the
// call, with what the provider reported, or an estimate. The error is ctx's error, or the reason
// why the call must not be made, with a remedy.
func (b *Budget) Reserve(ctx context.Context, c Call) (granted int64, settle func(models.Spent), err error) {
	for {
		granted, settle, wait, err := b.reserve(c)
		if wait == nil {
			return granted, settle, err
		}
		if err := b.await(ctx, wait); err != nil {
			return 0, nil, err
		}
	}
}

// reserve is like Reserve, but does not wait. If wait is not nil, the caller may try again when
// wait is closed.
func (b *Budget) reserve(c Call) (granted int64, settle func(models.Spent), wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.underway
	if failed := b.day.update(func(d *Day) {
		granted, settle, wait, err = b.reserveWithin(c, d)
	}); failed != nil {
		if settle != nil {
			b.underway = before
		}
		return 0, nil, nil, failed
	}
	return granted, settle, wait, err
}

// reserveWithin is reserve with the totals of the day. The caller must hold the lock.
func (b *Budget) reserveWithin(c Call, d *Day) (granted int64, settle func(models.Spent), wait <-chan struct{}, err error) {
	expected := c // the call before it is scaled by the observed ratios
	last := b.observed[c.modelKey()]
	c.In, c.Out = last.in.scale(c.In), last.out.scale(c.Out)
	in, out := c.highest()
	switch {
	case (b.cost > 0 || b.day.Cost > 0) && c.Price == nil:
		key := b.costLimit()
		if b.cost == 0 {
			key = "[limits] max_day_cost_usd"
		}
		return 0, nil, nil, fmt.Errorf("the price of model %s is unknown, but %s requires it: add [connections.%s.prices.%s] with input and output",
			c.Model, key, c.Connection, tomlKey(c.Model))
	case b.bounded() && c.Out == 0:
		if room := b.remainingTokens(d, c.In, in, out); room < math.MaxInt64 {
			granted = min(OpenReply, last.out.maxExpected(room))
			expected.Out = max(granted, 1)
			c.Out = last.out.scale(expected.Out)
		}
	}
	want := Amount{Money(c.In)*in + Money(c.Out)*out, c.In + c.Out}
	if err := b.checkLimits(d, want); err != nil {
		b.used.Refused++
		return 0, nil, nil, err
	}
	if b.underway.calls > 0 && b.exceeds(want.plus(Amount{b.underway.cost, b.underway.tokens})) || b.day.exceeds(d.known().plus(d.HeldModels).plus(want)) {
		return 0, nil, b.nextEnd(), nil
	}
	b.underway.addCalls(1, want.Tokens, want.Cost)
	key := b.day.nextKey("model")
	d.Hold = &Hold{Key: key, Model: true, Amount: want}
	return granted, func(x models.Spent) {
		if crossed := b.recordUsage(expected, x, func() {
			b.underway.addCalls(-1, -want.Tokens, -want.Cost)
			b.endWaits()
			b.endDay(key, Use{Cost: Money(x.Cost), In: x.In, Out: x.Out})
		}); crossed != "" && b.Crossed != nil {
			b.Crossed(crossed)
		}
	}, nil, nil
}

// nextEnd returns a channel that is closed when a call or an exchange has ended. The caller must
// hold the lock.
func (b *Budget) nextEnd() <-chan struct{} {
	if b.ended == nil {
		b.ended = make(chan struct{})
	}
	return b.ended
}

// endWaits wakes the callers that wait for the end of a call or an exchange. The caller must hold
// the lock.
func (b *Budget) endWaits() {
	if b.ended != nil {
		close(b.ended)
		b.ended = nil
	}
}

// recordUsage counts the usage of a call. It returns a message if the call exceeds a limit for the
// first time, or "".
func (b *Budget) recordUsage(c Call, x models.Spent, release func()) (crossed string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release()
	for _, u := range []*Usage{b.model(c), &b.used} {
		u.Add(x.Sum())
	}
	if x.Answered {
		b.observed[c.modelKey()] = observed{share{x.In, c.In}, share{x.Out, c.Out}}
	}
	return b.crossedMessage(c, x.In, x.Out)
}

// Charge counts an attempt at a model that an earlier process of the run made.
func (b *Budget) Charge(connection, model string, x models.Sum) {
	b.mu.Lock()
	c := Call{Connection: connection, Model: model, In: x.TokensIn, Out: x.TokensOut}
	b.model(c).Add(x)
	b.used.Add(x)
	crossed := b.crossedMessage(c, x.TokensIn, x.TokensOut)
	b.mu.Unlock()
	if crossed != "" && b.Crossed != nil {
		b.Crossed(crossed)
	}
}

// Lose counts a call that an earlier process of the run made and whose outcome is unknown. The
// maximum that it may have used remains reserved.
func (b *Budget) Lose(c Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in, out := c.highest()
	b.lost.addCalls(1, c.In+c.Out, Money(c.In)*in+Money(c.Out)*out)
}

// crossedMessage returns a message if a call exceeds a limit for the first time, or "".
func (b *Budget) crossedMessage(c Call, used, replied int64) string {
	why := func() string {
		return fmt.Sprintf("model %s of connection '%s' counted %d tokens in and %d out, where %d and %d at most were expected; no further call is made",
			c.Model, c.Connection, used, replied, c.In, c.Out)
	}
	if all := b.used.Tokens(); b.tokens > 0 && all > b.tokens && !b.crossed[0] {
		b.crossed[0] = true
		return fmt.Sprintf("the run exceeded [limits] max_tokens: it has used %d tokens, and %d are allowed: %s", all, b.tokens, why())
	}
	if used := Money(b.used.Cost); b.cost > 0 && used > b.cost && !b.crossed[1] {
		b.crossed[1] = true
		return fmt.Sprintf("the run exceeded %s: it has used %s dollars, and %s are allowed: %s", b.costLimit(), used, b.cost, why())
	}
	return ""
}

// modelKey returns the connection and the model of a call.
func (c *Call) modelKey() [2]string { return [2]string{c.Connection, c.Model} }

// tomlKey quotes a name for the header of a TOML table if necessary.
func tomlKey(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return strconv.Quote(name)
		}
	}
	return name
}

func (b *Budget) bounded() bool { return b.tokens > 0 || b.cost > 0 || b.day.Amount != Amount{} }

// known returns what the run has used, and what calls with unknown usage may have used.
func (b *Budget) known() Amount {
	return Amount{Money(b.used.Cost) + b.lost.cost, b.used.Tokens() + b.lost.tokens}.plus(b.byHosts)
}

// remainingTokens returns the number of tokens that are left for a reply after a prompt. It ignores
// running calls.
func (b *Budget) remainingTokens(d *Day, prompt int64, in, out Money) int64 {
	room := int64(math.MaxInt64)
	for _, l := range []struct{ limit, used Amount }{{Amount{b.cost, b.tokens}, b.known()}, {b.day.Amount, d.known()}} {
		if l.limit.Tokens > 0 {
			room = min(room, l.limit.Tokens-l.used.Tokens-prompt)
		}
		if l.limit.Cost > 0 && out > 0 {
			room = min(room, int64((l.limit.Cost-l.used.Cost-Money(prompt)*in)/out))
		}
	}
	return max(room, 0)
}

// exceeds reports whether a limit of the run would be exceeded by an additional amount.
func (b *Budget) exceeds(more Amount) bool {
	now := b.known()
	return b.tokens > 0 && now.Tokens+more.Tokens > b.tokens ||
		b.cost > 0 && (now.Cost+more.Cost > b.cost || now.Cost-b.lost.cost >= b.cost)
}

// checkLimits returns the reason why a call would exceed a limit even if all running calls used
// nothing, or nil.
func (b *Budget) checkLimits(d *Day, want Amount) error {
	used := b.known()
	switch {
	case b.tokens > 0 && used.Tokens+want.Tokens > b.tokens:
		return b.limitError("[limits] max_tokens", fmt.Sprint(b.tokens), "tokens", fmt.Sprint(used.Tokens-b.lost.tokens), fmt.Sprint(b.lost.tokens), fmt.Sprint(want.Tokens))
	case b.exceeds(Amount{Cost: want.Cost}): // the tokens fit, so the cost exceeds its limit
		return b.limitError(b.costLimit(), b.cost.String(), "dollars", (used.Cost - b.lost.cost).String(), b.lost.cost.String(), want.Cost.String())
	}
	switch day := d.known(); {
	case b.day.Tokens > 0 && day.Tokens+want.Tokens > b.day.Tokens:
		return dayError(d, "max_day_tokens", fmt.Sprint(b.day.Tokens), "tokens", func(a Amount) string { return fmt.Sprint(a.Tokens) }, want)
	case b.day.Cost > 0 && (day.Cost+want.Cost > b.day.Cost || day.Cost >= b.day.Cost):
		return dayError(d, "max_day_cost_usd", b.day.Cost.String(), "dollars", func(a Amount) string { return a.Cost.String() }, want)
	}
	return nil
}

func (b *Budget) costLimit() string { return cmp.Or(b.CostLimit, "[limits] max_cost_usd") }

// limitError returns the error for a limit that a call would exceed.
func (b *Budget) limitError(limit, bound, unit, used, lost, wanted string) error {
	text := fmt.Sprintf("it could go beyond the %s %s that %s allows: the run has used %s, ", bound, unit, limit, used)
	if b.lost.calls > 0 {
		text += fmt.Sprintf("calls whose outcome is unknown may have used %s, ", lost)
	}
	return errors.New(text + fmt.Sprintf("and this call may use %s (raise the limit, or give the agent a smaller max_tokens)", wanted))
}

// dayError returns the error for a limit of the day that a call would exceed.
func dayError(d *Day, limit, bound, unit string, of func(Amount) string, want Amount) error {
	used := of(d.Used)
	if d.Lost != (Amount{}) {
		used += fmt.Sprintf(", %s have reserved %s", namesOf(d.LostRuns), of(d.Lost))
	}
	return fmt.Errorf("it could go beyond the %s %s that [limits] %s allows: the runs of this day have used %s, and this call may use %s (raise the limit, or wait for the next day)",
		bound, unit, limit, used, of(want))
}

// model returns the usage of the model of a call.
func (b *Budget) model(c Call) *Usage {
	k := c.modelKey()
	u := b.models[k]
	if u == nil {
		u = &Usage{Connection: c.Connection, Model: c.Model}
		b.models[k] = u
	}
	return u
}

// Usage returns the usage of each model, sorted by connection and model, and the sum.
func (b *Budget) Usage() (each []Usage, all Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.models {
		each = append(each, *u)
	}
	slices.SortFunc(each, func(x, y Usage) int {
		return cmp.Or(cmp.Compare(x.Connection, y.Connection), cmp.Compare(x.Model, y.Model))
	})
	return each, b.used
}

// Used returns what models and hosts have used, without failures of hosts.
func (b *Budget) Used() models.Sum {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.used.Sum
	for _, h := range b.hosts {
		all.Add(h.usage.Sum)
	}
	return all
}
