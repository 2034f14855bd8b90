package durable

import (
	"encoding/json"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// clock makes time continuous across processes: between two processes it follows the wall clock,
// and it never goes back.
type clock struct {
	once   sync.Once
	ahead  int64        // of this process's clock, in ms
	last   effect.Time  // the last reading before this process; zero without one
	newest *effect.Time // the last reading; nil for none
}

// runTime converts a reading of this process's clock to the run's time.
func (c *clock) runTime(r *Run, now *effect.Time) *effect.Time {
	c.once.Do(func() {
		if r.c.History == nil {
			return
		}
		found := false
		if s := r.c.Restored; s != nil && s.Clock != nil {
			c.last, found = *s.Clock, true
		}
		for _, x := range r.c.History.Records {
			if x.K == journal.KDid && x.Q == string(effect.KindClock) && x.Err == nil {
				found = json.Unmarshal(x.V, &c.last) == nil
			}
		}
		if !found {
			return
		}
		c.ahead = c.last.Monotonic + max(now.Unix-c.last.Unix, 0) - now.Monotonic
	})
	return &effect.Time{Unix: max(now.Unix, c.last.Unix), Monotonic: max(now.Monotonic+c.ahead, c.last.Monotonic)}
}
