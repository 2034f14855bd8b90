package budget

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestMoney(t *testing.T) {
	for want, m := range map[string]Money{
		"0.00": 0, "5.00": Dollars(5), "0.50": Dollars(0.5), "0.000001": Dollars(0.000001), "-0.25": Dollars(-0.25), "1234567.891": Dollars(1234567.891),
		"0.00000015": perToken(0.15), "0.000000075": perToken(0.075), "0.00000000001": perToken(0.00001),
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is %s, want %s", m, got, want)
		}
	}
}

// reserve reserves a call that must be allowed.
func reserve(t *testing.T, b *Budget, c Call) (granted int64, settle func(in, out int64, answered bool)) {
	t.Helper()
	granted, settle, err := b.Reserve(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return granted, settle
}

// Without limits the usage is only counted, exactly as reported.
func TestCounting(t *testing.T) {
	b := NewBudget(0, 0)
	a := Call{Connection: "main", Model: "big", In: 5, Priced: true, Input: 2.5, Output: 10}
	granted, settle := reserve(t, b, a)
	settle(1000, 200, true)
	_, failed := reserve(t, b, a)
	failed(0, 0, false)
	_, other := reserve(t, b, Call{Connection: "main", Model: "any"})
	other(7, 1, true)
	each, all := b.Usage()
	want := []Usage{
		{Connection: "main", Model: "any", Calls: 1, TokensIn: 7, TokensOut: 1},
		{Connection: "main", Model: "big", Calls: 2, Failed: 1, TokensIn: 1000, TokensOut: 200, Cost: Dollars(0.0045), Priced: true},
	}
	if d := cmp.Diff(want, each); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Usage{Calls: 3, Failed: 1, TokensIn: 1007, TokensOut: 201, Cost: Dollars(0.0045)}, all); d != "" || granted != 0 {
		t.Error(d, granted)
	}
}

// TestTokensReserved checks that a call is refused before it is made if it could exceed the limit.
func TestTokensReserved(t *testing.T) {
	b := NewBudget(100, 0)
	_, first := reserve(t, b, Call{In: 10, Out: 40})
	_, _, err := b.Reserve(t.Context(), Call{In: 60, Out: 41})
	if want := "it could go beyond the 100 tokens that [limits] max_tokens allows: the run has used 0, and this call may use 101 " +
		"(raise the limit, or give the agent a smaller max_tokens)"; err == nil || err.Error() != want {
		t.Error(err)
	}
	first(10, 10, true)
	if _, settle := reserve(t, b, Call{In: 40, Out: 40}); settle != nil {
		settle(40, 40, true)
	}
	_, _, err = b.Reserve(t.Context(), Call{In: 1})
	if want := "the run has used 100, and this call may use 2 ("; err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if _, all := b.Usage(); all.Refused != 2 || all.Calls != 2 {
		t.Errorf("%d calls, %d refused, want 2 and 2", all.Calls, all.Refused)
	}
}

// TestWaitsForCallsUnderway checks that a call that may fit after others have ended waits for them,
// and is then made or refused, and that an interrupted wait reserves nothing.
func TestWaitsForCallsUnderway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, 0)
		_, first := reserve(t, b, Call{In: 10, Out: 80})
		ctx, stop := context.WithCancel(t.Context())
		type outcome struct {
			settle func(in, out int64, answered bool)
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
				t.Fatal("the call does not wait")
			}
			return done
		}
		small := start(t.Context(), Call{In: 10, Out: 40})
		open := start(t.Context(), Call{In: 10})
		stopped := start(ctx, Call{In: 10, Out: 10})
		stop()
		if x := <-stopped; x.err != context.Canceled {
			t.Errorf("interrupted: %v", x.err)
		}
		first(10, 10, true) // 80 are left: enough for one of them, or for both in sequence
		synctest.Wait()
		if len(small)+len(open) != 1 {
			t.Fatalf("%d calls were made, want 1", len(small)+len(open))
		}
		for _, done := range []chan outcome{small, open} {
			if len(done) == 1 {
				x := <-done
				x.settle(10, 10, true)
				synctest.Wait()
			}
		}
		for _, done := range []chan outcome{small, open} {
			select {
			case x := <-done:
				if x.err != nil {
					t.Error(x.err)
				} else {
					x.settle(10, 10, true)
				}
			default:
			}
		}
		if _, all := b.Usage(); all.Calls != 3 || all.Refused != 0 {
			t.Errorf("%d calls, %d refused, want 3 and 0", all.Calls, all.Refused)
		}
	})
}

// TestManyCallsFit checks that concurrent calls are all made if they fit one after the other.
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
			settle(10, 30, true)
		})
	}
	wg.Wait()
	if _, all := b.Usage(); all.Calls != 100 || all.Refused != 0 {
		t.Errorf("%d calls, %d refused", all.Calls, all.Refused)
	}
}

