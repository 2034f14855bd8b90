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
)

// Money is an amount in units of 10⁻¹² US dollars. A price in millionths of a dollar for a million
// tokens is then the price of one token in this unit, and sums are exact.
type Money int64

const dollar = 1_000_000_000_000

// Dollars converts an amount of the manifest, rounded to a millionth of a dollar.
func Dollars(usd float64) Money { return Money(math.Round(usd*1e6)) * (dollar / 1e6) }

// perToken returns the price of one token, given the price in dollars for a million.
func perToken(usd float64) Money { return Money(math.Round(usd * (dollar / 1e6))) }

// Cost returns the cost of tokens, given the prices in dollars for a million.
func Cost(input, output float64, in, out int64) Money {
	return Money(in)*perToken(input) + Money(out)*perToken(output)
}

// USD returns the amount in dollars, as precisely as a float allows.
func (m Money) USD() float64 { return float64(m) / dollar }

// String returns the amount in dollars with all its digits, at least two after the point.
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

// Call describes a call of a model before it is made. In is an estimate of the prompt's tokens. Out
// limits the reply's tokens; 0 means no limit. Input and Output are prices in dollars for a million
// tokens; Priced reports whether they are known.
type Call struct {
	Connection, Model string
	In, Out           int64
	Priced            bool
	Input, Output     float64
}

// Usage is a run's usage of one model of one connection. Tokens are those that the provider
// reported. Cost is 0 without a price.
type Usage struct {
	Connection, Model string
	Calls, Failed     int64
	// calls that were not made because they could exceed [limits]; only in the sum of all models
	Refused             int64
	TokensIn, TokensOut int64
	Cost                Money
	Priced              bool
}

// maxExpected returns the largest expectation for which the counted number is at most n.
func (s share) maxExpected(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return int64(float64(n) * float64(s.expected) / float64(s.counted))
}

// Budget counts the usage of a run's models, and refuses a call that could exceed [limits]. A call
// that fits only if running calls use less than they reserved waits for them. If a provider counts
// more than expected, the model's next call is expected to exceed its estimate by the same factor,
// and Crossed reports an exceeded limit. A Budget is safe for concurrent use.
type Budget struct {
	// Crossed, if not nil, receives one message for each limit that was exceeded.
	Crossed func(message string)

	tokens int64 // limits; 0 means none
	cost   Money

	mu       sync.Mutex
	used     Usage         // of all models; its Refused counts calls
	underway reservation   // what running calls may still use
	lost     reservation   // the most that calls of earlier processes may have used
	ended    chan struct{} // closed when a call ends; nil if no call waits for that
	models   map[[2]string]*Usage
	observed map[[2]string]observed
	crossed  [2]bool // for tokens and cost: Crossed was called
}

// reservation is the number of calls and what they may use.
type reservation struct {
	calls, tokens int64
	cost          Money
}

func (r *reservation) addCalls(calls, tokens int64, cost Money) {
	r.calls += calls
	r.tokens += tokens
	r.cost += cost
}

// observed compares the counted tokens of a model's last answered call with the expected ones.
type observed struct{ in, out share }

// share is the ratio of counted to expected tokens.
type share struct{ counted, expected int64 }

// scale multiplies n by the ratio if that is greater than 1.
func (s share) scale(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return max(n, int64(math.Ceil(float64(n)*float64(s.counted)/float64(s.expected))))
}

// NewBudget returns a Budget with limits on tokens and US dollars; 0 means none.
func NewBudget(tokens int64, usd float64) *Budget {
	return &Budget{tokens: tokens, cost: Dollars(usd), models: map[[2]string]*Usage{}, observed: map[[2]string]observed{}}
}

// OpenReply is the number of tokens that are reserved for an unlimited reply, if that many are
// left.
const OpenReply = 8192

