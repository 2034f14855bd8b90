package budget

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/models"
)

func TestMoney(t *testing.T) {
	for want, m := range map[string]Money{
		"0.00": 0, "5.00": Dollars(5), "0.50": Dollars(0.5), "0.000001": Dollars(0.000001), "-0.25": Dollars(-0.25), "1234567.891": Dollars(1234567.891),
		"0.00000015": 150_000, "0.000000075": 75_000, "0.00000000001": 10,
	} {
		if got := m.String(); got != want {
			t.Errorf("String of %d = %s, want %s", m, got, want)
		}
		if back, err := ParseDollars(want); err != nil || back != m {
			t.Errorf("ParseDollars of %s = %d, %v, want %d", want, back, err, m)
		}
	}
}

// price returns the price of a model without a cache.
func price(input, output float64) *models.Price {
	return &models.Price{Rates: models.Rates{Input: input, Output: output, CacheWrite: &input}}
}

// used returns what a call has used.
func used(c Call, in, out int64, answered, estimated bool) models.Spent {
	x := models.Spent{Usage: models.Usage{In: in, Out: out}, Unpriced: c.Price == nil, Answered: answered, Failed: !answered, Estimated: estimated}
	if c.Price != nil {
		x.Cost, _ = models.Cost(x.Usage, c.Price)
	}
	return x
}

// reserve reserves a call and fails the test if the call is refused.
func reserve(t *testing.T, b *Budget, c Call) (granted int64, settle func(in, out int64, answered, estimated bool)) {
	t.Helper()
	granted, end, err := b.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return granted, func(in, out int64, answered, estimated bool) { end(used(c, in, out, answered, estimated)) }
}

// TestCounting checks that without limits the usage is counted exactly as reported.
func TestCounting(t *testing.T) {
	b := NewBudget(0, 0)
	a := Call{Connection: "main", Model: "big", In: 5, Price: price(2.5, 10)}
	granted, settle := reserve(t, b, a)
	settle(1000, 200, true, false)
	_, failed := reserve(t, b, a)
	failed(0, 0, false, false)
	_, other := reserve(t, b, Call{Connection: "main", Model: "any"})
	other(7, 1, true, false)
	each, all := b.Usage()
	want := []Usage{
		{Connection: "main", Model: "any", Sum: models.Sum{Calls: 1, TokensIn: 7, TokensOut: 1, Unpriced: 1}},
		{Connection: "main", Model: "big", Sum: models.Sum{Calls: 2, FailedCalls: 1, TokensIn: 1000, TokensOut: 200, Cost: int64(Dollars(0.0045))}},
	}
	if d := cmp.Diff(want, each); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Usage{Sum: models.Sum{Calls: 3, FailedCalls: 1, TokensIn: 1007, TokensOut: 201, Cost: int64(Dollars(0.0045)), Unpriced: 1}}, all); d != "" || granted != 0 {
		t.Error(d, granted)
	}
}

// TestTokensReserved checks that a call that could exceed the limit is refused before it is made.
func TestTokensReserved(t *testing.T) {
	b := NewBudget(100, 0)
	_, first := reserve(t, b, Call{In: 10, Out: 40})
	_, _, err := b.Reserve(t.Context(), Call{In: 60, Out: 41})
	if want := "it could go beyond the 100 tokens that [limits] max_tokens allows: the run has used 0, and this call may use 101 " +
		"(raise the limit, or give the agent a smaller max_tokens)"; err == nil || err.Error() != want {
		t.Error(err)
	}
	first(10, 10, true, false)
	if _, settle := reserve(t, b, Call{In: 40, Out: 40}); settle != nil {
		settle(40, 40, true, false)
	}
	_, _, err = b.Reserve(t.Context(), Call{In: 1})
	if want := "the run has used 100, and this call may use 2 ("; err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if _, all := b.Usage(); all.Refused != 2 || all.Calls != 2 {
		t.Errorf("usage = %d calls and %d refused calls, want 2 and 2", all.Calls, all.Refused)
	}
}

