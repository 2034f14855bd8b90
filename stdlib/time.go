package stdlib

import (
	"fmt"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var timeNatives = []native{
	{"time.__format", func(a *vm.Args) (value.Slot, error) { return value.String(rfc3339(a.Int(0))), nil }},
}

const msPerDay = 24 * 60 * 60 * 1000

// rfc3339 writes milliseconds since 1970 as RFC 3339 in UTC with milliseconds.
func rfc3339(ms int64) string {
	days := ms / msPerDay
	if ms%msPerDay < 0 {
		days--
	}
	ms -= days * msPerDay
	year, month, day := civil(days)
	return fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", year, month, day,
		ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// civil gives the date of a day counted from 1970-01-01. It counts in eras of
// 400 years, whose years begin in March so that the leap day comes last.
func civil(days int64) (year, month, day int64) {
	const perEra = 146097
	days += 719468 // from 0000-03-01
	era := days / perEra
	if days%perEra < 0 {
		era--
	}
	d := days - era*perEra
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153 // from March
	day = d - (153*m+2)/5 + 1
	if m < 10 {
		return era*400 + y, m + 3, day
	}
	return era*400 + y + 1, m - 9, day
}
