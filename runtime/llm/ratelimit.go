package llm

import (
	"context"
	"sync"
	"time"
)

// RateLimit bounds what a connection does; 0 means no such bound. Requests
// beyond a bound wait.
type RateLimit struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int64 `json:"tokens_per_minute,omitempty"`
	MaxConcurrent     int64 `json:"max_concurrent,omitempty"`
}

// window is the time over which requests and tokens are counted.
const window = time.Minute

// limiter holds a connection to its RateLimit.
type limiter struct {
	limit RateLimit
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	slots chan struct{} // one element for each request in flight; nil: no bound

	mu     sync.Mutex
	starts []time.Time // requests of the last window
	spent  []spending  // tokens of the last window
}

type spending struct {
	at     time.Time
	tokens int64
}

func newLimiter(limit RateLimit, now func() time.Time, sleep func(context.Context, time.Duration) error) *limiter {
	l := &limiter{limit: limit, now: now, sleep: sleep}
	if limit.MaxConcurrent > 0 {
		l.slots = make(chan struct{}, limit.MaxConcurrent)
	}
	return l
}

// enter waits until a request may start. done must be called when it has
// ended, with the tokens that it used.
func (l *limiter) enter(ctx context.Context) (done func(tokens int64), err error) {
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	leave := func() {
		if l.slots != nil {
			<-l.slots
		}
	}
	for {
		wait := l.take()
		if wait <= 0 {
			break
		}
		if err := l.sleep(ctx, wait); err != nil {
			leave()
			return nil, err
		}
	}
	return func(tokens int64) {
		l.mu.Lock()
		if l.limit.TokensPerMinute > 0 && tokens > 0 {
			l.spent = append(l.spent, spending{l.now(), tokens})
		}
		l.mu.Unlock()
		leave()
	}, nil
}

// take starts a request, or says how long to wait before asking again.
func (l *limiter) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	old := now.Add(-window)
	for len(l.starts) > 0 && !l.starts[0].After(old) {
		l.starts = l.starts[1:]
	}
	var tokens int64
	for len(l.spent) > 0 && !l.spent[0].at.After(old) {
		l.spent = l.spent[1:]
	}
	for _, s := range l.spent {
		tokens += s.tokens
	}
	if n := l.limit.RequestsPerMinute; n > 0 && int64(len(l.starts)) >= n {
		return l.starts[0].Sub(old)
	}
	if n := l.limit.TokensPerMinute; n > 0 && tokens >= n {
		return l.spent[0].at.Sub(old)
	}
	if l.limit.RequestsPerMinute > 0 {
		l.starts = append(l.starts, now)
	}
	return 0
}
