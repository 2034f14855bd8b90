package times

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// cronField is a field of a cron expression. names contains the names of the field's values,
// beginning with the value least.
type cronField struct {
	name        string
	least, most int
	names       string
}

var cronFields = [...]cronField{
	{name: "minute", most: 59},
	{name: "hour", most: 23},
	{name: "day of the month", least: 1, most: 31},
	{name: "month", least: 1, most: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec"},
	{name: "day of the week", most: 7, names: "sun mon tue wed thu fri sat"},
}

var cronMacros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// cron is a parsed expression. Each field is a set of values, with one bit for each value.
type cron struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday are set if the field begins with `*`. If neither is set, a day matches
	// if it is in one of the two sets.
	anyDay, anyWeekday bool
}

// parseCron parses an expression. wrong describes the error, or is "".
func parseCron(s string) (c cron, wrong string) {
	if whole, ok := cronMacros[s]; ok {
		s = whole
	}
	fields := strings.Fields(s)
	if len(fields) != len(cronFields) {
		return c, fmt.Sprintf("it has %s, but needs five: minute, hour, day of the month, month, day of the week", native.Count(len(fields), "field"))
	}
	var sets [len(cronFields)]uint64
	for i := range cronFields {
		for item := range strings.SplitSeq(fields[i], ",") {
			set, wrong := cronFields[i].item(item)
			if wrong != "" {
				return c, fmt.Sprintf("the %s %s: %s", cronFields[i].name, value.AppendString(nil, fields[i]), wrong)
			}
			sets[i] |= set
		}
	}
	sets[4] |= sets[4] >> 7 // 7 means Sunday, like 0
	return cron{sets[0], sets[1], sets[2], sets[3], sets[4] & 0x7f, fields[2][0] == '*', fields[4][0] == '*'}, ""
}

// item parses `*`, `5`, `1-5`, `*/10` or `1-5/2` to a set of values. wrong describes the error, or
// is "".
func (f *cronField) item(s string) (set uint64, wrong string) {
	span, step, stepped := strings.Cut(s, "/")
	every := 1
	if stepped {
		n, err := strconv.Atoi(step)
		if err != nil || n < 1 {
			return 0, fmt.Sprintf("%q is not a step, which is a number of 1 or more", step)
		}
		every = n
	}
	from, to := f.least, f.most
	if span != "*" {
		low, high, isRange := strings.Cut(span, "-")
		if from, wrong = f.value(low); wrong != "" {
			return 0, wrong
		}
		switch {
		case isRange:
			if to, wrong = f.value(high); wrong != "" {
				return 0, wrong
			}
		case !stepped:
			to = from
		}
		if to < from {
			return 0, fmt.Sprintf("%q ends before it starts", span)
		}
	}
	for v := from; v <= to; v += every {
		set |= 1 << v
	}
	return set, ""
}

func (f *cronField) value(s string) (n int, wrong string) {
	for i, name := range strings.Fields(f.names) {
		if strings.EqualFold(s, name) {
			return f.least + i, ""
		}
	}
	n, err := strconv.Atoi(s)
	if err != nil || s[0] == '+' || s[0] == '-' {
		return 0, fmt.Sprintf("%q is not a number", s)
	}
	if n < f.least || n > f.most {
		return 0, fmt.Sprintf("%d is not between %d and %d", n, f.least, f.most)
	}
	return n, ""
}

func (c *cron) day(month, day, weekday int64) bool {
	in := c.days>>day&1 == 1
	also := c.weekdays>>weekday&1 == 1
	if !c.anyDay && !c.anyWeekday {
		return c.months>>month&1 == 1 && (in || also)
	}
	return c.months>>month&1 == 1 && in && also
}

// cronDays is the number of days in which next searches for a match. Within eight years there is
// always a 29 February.
const cronDays = 8*366 + 1

// next returns the first matching minute after local. Both are in milliseconds of the zone's local
// time. ok is false if no minute matches.
func (c *cron) next(local int64) (at int64, ok bool) {
	const msPerMinute = 60_000
	from := (floorDiv(local, msPerMinute) + 1) * msPerMinute
	first := floorDiv(from, msPerDay)
	for d := first; d < first+cronDays; d++ {
		_, month, day := civil(d)
		if !c.day(month, day, (d%7+11)%7) {
			continue
		}
		minute := int64(0)
		if d == first {
			minute = (from - d*msPerDay) / msPerMinute
		}
		for ; minute < 24*60; minute++ {
			if c.hours>>(minute/60)&1 == 1 && c.minutes>>(minute%60)&1 == 1 {
				return d*msPerDay + minute*msPerMinute, true
			}
		}
	}
	return 0, false
}

// timeCron returns the next local time that matches. The arguments are (expression, local).
func timeCron(a *vm.Args) (value.Slot, error) {
	s, local := a.String(0), a.Int(1)
	a.Pace().Bytes(len(s))
	c, wrong := parseCron(strings.TrimSpace(s))
	if wrong != "" {
		return value.Nil, native.ParseError(s, "is not a cron expression: "+wrong)
	}
	if local < -1<<52 || local > 1<<52 {
		return value.Nil, value.Faultf("next: the instant %d is not in the years 0 to 9999", local)
	}
	a.Step(cronDays)
	at, ok := c.next(local)
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
