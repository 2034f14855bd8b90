package vm

import "github.com/concerto-lang/concerto/internal/data/effect"

// now reads the monotonic clock, in milliseconds, for durations in events.
func (t *task) now() (ms int64, err error) {
	t.m.stats.Requests++
	r, err := t.perform(t.m.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Monotonic, nil
}
