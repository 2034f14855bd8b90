package times

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/cron"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// cronCost is the cost of computing a time in steps: about the number of days in eight years, in
// which most expressions match.
const cronCost = 8*366 + 1

// timeCron returns the next local time that matches. The arguments are (expression, local).
func timeCron(a *vm.Args) (value.Slot, error) {
	s, local := a.String(0), a.Int(1)
	a.Pace().Bytes(len(s))
	c, wrong := cron.Parse(strings.TrimSpace(s))
	if wrong != "" {
		return value.Nil, native.ParseError(s, "is not a cron expression: "+wrong)
	}
	if local < -1<<52 || local > 1<<52 {
		return value.Nil, value.Faultf("next: the instant %d is not in the years 0 to 9999", local)
	}
	a.Step(cronCost)
	at, ok := c.NextLocal(local)
	if !ok {
		return value.Nil, native.ParseError(s, "never matches a date")
	}
	return value.Int(at), nil
}

// timeInstant converts an Int or a String to an instant.
func timeInstant(a *vm.Args) (value.Slot, error) {
	v := value.Flatten(a.Slot(0))
	if v.Kind() != value.KindString {
		return v, nil
	}
	ms, reason := (&timeReader{s: v.AsString()}).moment(rfc3339)
	if reason != "" {
		return value.Nil, value.Faultf("format: %s is not a time with the layout \"rfc3339\": %s", value.AppendString(nil, v.AsString()), reason)
	}
	return value.Int(ms), nil
}
