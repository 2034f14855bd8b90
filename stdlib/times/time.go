// Package times contains the natives of std::time and of clocks: instants, layouts, durations and
// cron schedules.
package times

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var Time = native.Table{
	{"time.parse", timeParse},
	{"time.__cron", timeCron},
	{"time.__instant", timeInstant},
	{"time.__format", timeFormat},
	{"time.__fixed_zone", timeFixedZone},
}

const msPerDay = 24 * 60 * 60 * 1000

// moment is an instant as a calendar date and a time of day. offset is the time zone's offset in
// seconds east of UTC, and zone is the name of the zone.
type moment struct {
	year, month, day                  int64
	hour, minute, second, millisecond int64
	offset                            int64
	zone                              string
	weekday                           int64 // 0 is Sunday
	yearday                           int64 // day of the year, from 1
	unix                              int64 // seconds since 1970-01-01 00:00 UTC
}

// at converts an instant to a moment in a time zone. ms is the instant in milliseconds since 1970,
// and offset is the offset of the zone in seconds. ok is false if the year is not between 0 and
// 9999.
func at(ms, offset int64, zone string) (m moment, ok bool) {
	if ms < -1<<52 || ms > 1<<52 { // outside of the years 0 to 9999; the check prevents an overflow below
		return m, false
	}
	local := ms + offset*1000
	days := floorDiv(local, msPerDay)
	rest := local - days*msPerDay
	m = moment{hour: rest / 3_600_000, minute: rest / 60_000 % 60, second: rest / 1000 % 60, millisecond: rest % 1000,
		offset: offset, zone: zone, weekday: (days%7 + 11) % 7, unix: floorDiv(ms, 1000)}
	m.year, m.month, m.day = civil(days)
	m.yearday = days - daysTo(m.year, 1, 1) + 1
	return m, m.year >= 0 && m.year <= 9999
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// The calendar functions use eras of 400 years. A year begins in March, so that the leap day is the
// last day of the year.
const (
	daysPerEra   = 146097
	daysToOrigin = 719468 // number of days from 0000-03-01 to 1970-01-01
)

// civil returns the date of a day. Days are counted from 1970-01-01.
func civil(days int64) (year, month, day int64) {
	days += daysToOrigin
	era := floorDiv(days, daysPerEra)
	d := days - era*daysPerEra
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153 // month, counted from March
	day = d - (153*m+2)/5 + 1
	if m < 10 {
		return era*400 + y, m + 3, day
	}
	return era*400 + y + 1, m - 9, day
}

// daysTo returns the number of days from 1970-01-01 to a date.
func daysTo(year, month, day int64) int64 {
	m := month - 3
	if m < 0 {
		year, m = year-1, m+12
	}
	era := floorDiv(year, 400)
	y := year - era*400
	return era*daysPerEra + 365*y + y/4 - y/100 + (153*m+2)/5 + day - 1 - daysToOrigin
}

// daysIn returns the number of days in a month.
func daysIn(year, month int64) int64 {
	if month == 12 {
		return 31
	}
	return daysTo(year, month+1, 1) - daysTo(year, month, 1)
}

func timeFormat(a *vm.Args) (value.Slot, error) {
	pattern, err := layoutOf(a.String(1))
	if err != nil {
		return value.Nil, err
	}
	m, ok := at(a.Int(0), a.Int(2), a.String(3))
	if !ok {
		return value.Nil, value.Faultf("format: the instant %d is not in the years 0 to 9999", a.Int(0))
	}
	return value.String(string(m.append(nil, pattern))), nil
}

// FormatInstant returns an instant in milliseconds since 1970 as text, like std::time::format. It
// returns "" for years after 9999.
func FormatInstant(ms int64) string {
	m, ok := at(ms, 0, "UTC")
	if !ok {
		return ""
	}
	return string(m.append(nil, rfc3339))
}

// ParseInstant returns the instant that FormatInstant has formatted, or 0 for any other text.
func ParseInstant(text string) int64 {
	ms, _ := (&timeReader{s: text}).moment(rfc3339)
	return ms
}

func timeFixedZone(a *vm.Args) (value.Slot, error) {
	name := a.String(0)
	if strings.EqualFold(name, "UTC") || name == "Z" {
		return value.Some(value.Tuple(value.Int(0), value.String("UTC"))), nil
	}
	r := &timeReader{s: name}
	if offset, ok := r.offset(); ok && r.s == "" {
		return value.Some(value.Tuple(value.Int(offset), value.String(name))), nil
	}
	return value.Nil, nil
}

func timeParse(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	pattern, err := layoutOf(a.String(1))
	if err != nil {
		return value.Nil, err
	}
	ms, reason := (&timeReader{s: s}).moment(pattern)
	if reason != "" {
		return value.Nil, native.ParseError(s, "is not a time with the layout "+string(value.AppendString(nil, a.String(1)))+": "+reason)
	}
	return value.Int(ms), nil
}
