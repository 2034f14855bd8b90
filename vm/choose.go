package vm

import (
	"context"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// waiting is a request that is to be performed when Config.Choose says so.
type waiting struct {
	seq     int
	ctx     context.Context
	request effect.Request
}

// performChosen performs the next one of the requests that wait.
func (m *VM) performChosen() completion {
	i := m.choose()
	w := m.waiting[i]
	m.waiting = append(m.waiting[:i], m.waiting[i+1:]...)
	result, err := m.config.Performer.Perform(w.ctx, w.request)
	return completion{seq: w.seq, result: result, err: err}
}

func (m *VM) choose() int {
	requests := make([]effect.Request, len(m.waiting))
	for i, w := range m.waiting {
		if w.ctx.Err() != nil {
			return i
		}
		requests[i] = w.request
	}
	return m.config.Choose(requests)
}
