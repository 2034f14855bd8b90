package times

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var Clock = native.Table{
	{"sleep", func(a *vm.Args) (value.Slot, error) {
		return a.Ask(&effect.Sleep{Milliseconds: max(a.Int(0), 0)}, vm.Nothing)
	}},
	{"clock", func(a *vm.Args) (value.Slot, error) { return a.Ask(&effect.Clock{}, clockTimes) }},
	{"clock.zone", func(a *vm.Args) (value.Slot, error) { // (name, unix_ms)
		return a.Ask(&effect.Zone{Name: a.String(0), Unix: a.Int(1)}, zoneOffset)
	}},
}

func clockTimes(r effect.Result) (value.Slot, error) {
	now := r.(*effect.Time)
	return value.Tuple(value.Int(now.Unix), value.Int(now.Monotonic)), nil
}

// zoneOffset converts the offset of a time zone to (seconds east of UTC, abbreviation).
func zoneOffset(r effect.Result) (value.Slot, error) {
	o := r.(*effect.Offset)
	return value.Tuple(value.Int(o.Seconds), value.String(o.Abbreviation)), nil
}