// TestWaitsForCallsUnderway checks a call that may fit after running calls have ended. It must wait
// for them and is then made or refused. If its wait is interrupted, it must reserve nothing.
func TestWaitsForCallsUnderway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0)
		_, first := reserve(t, b, Call{In: 10, Out: 80})
		ctx, stop := context.WithCancel(t.Context())
		type outcome struct {
			settle func(models.Spent)
			err    error
		}
		start := func(ctx context.Context, c Call) chan outcome {
			done := make(chan outcome, 1)
			go func() {
				_, settle, err := b.Reserve(ctx, c)
				done <- outcome{settle, err}
			}()
			synctest.Wait()
			if len(done) > 0 {
				t.Fatal("Reserve did not wait for the running call")
			}
			return done
		}
		small := start(t.Context(), Call{In: 10, Out: 40})
		open := start(t.Context(), Call{In: 10})
		stopped := start(ctx, Call{In: 10, Out: 10})
		stop()
		if x := <-stopped; x.err != context.Canceled {
			t.Errorf("interrupted Reserve: error %v, want context.Canceled", x.err)
		}
		first(10, 10, true, false) // the remaining 80 tokens suffice for one of the waiting calls, or for both one after the other
		synctest.Wait()
		if len(small)+len(open) != 1 {
			t.Fatalf("%d calls were made, want 1", len(small)+len(open))
		}
		for _, done := range []chan outcome{small, open} {
			if len(done) == 1 {
				x := <-done
				x.settle(used(Call{}, 10, 10, true, false))
				synctest.Wait()
			}
		}
		for _, done := range []chan outcome{small, open} {
			select {
			case x := <-done:
				if x.err != nil {
					t.Error(x.err)
				} else {
					x.settle(used(Call{}, 10, 10, true, false))
				}
			default:
			}
		}
		if _, all := b.Usage(); all.Calls != 3 || all.Refused != 0 {
			t.Errorf("usage = %d calls and %d refused calls, want 3 and 0", all.Calls, all.Refused)
		}
	})
}

// TestManyCallsFit checks that concurrent calls are all made if they fit one after another.
func TestManyCallsFit(t *testing.T) {
	b := NewBudget(10_000, 0)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, settle, err := b.Reserve(t.Context(), Call{In: 10, Out: 2000})
			if err != nil {
				t.Error(err)
				return
			}
			settle(used(Call{}, 10, 30, true, false))
		})
	}
	wg.Wait()
	if _, all := b.Usage(); all.Calls != 100 || all.Refused != 0 {
		t.Errorf("usage = %d calls and %d refused calls, want 100 and 0", all.Calls, all.Refused)
	}
}

// TestOpenReplies checks that a reply without a limit is granted the rest of the budget, but at
// most OpenReply, so that other calls can run at the same time.
func TestOpenReplies(t *testing.T) {
	b := NewBudget(10_000, 0)
	for i, want := range []int64{8192, 10_000 - 8192 - 200} {
		granted, settle := reserve(t, b, Call{In: 100})
		if granted != want {
			t.Errorf("call %d: granted = %d, want %d", i, granted, want)
		}
		settle(100, granted, true, false)
	}
	if _, _, err := b.Reserve(t.Context(), Call{In: 100}); err == nil {
		t.Error("Reserve succeeded although the budget is used")
	}
	money := NewBudget(0, 0.01)
	if granted, _ := reserve(t, money, Call{In: 1000, Price: price(1, 10)}); granted != 900 {
		t.Error(granted)
	}
	if granted, _ := reserve(t, NewBudget(0, 1), Call{In: 5, Price: price(0, 0)}); granted != 0 {
		t.Errorf("granted for a free model = %d, want no limit", granted)
	}
}