// TestOpenReplies checks that an unlimited reply is granted the rest of the budget up to OpenReply,
// so that other calls can run at the same time.
func TestOpenReplies(t *testing.T) {
	b := NewBudget(10_000, 0)
	for i, want := range []int64{8192, 10_000 - 8192 - 200} {
		granted, settle := reserve(t, b, Call{In: 100})
		if granted != want {
			t.Errorf("call %d: %d", i, granted)
		}
		settle(100, granted, true)
	}
	if _, _, err := b.Reserve(t.Context(), Call{In: 100}); err == nil {
		t.Error("nothing was left")
	}
	money := NewBudget(0, 0.01)
	if granted, _ := reserve(t, money, Call{In: 1000, Priced: true, Input: 1, Output: 10}); granted != 900 {
		t.Error(granted)
	}
	if granted, _ := reserve(t, NewBudget(0, 1), Call{In: 5, Priced: true}); granted != 0 {
		t.Errorf("what is free needs no bound: %d", granted)
	}
}

func TestCostReserved(t *testing.T) {
	b := NewBudget(0, 1)
	c := Call{Connection: "main", Model: "gpt/4", In: 100_000, Out: 10_000, Priced: true, Input: 2.5, Output: 25}
	_, first := reserve(t, b, c) // 0.25 + 0.25
	_, second := reserve(t, b, c)
	first(100_000, 10_000, true)
	_, _, err := b.Reserve(t.Context(), Call{In: 300_000, Out: 1, Priced: true, Input: 2.5, Output: 25})
	if want := "it could go beyond the 1.00 dollars that [limits] max_cost_usd allows: the run has used 0.50, and this call may use 0.750025 "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	second(100_000, 10_000, true)
	if _, _, err := b.Reserve(t.Context(), Call{Priced: true}); err == nil || !strings.Contains(err.Error(), "the run has used 1.00, and this call may use 0.00") {
		t.Error(err)
	}
	c.Priced = false
	_, _, err = b.Reserve(t.Context(), c)
	if want := `the price of model gpt/4 is unknown, but [limits] max_cost_usd requires it: add [connections.main.prices."gpt/4"] with input and output`; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// TestCountedMore checks that a provider's higher count raises the expectation for the model's next
// call, and that an exceeded limit is reported once.
func TestCountedMore(t *testing.T) {
	b := NewBudget(0, 0.01)
	var warnings []string
	b.Crossed = func(m string) { warnings = append(warnings, m) }
	c := Call{Connection: "main", Model: "big", In: 100, Out: 50, Priced: true, Input: 10, Output: 20} // 0.002
	_, settle := reserve(t, b, c)
	settle(150, 75, true) // 0.003
	_, _, err := b.Reserve(t.Context(), Call{Connection: "main", Model: "big", In: 200, Out: 150, Priced: true, Input: 10, Output: 20})
	if want := "the run has used 0.003, and this call may use 0.0075 ("; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("half as much again was not expected: %v", err)
	}
	if _, _, err := b.Reserve(t.Context(), Call{Connection: "main", Model: "other", In: 200, Out: 150, Priced: true, Input: 10, Output: 20}); err != nil {
		t.Errorf("another model counts as estimated: %v", err)
	}

	b = NewBudget(0, 0.01)
	b.Crossed = func(m string) { warnings = append(warnings, m) }
	for range 2 {
		_, settle := reserve(t, b, c)
		settle(100, 50, true)
	}
	granted, settle := reserve(t, b, Call{Connection: "main", Model: "big", In: 100, Priced: true, Input: 10, Output: 20})
	if granted != 250 || len(warnings) != 0 {
		t.Errorf("granted %d tokens, warnings %q", granted, warnings)
	}
	settle(400, 500, true)
	if _, _, err := b.Reserve(t.Context(), c); err == nil {
		t.Error("a call is made beyond the bound")
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
	one(80, 30, true)
	two(10, 10, true)
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "the run exceeded [limits] max_tokens: it has used 110 tokens, and 100 are allowed: ") {
		t.Errorf("%q", warnings)
	}
}

// An unlimited reply leaves room for what the provider counts beyond it.
func TestOpenReplyCountedMore(t *testing.T) {
	b := NewBudget(1000, 0)
	_, settle := reserve(t, b, Call{Model: "m", In: 50, Out: 50})
	settle(50, 100, true)
	if granted, _ := reserve(t, b, Call{Model: "m", In: 50}); granted != 400 {
		t.Errorf("%d tokens for the reply, want half of the 800 that are left", granted)
	}
}

// TestConcurrentReservations checks that concurrent tasks never exceed the limit, and that the sums
// match the reports.
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
				settle(x, y, true)
				mu.Lock()
				in, out, calls = in+x, out+y, calls+1
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	_, all := b.Usage()
	if all.TokensIn != in || all.TokensOut != out || all.Calls != calls || in+out > bound || calls == 0 {
		t.Errorf("%+v, want %d %d %d", all, in, out, calls)
	}
}
