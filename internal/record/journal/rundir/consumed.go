package rundir

import "sync"

// consumedAnswers are stored answers that the records of the run contain, in order. They are
// removed after the records are written.
type consumedAnswers struct {
	removing sync.Mutex // held while answers are removed
	mu       sync.Mutex
	all      []consumedAnswer
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
// them is stored, also if a concurrent call was about to remove them: a process that resumes from a
// snapshot, which is stored after a Flush, would not know that they were consumed.
func (c *consumedAnswers) removeUpTo(s uint64, remove func(id string) error) error {
	c.removing.Lock()
	defer c.removing.Unlock()
	for {
		first, found := c.first()
		if !found || first.s > s {
			return nil
		}
		if err := remove(first.id); err != nil {
			return err
		}
		c.mu.Lock()
		c.all = c.all[1:]
		c.mu.Unlock()
	}
}

// first returns the answer that must be removed next.
func (c *consumedAnswers) first() (x consumedAnswer, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		return x, false
	}
	return c.all[0], true
}