func TestCostReserved(t *testing.T) {
	b := NewBudget(0, 1)
	c := Call{Connection: "main", Model: "gpt/4", In: 100_000, Out: 10_000, Price: price(2.5, 25)}
	_, first := reserve(t, b, c) // costs 0.25 + 0.25 dollars
	_, second := reserve(t, b, c)
	first(100_000, 10_000, true, false)
	_, _, err := b.Reserve(t.Context(), Call{In: 300_000, Out: 1, Price: price(2.5, 25)})
	if want := "it could go beyond the 1.00 dollars that [limits] max_cost_usd allows: the run has used 0.50, and this call may use 0.750025 "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	second(100_000, 10_000, true, false)
	if _, _, err := b.Reserve(t.Context(), Call{Price: price(1, 1)}); err == nil || !strings.Contains(err.Error(), "the run has used 1.00, and this call may use 0.00") {
		t.Error(err)
	}
	c.Price = nil
	_, _, err = b.Reserve(t.Context(), c)
	if want := `the price of model gpt/4 is unknown, but [limits] max_cost_usd requires it: add [connections.main.prices."gpt/4"] with input and output`; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestCountedMore lets a provider count more tokens than expected. The expectation for the next
// call of the model must rise, and an exceeded limit must be reported once.
func TestCountedMore(t *testing.T) {
	b := NewBudget(0, 0.01)
	var warnings []string
	b.Crossed = func(m string) { warnings = append(warnings, m) }
	c := Call{Connection: "main", Model: "big", In: 100, Out: 50, Price: price(10, 20)} // 0.002
	_, settle := reserve(t, b, c)
	settle(150, 75, true, false) // costs 0.003 dollars
	_, _, err := b.Reserve(t.Context(), Call{Connection: "main", Model: "big", In: 200, Out: 150, Price: price(10, 20)})
	if want := "the run has used 0.003, and this call may use 0.0075 ("; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want an expectation of 1.5 times the estimate", err)
	}
	if _, _, err := b.Reserve(t.Context(), Call{Connection: "main", Model: "other", In: 200, Out: 150, Price: price(10, 20)}); err != nil {
		t.Errorf("Reserve for another model: %v", err)
	}

	b = NewBudget(0, 0.01)
	b.Crossed = func(m string) { warnings = append(warnings, m) }
	for range 2 {
		_, settle := reserve(t, b, c)
		settle(100, 50, true, false)
	}
	granted, settle := reserve(t, b, Call{Connection: "main", Model: "big", In: 100, Price: price(10, 20)})
	if granted != 250 || len(warnings) != 0 {
		t.Errorf("granted = %d tokens with warnings %q, want 250 and none", granted, warnings)
	}
	settle(400, 500, true, false)
	if _, _, err := b.Reserve(t.Context(), c); err == nil {
		t.Error("Reserve succeeded although the limit was exceeded")
	}
	want := []string{"the run exceeded [limits] max_cost_usd: it has used 0.018 dollars, and 0.01 are allowed: " +
		"model big of connection 'main' counted 400 tokens in and 500 out, where 100 and 250 at most were expected; no further call is made"}
	if d := cmp.Diff(want, warnings); d != "" {
		t.Error(d)
	}

	warnings = nil
	tokens := NewBudget(100, 0)
	tokens.Crossed = func(m string) { warnings = append(warnings, m) }
	_, one := reserve(t, tokens, Call{Model: "m", In: 10, Out: 10})
	_, two := reserve(t, tokens, Call{Model: "m", In: 10, Out: 10})
	one(80, 30, true, false)
	two(10, 10, true, false)
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "the run exceeded [limits] max_tokens: it has used 110 tokens, and 100 are allowed: ") {
		t.Errorf("warnings = %q, want one about max_tokens", warnings)
	}
}

// TestOpenReplyCountedMore checks that a reply without a limit is granted fewer tokens if the
// provider is expected to count more.
func TestOpenReplyCountedMore(t *testing.T) {
	b := NewBudget(1000, 0)
	_, settle := reserve(t, b, Call{Model: "m", In: 50, Out: 50})
	settle(50, 100, true, false)
	if granted, _ := reserve(t, b, Call{Model: "m", In: 50}); granted != 400 {
		t.Errorf("granted = %d tokens, want 400, half of the remaining 800", granted)
	}
}

