package host

import (
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// Limits on how soon a host is started again after failed starts.
const (
	firstBackoff   = 100 * time.Millisecond // delay after the first failure; each further failure doubles it
	maxBackoff     = 5 * time.Second
	crashLoopLimit = 5 // consecutive failures after which starts are refused
	crashPause     = 30 * time.Second
)

// startBackoff counts a host's consecutive failed starts and delays the next start.
type startBackoff struct {
	clock *clock.PausableClock
	mu    lock[backoffLock]
	// number of consecutive starts that failed, did not become ready, or ended before the first
	// terminal message
	failed  int
	next    time.Time
	lastErr *effect.Error // error of the last failed start
}

func (s *startBackoff) recordFailure(why *effect.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := min(firstBackoff<<min(s.failed, 10), maxBackoff)
	if s.failed++; s.failed >= crashLoopLimit {
		wait = crashPause
	}
	s.next, s.lastErr = s.clock.Now().Add(wait), why
}

// reset clears the count of failures.
func (s *startBackoff) reset() {
	s.mu.Lock()
	s.failed = 0
	s.mu.Unlock()
}

// nextDelay returns how long the next start must wait. After crashLoopLimit failures it returns an
// error with the code "crash_loop".
func (s *startBackoff) nextDelay(c *Config) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == 0 {
		return 0, nil
	}
	left := s.next.Sub(s.clock.Now())
	if left <= 0 || s.failed < crashLoopLimit {
		return left, nil
	}
	e := c.errorf("failed to start %d times in a row: %s", s.failed, s.lastErr.Message).With("code", "crash_loop")
	return 0, copyContext(e, s.lastErr)
}

// awaitStart waits until the backoff allows a start.
func (pl *pool) awaitStart(ctx context.Context) error {
	for {
		left, err := pl.backoff.nextDelay(pl.cfg)
		if err != nil || left <= 0 {
			return err
		}
		over := make(chan struct{})
		t := pl.backoff.clock.AfterFunc(left, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-pl.hosts.closing.Done():
			t.Stop()
			return ErrClosed
		}
	}
}

// countStartFailure counts a failed start that created no process.
func (pl *pool) countStartFailure(err error) {
	if e, ok := errors.AsType[*effect.Error](err); ok {
		pl.backoff.recordFailure(e)
	}
}

// countFailedStart counts the start of the process as failed, at most once. It ignores errors that
// the host did not cause, such as Close.
func (p *process) countFailedStart(err error) {
	e, ok := errors.AsType[*effect.Error](err)
	if ok && p.lifecycle.countFailure() {
		p.hosts.pools[p.cfg.Name].backoff.recordFailure(e)
	}
}
