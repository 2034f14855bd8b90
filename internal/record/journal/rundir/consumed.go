package rundir

import (
	"sync"
	"sync/atomic"
)

// consumedAnswers are stored answers that the records of the run contain, in order. They are
// removed after the records are on the disk.
type consumedAnswers struct {
	mu  sync.Mutex // also held while answers are removed
	all []consumedAnswer
	// unsynced reports that the removal of an answer is not synced.
	unsynced atomic.Bool
}

// consumedAnswer is an answer that record s or an earlier one contains.
type consumedAnswer struct {
	id string
	s  uint64
}

// add adds an answer that record s or an earlier one contains. s must not decrease.
func (c *consumedAnswers) add(id string, s uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, consumedAnswer{id, s})
}

// removeUpTo removes the answers that the records up to s contain. When it returns nil, none of
// them is stored, also if a concurrent call has removed some of them.
func (c *consumedAnswers) removeUpTo(s uint64, remove func(id string) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.all) > 0 && c.all[0].s <= s {
		if err := remove(c.all[0].id); err != nil {
			return err
		}
		c.all = c.all[1:]
		c.unsynced.Store(true)
	}
	return nil
}

// any reports whether an answer is still stored.
func (c *consumedAnswers) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all) > 0
}
