// Package cron parses cron expressions of five fields, and computes the times that they describe.
package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones, for machines and containers without them
)

// Schedule is a cron expression. Each set has a bit for each value that matches.
type Schedule struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday mean that the field begins with `*`. If both fields are restricted, a
	// day matches if one of them does.
	anyDay, anyWeekday bool
}

// field describes a field of an expression.
type field struct {
	name     string
	min, max int
	names    []string // names of the values from min on; nil if there are none
}

var fields = [...]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}, // 7 is Sunday, too
}

// FieldError means that a field of an expression is invalid.
type FieldError struct {
	Field string // its name, such as "minute"
	Value string
	Want  string // the valid values
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("invalid %s %q: write %s", e.Field, e.Value, e.Want)
}

// Parse parses an expression: minute, hour, day of month, month and day of week. Each field is `*`
// or a list of values and ranges, with an optional step. The error is a *FieldError, or means that
// the number of fields is wrong.
func Parse(text string) (*Schedule, error) {
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return nil, fmt.Errorf("%q has %d fields, not 5: minute, hour, day of month, month and day of week", text, len(parts))
	}
	var sets [len(fields)]uint64
	for i, f := range fields {
		for _, item := range strings.Split(parts[i], ",") {
			set, ok := f.parse(strings.ToLower(item))
			if !ok {
				return nil, &FieldError{f.name, parts[i], f.want()}
			}
			sets[i] |= set
		}
	}
	sets[4] |= sets[4] >> 7 & 1
	return &Schedule{sets[0], sets[1], sets[2], sets[3], sets[4], strings.HasPrefix(parts[2], "*"), strings.HasPrefix(parts[4], "*")}, nil
}

func (f *field) want() string {
	text := fmt.Sprintf("%d to %d", f.min, f.max)
	if f.names != nil {
		text += ", or " + f.names[0] + " to " + f.names[len(f.names)-1]
	}
	return text + ", as in 1,10-20/5 or */2"
}

// parse returns the values that an item of a field matches.
func (f *field) parse(item string) (set uint64, ok bool) {
	item, every, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		var err error
		if step, err = strconv.Atoi(every); err != nil || step < 1 || step > f.max {
			return 0, false
		}
	}
	first, last := f.min, f.max
	if item != "*" {
		from, to, isRange := strings.Cut(item, "-")
		if first, ok = f.value(from); !ok {
			return 0, false
		}
		last = first
		switch {
		case isRange:
			if last, ok = f.value(to); !ok || last < first {
				return 0, false
			}
		case stepped:
			last = f.max
		}
	}
	for v := first; v <= last; v += step {
		set |= 1 << v
	}
	return set, true
}

// value returns the value of a number or a name.
func (f *field) value(text string) (int, bool) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int(n), err == nil && int(n) >= f.min && int(n) <= f.max
}

// horizon is the number of years in which Next searches. The dates repeat after 28 years, except
// around the years 1900 and 2100.
const horizon = 40

// Next returns the first scheduled time after another time, in a time zone. A local
// time that does not exist becomes the next one that does, and of a local time that occurs twice
// only the first occurrence counts. ok is false if there is no such time, as for February 30.
func (s *Schedule) Next(after time.Time, zone *time.Location) (next time.Time, ok bool) {
	local := after.In(zone)
	// The search uses the clock on the wall, as if it were UTC. It begins an hour earlier, for
	// times that occur twice or do not exist.
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC).Add(-3 * time.Hour)
	for end := wall.AddDate(horizon, 0, 0); wall.Before(end); {
		switch {
		case s.months>>wall.Month()&1 == 0:
			wall = time.Date(wall.Year(), wall.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.matchesDay(wall):
			wall = time.Date(wall.Year(), wall.Month(), wall.Day()+1, 0, 0, 0, 0, time.UTC)
		case s.hours>>wall.Hour()&1 == 0:
			wall = wall.Truncate(time.Hour).Add(time.Hour)
		case s.minutes>>wall.Minute()&1 == 0:
			wall = wall.Add(time.Minute)
		default:
			if t := instant(wall, zone); t.After(after) {
				return t, true
			}
			wall = wall.Add(time.Minute)
		}
	}
	return time.Time{}, false
}

func (s *Schedule) matchesDay(wall time.Time) bool {
	day, weekday := s.days>>wall.Day()&1 == 1, s.weekdays>>wall.Weekday()&1 == 1
	if s.anyDay || s.anyWeekday {
		return day && weekday
	}
	return day || weekday
}

// instant returns the first time at which the clocks in a time zone show the time wall, or the
// first one after it that they show.
func instant(wall time.Time, zone *time.Location) time.Time {
	_, before := wall.Add(-24 * time.Hour).In(zone).Zone()
	_, after := wall.Add(24 * time.Hour).In(zone).Zone()
	first := wall.Add(-time.Duration(max(before, after)) * time.Second) // the larger offset is the earlier time
	for _, t := range []time.Time{first, wall.Add(-time.Duration(min(before, after)) * time.Second)} {
		if _, offset := t.In(zone).Zone(); t.Add(time.Duration(offset) * time.Second).Equal(wall) {
			return t
		}
	}
	_, end := first.In(zone).ZoneBounds()
	return end
}