// TestConcurrentReservations checks that concurrent tasks never exceed the limit, and that the sums
// equal the reported numbers.
func TestConcurrentReservations(t *testing.T) {
	const bound = 50_000
	b := NewBudget(bound, 0)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var in, out, calls int64
	for seed := range uint64(16) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 200 {
				c := Call{In: r.Int64N(50), Out: r.Int64N(300)}
				granted, settle, err := b.Reserve(t.Context(), c)
				if err != nil {
					continue
				}
				x, y := c.In, r.Int64N(max(c.Out, granted)+1)
				settle(used(c, x, y, true, false))
				mu.Lock()
				in, out, calls = in+x, out+y, calls+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	_, all := b.Usage()
	if all.TokensIn != in || all.TokensOut != out || all.Calls != calls || in+out > bound || calls == 0 {
		t.Errorf("usage = %+v, want %d input tokens, %d output tokens and %d calls within the limit", all, in, out, calls)
	}
}

// TestCacheWriteFits checks that the limit on the cost holds even if the whole prompt is written to
// the provider's cache, whose price and whose bound on long prompts are higher.
func TestCacheWriteFits(t *testing.T) {
	p := &models.Price{Rates: models.Rates{Input: 4, Output: 20, CacheWrite: new(5.0)}, Above: &models.Above{Tokens: 2000, Rates: models.Rates{Input: 40, Output: 200}}}
	b := NewBudget(0, 0.01)
	c := Call{Connection: "main", Model: "m", In: 1800, Out: 50, Price: p}
	_, settle, err := b.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// The cost with a write is 0.009 + 0.001; a second call does not fit while this one runs.
	x := models.Spent{Usage: models.Usage{In: 1800, Out: 50, Parts: models.Parts{CacheWrite: 1800, Reasoning: 20}}, Answered: true}
	x.Cost, _ = models.Cost(x.Usage, p)
	if settle(x); x.Cost != 1e10 {
		t.Fatalf("the cost is %d", x.Cost)
	}
	if _, all := b.Usage(); all.Cost > int64(Dollars(0.01)) || all.Parts != x.Parts {
		t.Errorf("the run has used %s with %+v", Money(all.Cost), all.Parts)
	}
	for in, out := range map[int64]int64{1801: 50, 1800: 51, 2001: 0} {
		if _, _, err := NewBudget(0, 0.01).Reserve(t.Context(), Call{In: in, Out: max(out, 1), Price: p}); err == nil {
			t.Errorf("%d and %d tokens are not refused", in, out)
		}
	}
}

// TestHourReserved checks that a prompt that may be written to the cache for one hour is reserved
// at the price of that.
func TestHourReserved(t *testing.T) {
	p := &models.Price{Rates: models.Rates{Input: 4, Output: 20, CacheWrite: new(5.0), CacheWrite1h: new(8.0)}}
	for _, c := range []struct {
		limit      float64
		hour, fits bool
	}{{0.005, false, true}, {0.004999, false, false}, {0.005, true, false}, {0.007999, true, false}, {0.008, true, true}} {
		call := Call{Connection: "main", Model: "m", In: 1000, Out: 2, Price: p, Hour: c.hour}
		b := NewBudget(0, c.limit+0.00004)
		if _, _, err := b.Reserve(t.Context(), call); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
		lost := NewBudget(0, 0.02)
		lost.Lose(call)
		want := Dollars(0.00504)
		if c.hour {
			want = Dollars(0.00804)
		}
		if got := lost.known().Cost; got != want {
			t.Errorf("%+v: a lost call counts %s, want %s", c, got, want)
		}
	}
}

// TestUnpricedReply checks that a reply whose cost is unknown makes the sum unknown.
func TestUnpricedReply(t *testing.T) {
	b := NewBudget(0, 0)
	c := Call{Connection: "main", Model: "m", In: 5, Price: price(1, 1)}
	_, settle := reserve(t, b, c)
	settle(5, 5, true, false)
	_, end, err := b.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	end(models.Spent{Usage: models.Usage{In: 5, Out: 5, Tier: "priority"}, Cost: 10, Unpriced: true, Answered: true})
	if each, all := b.Usage(); each[0].Unpriced != 1 || all.Unpriced != 1 || all.Cost != 10*1_000_000+10 {
		t.Errorf("got %+v", all)
	}
}
