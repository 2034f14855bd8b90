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

// Money is an amount in units of 10⁻¹² US dollars. So a price for a million
// tokens, in millionths of a dollar, is the price of one token in this unit, and
// sums are exact.
type Money int64

const dollar = 1_000_000_000_000

// Dollars is an amount of the manifest, rounded to a millionth of a dollar.
func Dollars(usd float64) Money { return Money(math.Round(usd*1e6)) * (dollar / 1e6) }

// perToken is the price of one token when a million cost so many dollars.
func perToken(usd float64) Money { return Money(math.Round(usd * (dollar / 1e6))) }

// Cost is what tokens in and out cost at prices in dollars for a million.
func Cost(input, output float64, in, out int64) Money {
	return Money(in)*perToken(input) + Money(out)*perToken(output)
}

// USD is the amount in dollars, as near as a float comes to it.
func (m Money) USD() float64 { return float64(m) / dollar }

// String gives dollars with as many digits as there are, two at least.
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

// Call is an attempt to ask a model, before it is made. In is an estimate of the
// prompt's tokens; Out bounds the reply's, 0 when nothing does. Input and Output
// are prices in dollars for a million tokens; Priced says whether they are
// known.
type Call struct {
	Connection, Model string
	In, Out           int64
	Priced            bool
	Input, Output     float64
}

// Usage is what a run has used of one model of one connection. Tokens are those
// that the provider reported. Cost is 0 without a price.
type Usage struct {
	Connection, Model   string
	Calls, Failed       int64
	Refused             int64 // calls that were not made, since they could exceed [limits]; only of all models
	TokensIn, TokensOut int64
	Cost                Money
	Priced              bool
}

// within is how much may be expected so that what is counted stays within n.
func (s share) within(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return int64(float64(n) * float64(s.expected) / float64(s.counted))
}

// Budget counts what a run's models use, and refuses a call with which the run
// could exceed [limits]. A call that fits only once calls under way have used less
// than they may waits for them. When a provider counts more than was expected, the
// model's next call is expected to exceed its estimate by the same factor, and Crossed reports a bound that was
// exceeded. Safe for concurrent use.
type Budget struct {
	// Crossed is told once of each bound that was crossed; nil drops it.
	Crossed func(message string)

	tokens int64 // bounds; 0 means none
	cost   Money

	mu       sync.Mutex
	used     Usage         // of all models; its Refused counts calls
	underway reservation   // what calls under way may still use
	lost     reservation   // what calls of earlier processes may have used at most
	ended    chan struct{} // closed when a call ends; nil when no call waits for that
	models   map[[2]string]*Usage
	observed map[[2]string]observed
	told     [2]bool // of tokens and cost: that they were crossed
}

// reservation is what calls may use, and how many they are.
type reservation struct {
	calls, tokens int64
	cost          Money
}

func (r *reservation) add(calls, tokens int64, cost Money) {
	r.calls += calls
	r.tokens += tokens
	r.cost += cost
}

// observed compares the tokens counted for the last answered call of a model
// with those expected of it.
type observed struct{ in, out share }

// share is of what was expected how much was counted.
type share struct{ counted, expected int64 }

// of scales what is expected by what was counted before, when that was more.
func (s share) of(n int64) int64 {
	if s.counted <= s.expected || s.expected <= 0 {
		return n
	}
	return max(n, int64(math.Ceil(float64(n)*float64(s.counted)/float64(s.expected))))
}

// NewBudget makes a Budget with bounds on tokens and US dollars; 0 means none.
func NewBudget(tokens int64, usd float64) *Budget {
	return &Budget{tokens: tokens, cost: Dollars(usd), models: map[[2]string]*Usage{}, observed: map[[2]string]observed{}}
}

// OpenReply is how many tokens are reserved for a reply that nothing else
// bounds, if as many are left.
const OpenReply = 8192

// Reserve takes a call's tokens and cost from what is left. If they fit only without what
// calls under way have reserved, Reserve waits until enough of those have ended. granted bounds
// the reply, in tokens, when the call does not; 0 means no bound is needed. settle must be
// called once when the attempt has ended, with the tokens that the provider reported. The error
// is the context's, or says why the call cannot be made, and what to do.
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

// reserve is Reserve without waiting: wait is closed when the call may be tried again, and nil
// when it was decided.
func (b *Budget) reserve(c Call) (granted int64, settle func(in, out int64, answered bool), wait <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in, out := perToken(c.Input), perToken(c.Output)
	expected := c // before what was counted lately is taken into account
	last := b.observed[c.key()]
	c.In, c.Out = last.in.of(c.In), last.out.of(c.Out)
	switch {
	case b.cost > 0 && !c.Priced:
		return 0, nil, nil, fmt.Errorf("the price of model %s is not known, which [limits] max_cost_usd needs: add [connections.%s.prices.%s] with input and output",
			c.Model, c.Connection, key(c.Model))
	case b.bounded() && c.Out == 0:
		if room := b.room(c.In, in, out); room < math.MaxInt64 {
			granted = min(OpenReply, last.out.within(room))
			expected.Out = max(granted, 1)
			c.Out = last.out.of(expected.Out)
		}
	}
	tokens, cost := c.In+c.Out, Money(c.In)*in+Money(c.Out)*out
	if err := b.fits(tokens, cost); err != nil {
		b.used.Refused++
		return 0, nil, nil, err
	}
	if b.underway.calls > 0 && b.exceeds(tokens+b.underway.tokens, cost+b.underway.cost) {
		if b.ended == nil {
			b.ended = make(chan struct{})
		}
		return 0, nil, b.ended, nil
	}
	b.underway.add(1, tokens, cost)
	return granted, func(used, given int64, answered bool) {
		if crossed := b.settle(expected, 1, used, given, answered, func() {
			b.underway.add(-1, -tokens, -cost)
			if b.ended != nil {
				close(b.ended)
				b.ended = nil
			}
		}); crossed != "" && b.Crossed != nil {
			b.Crossed(crossed)
		}
	}, nil, nil
}