// Reserve reserves a call's tokens and cost. If they fit only after running calls have ended,
// Reserve waits until enough of those have. granted limits the reply, in tokens, if the call does
// not; 0 means that no limit is needed. settle must be called once after the call, with the tokens
// that the provider reported. The error is the context's, or the reason why the call cannot be made
// with what to do.
func (b *Budget) Reserve(ctx context.Context, c Call) (granted int64, settle func(in, out int64, answered bool), err error) {
	for {
		granted, settle, wait, err := b.reserve(c)
		if wait == nil {
			return granted, settle, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, nil, context.Cause(ctx)
		}
	}
}

// reserve is like Reserve, but does not wait: if wait is not nil, the call may be tried again when
// wait is closed.
func (b *Budget) reserve(c Call) (granted int64, settle func(in, out int64, answered bool), wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in, out := perToken(c.Input), perToken(c.Output)
	expected := c // before scaling by what was counted recently
	last := b.observed[c.modelKey()]
	c.In, c.Out = last.in.scale(c.In), last.out.scale(c.Out)
	switch {
	case b.cost > 0 && !c.Priced:
		return 0, nil, nil, fmt.Errorf("the price of model %s is unknown, but [limits] max_cost_usd requires it: add [connections.%s.prices.%s] with input and output",
			c.Model, c.Connection, tomlKey(c.Model))
	case b.bounded() && c.Out == 0:
		if room := b.remainingTokens(c.In, in, out); room < math.MaxInt64 {
			granted = min(OpenReply, last.out.maxExpected(room))
			expected.Out = max(granted, 1)
			c.Out = last.out.scale(expected.Out)
		}
	}
	tokens, cost := c.In+c.Out, Money(c.In)*in+Money(c.Out)*out
	if err := b.checkLimits(tokens, cost); err != nil {
		b.used.Refused++
		return 0, nil, nil, err
	}
	if b.underway.calls > 0 && b.exceeds(tokens+b.underway.tokens, cost+b.underway.cost) {
		if b.ended == nil {
			b.ended = make(chan struct{})
		}
		return 0, nil, b.ended, nil
	}
	b.underway.addCalls(1, tokens, cost)
	return granted, func(used, replied int64, answered bool) {
		if crossed := b.recordUsage(expected, 1, used, replied, answered, func() {
			b.underway.addCalls(-1, -tokens, -cost)
			if b.ended != nil {
				close(b.ended)
				b.ended = nil
			}
		}); crossed != "" && b.Crossed != nil {
			b.Crossed(crossed)
		}
	}, nil, nil
}

// recordUsage counts the usage of calls. It returns the message about a limit that was exceeded for
// the first time, or "".
func (b *Budget) recordUsage(c Call, calls, used, replied int64, answered bool, release func()) (crossed string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	release()
	in, out := perToken(c.Input), perToken(c.Output)
	for _, u := range []*Usage{b.model(c), &b.used} {
		u.Calls += calls
		if !answered {
			u.Failed += calls
		}
		u.TokensIn += used
		u.TokensOut += replied
		u.Cost += Money(used)*in + Money(replied)*out
	}
	if answered {
		b.observed[c.modelKey()] = observed{share{used, c.In}, share{replied, c.Out}}
	}
	return b.crossedMessage(c, used, replied)
}

// Charge counts calls that earlier processes of the run made, with the tokens that the provider
// reported. If answered is false, the tokens are the most that the calls may have used, and remain
// reserved. A call with an unlimited reply counts as OpenReply.
func (b *Budget) Charge(c Call, calls, in, out int64, answered bool) {
	if answered {
		if crossed := b.recordUsage(c, calls, in, out, true, func() {}); crossed != "" && b.Crossed != nil {
			b.Crossed(crossed)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost.addCalls(calls, c.In+c.Out, Money(c.In)*perToken(c.Input)+Money(c.Out)*perToken(c.Output))
}

// crossedMessage returns the message about a limit that a call exceeded for the first time, or "".
func (b *Budget) crossedMessage(c Call, used, replied int64) string {
	why := func() string {
		return fmt.Sprintf("model %s of connection '%s' counted %d tokens in and %d out, where %d and %d at most were expected; no further call is made",
			c.Model, c.Connection, used, replied, c.In, c.Out)
	}
	if all := b.used.TokensIn + b.used.TokensOut; b.tokens > 0 && all > b.tokens && !b.crossed[0] {
		b.crossed[0] = true
		return fmt.Sprintf("the run exceeded [limits] max_tokens: it has used %d tokens, and %d are allowed: %s", all, b.tokens, why())
	}
	if b.cost > 0 && b.used.Cost > b.cost && !b.crossed[1] {
		b.crossed[1] = true
		return fmt.Sprintf("the run exceeded [limits] max_cost_usd: it has used %s dollars, and %s are allowed: %s", b.used.Cost, b.cost, why())
	}
	return ""
}

// modelKey identifies a call's model.
func (c *Call) modelKey() [2]string { return [2]string{c.Connection, c.Model} }

// tomlKey quotes a name for a TOML table's header if necessary.
func tomlKey(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return strconv.Quote(name)
		}
	}
	return name
}

