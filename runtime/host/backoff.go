package host

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// How starts that fail one after the other are slowed down.
const (
	firstBackoff = 100 * time.Millisecond // after the first; it doubles
	mostBackoff  = 5 * time.Second
	crashLoop    = 5 // in a row are refused from then on
	crashPause   = 30 * time.Second
)

// starts remembers how the starts of a host went.
type starts struct {
	hand   *clock.Hand
	mu     sync.Mutex
	failed int // in a row: not started, not ready, or dead before the first terminal message
	next   time.Time
	last   *effect.Error // of the last one
}

// fail counts a start that failed.
func (s *starts) fail(why *effect.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := min(firstBackoff<<min(s.failed, 10), mostBackoff)
	if s.failed++; s.failed >= crashLoop {
		wait = crashPause
	}
	s.next, s.last = s.hand.Now().Add(wait), why
}

// succeed forgets what failed.
func (s *starts) succeed() {
	s.mu.Lock()
	s.failed = 0
	s.mu.Unlock()
}

// wait is how long the next start has to wait; in a crash loop it is refused.
func (s *starts) wait(c *Config) (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == 0 {
		return 0, nil
	}
	left := s.next.Sub(s.hand.Now())
	if left <= 0 || s.failed < crashLoop {
		return left, nil
	}
	e := c.failure("failed to start %d times in a row: %s", s.failed, s.last.Message).With("code", "crash_loop")
	return 0, alike(e, s.last)
}

// turn waits until a process may be started.
func (pl *pool) turn(ctx context.Context) error {
	for {
		left, err := pl.starts.wait(pl.cfg)
		if err != nil || left <= 0 {
			return err
		}
		over := make(chan struct{})
		t := pl.starts.hand.AfterFunc(left, func() { close(over) })
		select {
		case <-over:
		case <-ctx.Done():
			t.Stop()
			return context.Cause(ctx)
		case <-pl.hosts.closing:
			t.Stop()
			return ErrClosed
		}
	}
}

// failed counts a start that gave no process.
func (pl *pool) failed(err error) {
	if e, ok := errors.AsType[*effect.Error](err); ok {
		pl.starts.fail(e)
	}
}

// aborted counts that the start of the process failed, once. An error that is not the
// host's, such as the end of the run, is none.
func (p *process) aborted(err error) {
	e, ok := errors.AsType[*effect.Error](err)
	if ok && p.life.countFailure() {
		p.hosts.pools[p.cfg.Name].starts.fail(e)
	}
}
