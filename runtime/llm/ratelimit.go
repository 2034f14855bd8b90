package llm

import (
	"context"
	"sync"
	"time"
)

// RateLimit limits the requests of a connection; 0 means no limit. A request beyond a limit waits.
// All tasks of a run share the limits.
type RateLimit struct {
	RequestsPerMinute int64 `json:"requests_per_minute,omitempty"`
	TokensPerMinute   int64 `json:"tokens_per_minute,omitempty"`
	MaxConcurrent     int64 `json:"max_concurrent,omitempty"`
}

// window is the period over which requests and tokens are counted.
const window = time.Minute

// limiter enforces a connection's RateLimit.
type limiter struct {
	limit RateLimit
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	slots chan struct{} // semaphore that contains one element for each running request; nil without a limit

	mu      sync.Mutex
	starts  []time.Time // start times of the requests in the last window
	spent   []*spending // tokens used in the last window, in the order of their requests
	waiting []func()    // functions to call when tokens may have become available
}

// spending is the number of tokens of one request. While the request is running (open), it is an
// estimate; afterwards it is the actual number.
type spending struct {
	at     time.Time
	tokens int64
	open   bool
}

func newLimiter(limit RateLimit, now func() time.Time, sleep func(context.Context, time.Duration) error) *limiter {
	l := &limiter{limit: limit, now: now, sleep: sleep}
	if limit.MaxConcurrent > 0 {
		l.slots = make(chan struct{}, limit.MaxConcurrent)
	}
	return l
}

// awaitTurn waits until a request may start. expected is the estimated number of tokens. The caller
// must call done with the number of tokens used when the request has ended.
func (l *limiter) awaitTurn(ctx context.Context, expected int64) (done func(tokens int64), err error) {
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
		woken, wake := context.WithCancel(ctx)
		s, wait := l.tryStart(expected, wake)
		if s == nil {
			err = l.sleep(woken, wait)
		}
		wake()
		switch {
		case s != nil:
			return func(tokens int64) {
				l.recordUsage(s, tokens)
				leave()
			}, nil
		case err != nil && ctx.Err() != nil:
			leave()
			return nil, ctx.Err()
		}
	}
}

// recordUsage records the tokens that a request has used, and wakes the waiting requests.
func (l *limiter) recordUsage(s *spending, tokens int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.at, s.tokens, s.open = l.now(), tokens, false
	for _, wake := range l.waiting {
		wake()
	}
	l.waiting = nil
}

// tryStart starts a request if the limits allow it now. Otherwise s is nil, and wait is the time
// until the next try. wake is called earlier if a request ends.
func (l *limiter) tryStart(expected int64, wake func()) (s *spending, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		if s == nil && l.limit.TokensPerMinute > 0 {
			l.waiting = append(l.waiting, wake)
		}
	}()
	now := l.now()
	old := now.Add(-window)
	for len(l.starts) > 0 && !l.starts[0].After(old) {
		l.starts = l.starts[1:]
	}
	if n := l.limit.RequestsPerMinute; n > 0 && int64(len(l.starts)) >= n {
		return nil, l.starts[0].Sub(old)
	}
	if wait := l.tokenWait(expected, now, old); wait > 0 {
		return nil, wait
	}
	if l.limit.RequestsPerMinute > 0 {
		l.starts = append(l.starts, now)
	}
	s = &spending{at: now, tokens: expected, open: true}
	if l.limit.TokensPerMinute > 0 {
		l.spent = append(l.spent, s)
	}
	return s, 0
}

// tokenWait returns how long a request must wait for its tokens. A request that expects more than
// the whole limit may start when no other tokens are counted.
func (l *limiter) tokenWait(expected int64, now, old time.Time) (wait time.Duration) {
	if l.limit.TokensPerMinute <= 0 {
		return 0
	}
	var sum int64
	var first time.Time // time of the oldest tokens that leave the window
	recent := l.spent[:0]
	for _, s := range l.spent {
		if !s.open && !s.at.After(old) {
			continue
		}
		recent = append(recent, s)
		sum += s.tokens
		if !s.open && s.tokens > 0 && (first.IsZero() || s.at.Before(first)) {
			first = s.at
		}
	}
	clear(l.spent[len(recent):])
	l.spent = recent
	if sum == 0 || sum < l.limit.TokensPerMinute && sum+min(expected, l.limit.TokensPerMinute) <= l.limit.TokensPerMinute {
		return 0
	}
	if first.IsZero() {
		return window // other requests are running, and recordUsage will wake the waiting ones
	}
	return first.Sub(old)
}
