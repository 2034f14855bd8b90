package durable

import (
	"encoding/json"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// clock makes the run's time continuous across its processes. Between two processes, the run's time
// follows the system clock, but it never decreases.
type clock struct {
	once  sync.Once
	ahead int64       // difference between the run's monotonic time and this process's, in milliseconds
	last  effect.Time // last reading of an earlier process; zero if there was none
}

// runTime converts a reading of this process's clocks to the run's time.
func (c *clock) runTime(r *Run, now *effect.Time) *effect.Time {
	c.once.Do(func() {
		if r.c.History == nil {
			return
		}
		found := false
		for _, x := range r.c.History.Records {
			if x.RecordKind == journal.KDid && x.Kind == string(effect.KindClock) && x.Err == nil {
				found = json.Unmarshal(x.Result, &c.last) == nil
			}
		}
		if !found {
			return
		}
		c.ahead = c.last.Monotonic + max(now.Unix-c.last.Unix, 0) - now.Monotonic
	})
	return &effect.Time{Unix: max(now.Unix, c.last.Unix), Monotonic: max(now.Monotonic+c.ahead, c.last.Monotonic)}
}
