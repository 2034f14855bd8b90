package llm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{RequestsPerMinute: 2}, time.Now, asleep)
		start := time.Now()
		for i, want := range []time.Duration{0, 0, time.Minute, time.Minute, 2 * time.Minute} {
			done, err := l.awaitTurn(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("request %d started after %s, want %s", i, got, want)
			}
			done(0)
		}
	})
}

func TestTokensPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{TokensPerMinute: 100}, time.Now, asleep)
		start := time.Now()
		for i, want := range []time.Duration{0, 0, time.Minute} {
			done, err := l.awaitTurn(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("request %d started after %s, want %s", i, got, want)
			}
			done(60)
		}
	})
}

func TestMaxConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{MaxConcurrent: 1}, time.Now, asleep)
		done, err := l.awaitTurn(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.awaitTurn(ctx, 0); err != context.DeadlineExceeded {
			t.Errorf("second request: error %v, want DeadlineExceeded", err)
		}
		done(0)
		if done, err = l.awaitTurn(t.Context(), 0); err != nil {
			t.Error(err)
		}
		done(0)
	})
}

// TestCancelledWaitLeaves checks that a cancelled wait releases its slot.
func TestCancelledWaitLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{MaxConcurrent: 1, RequestsPerMinute: 1}, time.Now, asleep)
		done, _ := l.awaitTurn(t.Context(), 0)
		done(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.awaitTurn(ctx, 0); err != context.DeadlineExceeded {
			t.Error(err)
		}
		if n := len(l.slots); n != 0 {
			t.Errorf("%d slots are in use, want none", n)
		}
	})
}

// TestRunningTokensCount checks that the estimate of a running request counts towards the limit. If
// the request uses fewer tokens, waiting requests must start immediately.
func TestRunningTokensCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{TokensPerMinute: 100}, time.Now, asleep)
		start := time.Now()
		first, err := l.awaitTurn(t.Context(), 70)
		if err != nil {
			t.Fatal(err)
		}
		entered := make(chan time.Duration)
		go func() {
			done, err := l.awaitTurn(t.Context(), 60)
			if err != nil {
				t.Error(err)
			}
			entered <- time.Since(start)
			done(60)
		}()
		time.Sleep(10 * time.Second)
		first(20)
		if got := <-entered; got != 10*time.Second {
			t.Errorf("second request started after %s, want 10s", got)
		}
		synctest.Wait()
		done, err := l.awaitTurn(t.Context(), 90) // 80 tokens are used already
		if got := time.Since(start); err != nil || got != 70*time.Second {
			t.Errorf("third request started after %s (error %v), want 70s", got, err)
		}
		done(0)
	})
}

// TestTokensBeyondTheBound checks that a request that expects more tokens than the limit runs
// alone.
func TestTokensBeyondTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(RateLimit{TokensPerMinute: 100}, time.Now, asleep)
		done, err := l.awaitTurn(t.Context(), 500)
		if err != nil {
			t.Fatal(err)
		}
		done(300)
		start := time.Now()
		if done, err = l.awaitTurn(t.Context(), 1); err != nil || time.Since(start) != time.Minute {
			t.Error(err, time.Since(start))
		}
		done(0)
	})
}

// asleep waits until d has passed or ctx ends.
func asleep(ctx context.Context, d time.Duration) error {
	return (*clock.PausableClock)(nil).Sleep(ctx, d)
}
