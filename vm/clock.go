package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

func init() {
	performs["sleep"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.Sleep{Milliseconds: max(a.Int(0), 0)}, nil
		},
		value: nothing,
	}
	performs["clock"] = &performing{
		request: func(*task, *Args) (effect.Request, error) { return &effect.Clock{}, nil },
		value: func(r effect.Result) (value.Slot, error) {
			now := r.(*effect.Time)
			return value.Tuple(value.Int(now.Unix), value.Int(now.Monotonic)), nil
		},
	}
	// clock.zone(name, unix_ms) gives (seconds east of UTC, abbreviation).
	performs["clock.zone"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			return &effect.Zone{Name: a.String(0), Unix: a.Int(1)}, nil
		},
		value: func(r effect.Result) (value.Slot, error) {
			o := r.(*effect.Offset)
			return value.Tuple(value.Int(o.Seconds), value.String(o.Abbreviation)), nil
		},
	}
}

// now reads the monotonic clock, in milliseconds, for durations in events.
func (t *task) now() (ms int64, err error) {
	t.m.stats.Requests++
	r, err := t.perform(t.m.ctx, &effect.Clock{})
	if err != nil {
		return 0, err
	}
	return r.(*effect.Time).Monotonic, nil
}