// settle counts what calls have used. It gives the message about a bound that
// this has exceeded for the first time.
func (b *Budget) settle(c Call, calls, used, given int64, answered bool, release func()) (crossed string) {
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
		u.TokensOut += given
		u.Cost += Money(used)*in + Money(given)*out
	}
	if answered {
		b.observed[c.key()] = observed{share{used, c.In}, share{given, c.Out}}
	}
	return b.crossed(c, used, given)
}

// Charge counts calls that were made before, by processes of the run that have ended: with the
// tokens that the provider reported, or, when answered is false, those that they may have used at
// most, which stay reserved. A call whose reply nothing bounds counts as one of OpenReply.
func (b *Budget) Charge(c Call, calls, in, out int64, answered bool) {
	if answered {
		if crossed := b.settle(c, calls, in, out, true, func() {}); crossed != "" && b.Crossed != nil {
			b.Crossed(crossed)
		}
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost.add(calls, c.In+c.Out, Money(c.In)*perToken(c.Input)+Money(c.Out)*perToken(c.Output))
}

// crossed words which bound has been crossed by a call for the first time.
func (b *Budget) crossed(c Call, used, given int64) string {
	why := func() string {
		return fmt.Sprintf("model %s of connection '%s' counted %d tokens in and %d out, where %d and %d at most were expected; no call is made any more",
			c.Model, c.Connection, used, given, c.In, c.Out)
	}
	if all := b.used.TokensIn + b.used.TokensOut; b.tokens > 0 && all > b.tokens && !b.told[0] {
		b.told[0] = true
		return fmt.Sprintf("the run has gone beyond [limits] max_tokens: it has used %d tokens, and %d are allowed: %s", all, b.tokens, why())
	}
	if b.cost > 0 && b.used.Cost > b.cost && !b.told[1] {
		b.told[1] = true
		return fmt.Sprintf("the run has gone beyond [limits] max_cost_usd: it has used %s dollars, and %s are allowed: %s", b.used.Cost, b.cost, why())
	}
	return ""
}

// key names a call's model.
func (c *Call) key() [2]string { return [2]string{c.Connection, c.Model} }

// key is a name as a part of a TOML table's name.
func key(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return strconv.Quote(name)
		}
	}
	return name
}

func (b *Budget) bounded() bool { return b.tokens > 0 || b.cost > 0 }

// room returns how many tokens of a reply are left after a prompt of so many, without regard to
// calls under way.
func (b *Budget) room(prompt int64, in, out Money) int64 {
	room := int64(math.MaxInt64)
	if b.tokens > 0 {
		room = b.tokens - b.used.TokensIn - b.used.TokensOut - b.lost.tokens - prompt
	}
	if b.cost > 0 && out > 0 {
		room = min(room, int64((b.cost-b.used.Cost-b.lost.cost-Money(prompt)*in)/out))
	}
	return max(room, 0)
}

// exceeds reports whether a bound would be exceeded with so much more.
func (b *Budget) exceeds(tokens int64, cost Money) bool {
	return b.tokens > 0 && b.used.TokensIn+b.used.TokensOut+b.lost.tokens+tokens > b.tokens ||
		b.cost > 0 && (b.used.Cost+b.lost.cost+cost > b.cost || b.used.Cost >= b.cost)
}

// fits returns why a call would exceed a bound, also when all calls under way used nothing; nil
// when it would not.
func (b *Budget) fits(tokens int64, cost Money) error {
	switch {
	case b.tokens > 0 && b.used.TokensIn+b.used.TokensOut+b.lost.tokens+tokens > b.tokens:
		return errors.New(b.refusal("max_tokens", fmt.Sprint(b.tokens), "tokens", fmt.Sprint(b.used.TokensIn+b.used.TokensOut), fmt.Sprint(b.lost.tokens), fmt.Sprint(tokens)))
	case b.exceeds(0, cost): // the tokens fit
		return errors.New(b.refusal("max_cost_usd", b.cost.String(), "dollars", b.used.Cost.String(), b.lost.cost.String(), cost.String()))
	}
	return nil
}

// refusal words why a bound would be crossed.
func (b *Budget) refusal(limit, bound, unit, used, lost, wanted string) string {
	text := fmt.Sprintf("it could go beyond the %s %s that [limits] %s allows: the run has used %s, ", bound, unit, limit, used)
	if b.lost.calls > 0 {
		text += fmt.Sprintf("calls whose outcome is unknown may have used %s, ", lost)
	}
	return text + fmt.Sprintf("and this call may use %s (raise the limit, or give the agent a smaller max_tokens)", wanted)
}

// model finds the usage of a call's model.
func (b *Budget) model(c Call) *Usage {
	k := c.key()
	u := b.models[k]
	if u == nil {
		u = &Usage{Connection: c.Connection, Model: c.Model}
		b.models[k] = u
	}
	u.Priced = u.Priced || c.Priced
	return u
}

// Usage gives what was used of each model, ordered by connection and model, and
// the sums of all.
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