func (b *Budget) bounded() bool { return b.tokens > 0 || b.cost > 0 }

// remainingTokens returns how many tokens of a reply are left after a prompt, disregarding running
// calls.
func (b *Budget) remainingTokens(prompt int64, in, out Money) int64 {
	room := int64(math.MaxInt64)
	if b.tokens > 0 {
		room = b.tokens - b.used.TokensIn - b.used.TokensOut - b.lost.tokens - prompt
	}
	if b.cost > 0 && out > 0 {
		room = min(room, int64((b.cost-b.used.Cost-b.lost.cost-Money(prompt)*in)/out))
	}
	return max(room, 0)
}

// exceeds reports whether a limit would be exceeded by so much more usage.
func (b *Budget) exceeds(tokens int64, cost Money) bool {
	return b.tokens > 0 && b.used.TokensIn+b.used.TokensOut+b.lost.tokens+tokens > b.tokens ||
		b.cost > 0 && (b.used.Cost+b.lost.cost+cost > b.cost || b.used.Cost >= b.cost)
}

// checkLimits returns why a call would exceed a limit even if all running calls used nothing, or
// nil.
func (b *Budget) checkLimits(tokens int64, cost Money) error {
	switch {
	case b.tokens > 0 && b.used.TokensIn+b.used.TokensOut+b.lost.tokens+tokens > b.tokens:
		return errors.New(b.limitError("max_tokens", fmt.Sprint(b.tokens), "tokens", fmt.Sprint(b.used.TokensIn+b.used.TokensOut), fmt.Sprint(b.lost.tokens), fmt.Sprint(tokens)))
	case b.exceeds(0, cost): // the tokens fit
		return errors.New(b.limitError("max_cost_usd", b.cost.String(), "dollars", b.used.Cost.String(), b.lost.cost.String(), cost.String()))
	}
	return nil
}

// limitError returns the text for an exceeded limit.
func (b *Budget) limitError(limit, bound, unit, used, lost, wanted string) string {
	text := fmt.Sprintf("it could go beyond the %s %s that [limits] %s allows: the run has used %s, ", bound, unit, limit, used)
	if b.lost.calls > 0 {
		text += fmt.Sprintf("calls whose outcome is unknown may have used %s, ", lost)
	}
	return text + fmt.Sprintf("and this call may use %s (raise the limit, or give the agent a smaller max_tokens)", wanted)
}

// model returns the usage of a call's model.
func (b *Budget) model(c Call) *Usage {
	k := c.modelKey()
	u := b.models[k]
	if u == nil {
		u = &Usage{Connection: c.Connection, Model: c.Model}
		b.models[k] = u
	}
	u.Priced = u.Priced || c.Priced
	return u
}

// Usage returns the usage of each model, sorted by connection and model, and the sum.
func (b *Budget) Usage() (each []Usage, all Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = b.used
	all.Priced = true
	for _, u := range b.models {
		each = append(each, *u)
		all.Priced = all.Priced && u.Priced
	}
	slices.SortFunc(each, func(x, y Usage) int {
		return cmp.Or(cmp.Compare(x.Connection, y.Connection), cmp.Compare(x.Model, y.Model))
	})
	return each, all
}
