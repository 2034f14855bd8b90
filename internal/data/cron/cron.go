// Package cron parses cron expressions of five fields, and computes the times that they describe.
package cron

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// field is a field of a cron expression. names contains the names of the field's values,
// beginning with the value least.
type field struct {
	name        string
	least, most int
	names       string
}

var fields = [...]field{
	{name: "minute", most: 59},
	{name: "hour", most: 23},
	{name: "day of the month", least: 1, most: 31},
	{name: "month", least: 1, most: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec"},
	{name: "day of the week", most: 7, names: "sun mon tue wed thu fri sat"},
}

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// Schedule is a cron expression. Each set has a bit for each value that matches.
type Schedule struct {
	minutes, hours, days, months, weekdays uint64
	// anyDay and anyWeekday are set if the field begins with `*`. If neither is set, a day matches
	// if it is in one of the two sets.
	anyDay, anyWeekday bool
}

// Parse parses an expression: minute, hour, day of the month, month and day of the week. Each field
// is `*` or a list of values and ranges, with optional steps. wrong describes the error, or is "".
func Parse(s string) (c *Schedule, wrong string) {
	if whole, ok := macros[s]; ok {
		s = whole
	}
	parts := strings.Fields(s)
	if len(parts) != len(fields) {
		what := "fields"
		if len(parts) == 1 {
			what = "field"
		}
		return nil, fmt.Sprintf("it has %d %s, but needs five: minute, hour, day of the month, month, day of the week", len(parts), what)
	}
	var sets [len(fields)]uint64
	for i := range fields {
		for item := range strings.SplitSeq(parts[i], ",") {
			set, wrong := fields[i].item(item)
			if wrong != "" {
				return nil, fmt.Sprintf("the %s %s: %s", fields[i].name, value.AppendString(nil, parts[i]), wrong)
			}
			sets[i] |= set
		}
	}
	sets[4] |= sets[4] >> 7 // 7 means Sunday, like 0
	return &Schedule{sets[0], sets[1], sets[2], sets[3], sets[4] & 0x7f, parts[2][0] == '*', parts[4][0] == '*'}, ""
}

// item parses `*`, `5`, `1-5`, `*/10` or `1-5/2` to a set of values. wrong describes the error, or
// is "".
func (f *field) item(s string) (set uint64, wrong string) {
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

func (f *field) value(s string) (n int, wrong string) {
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

// horizon is the number of years in which Next searches. The dates repeat after 28 years, except
// around the years 1900 and 2100.
const horizon = 40

// NextLocal returns the first matching minute after local. Both are in milliseconds of the time
// that a clock in the time zone shows, as if it were UTC. ok is false if no minute matches.
func (s *Schedule) NextLocal(local int64) (next int64, ok bool) {
	wall, ok := s.find(time.UnixMilli(local).UTC().Truncate(time.Minute).Add(time.Minute), func(time.Time) bool { return true })
	return wall.UnixMilli(), ok
}

// Next returns the first scheduled time after another time, in a time zone. A local
// time that does not exist becomes the next one that does, and of a local time that occurs twice
// only the first occurrence counts. ok is false if there is no such time, as for February 30.
func (s *Schedule) Next(after time.Time, zone *time.Location) (next time.Time, ok bool) {
	local := after.In(zone)
	// The search uses the clock on the wall, as if it were UTC. It begins an hour earlier, for
	// times that occur twice or do not exist.
	wall := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC).Add(-3 * time.Hour)
	_, ok = s.find(wall, func(wall time.Time) bool {
		next = instant(wall, zone)
		return next.After(after)
	})
	return next, ok
}

// find returns the first matching minute from wall on that accept accepts.
func (s *Schedule) find(wall time.Time, accept func(time.Time) bool) (match time.Time, ok bool) {
	for end := wall.AddDate(horizon, 0, 0); wall.Before(end); {
		switch {
		case s.months>>wall.Month()&1 == 0:
			wall = time.Date(wall.Year(), wall.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !s.matchesDay(wall):
			wall = time.Date(wall.Year(), wall.Month(), wall.Day()+1, 0, 0, 0, 0, time.UTC)
		case s.hours>>wall.Hour()&1 == 0:
			wall = wall.Truncate(time.Hour).Add(time.Hour)
		case s.minutes>>wall.Minute()&1 == 1 && accept(wall):
			return wall, true
		default:
			wall = wall.Add(time.Minute)
		}
	}
	return wall, false
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
