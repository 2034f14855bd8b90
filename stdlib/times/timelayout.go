package times

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// layouts contains the patterns of the layouts that have a name.
var layouts = map[string]string{
	"rfc3339":  rfc3339,
	"date":     "%Y-%m-%d",
	"time":     "%H:%M:%S",
	"datetime": "%Y-%m-%d %H:%M:%S",
	"http":     "%a, %d %b %Y %H:%M:%S GMT",
	"unix":     "%s",
}

// rfc3339 represents the layout of RFC 3339. No pattern can describe it, because the fraction is
// optional and the offset of UTC is Z.
const rfc3339 = "\x00rfc3339"

var (
	months   = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	weekdays = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
)

// directives contains the letters that may follow a `%`.
const directives = "YmdHMSLzZyeIpaAbBjs%"

// layoutOf returns the pattern of a layout, or a fault if the layout is invalid.
func layoutOf(layout string) (string, error) {
	if p, ok := layouts[layout]; ok {
		return p, nil
	}
	if !strings.Contains(layout, "%") {
		return "", value.Faultf("unknown layout %q: use rfc3339, date, time, datetime, http or unix, or a pattern such as %%Y-%%m-%%d", layout)
	}
	for rest := layout; ; {
		i := strings.IndexByte(rest, '%')
		if i < 0 {
			return layout, nil
		}
		c, width := directive(rest[i:])
		if c == 0 {
			return "", value.Faultf("the layout %q contains an unknown `%%` sequence; write `%%%%` for a percent sign", layout)
		}
		rest = rest[i+width:]
	}
}

// directive reads the `%` directive at the start of a pattern. c is the letter after the `%`, or
// ':' for `%:z`, or 0 if the directive is unknown. width is the length of the directive in bytes.
func directive(p string) (c byte, width int) {
	switch {
	case strings.HasPrefix(p, "%:z"):
		return ':', 3
	case len(p) > 1 && strings.IndexByte(directives, p[1]) >= 0:
		return p[1], 2
	}
	return 0, 0
}

// append appends the moment in the form of a pattern.
func (m *moment) append(dst []byte, pattern string) []byte {
	if pattern == rfc3339 {
		dst = fmt.Appendf(dst, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", m.year, m.month, m.day, m.hour, m.minute, m.second, m.millisecond)
		if m.offset == 0 {
			return append(dst, 'Z')
		}
		return appendOffset(dst, m.offset, ":")
	}
	for pattern != "" {
		if pattern[0] != '%' {
			dst, pattern = append(dst, pattern[0]), pattern[1:]
			continue
		}
		c, width := directive(pattern)
		dst, pattern = m.appendField(dst, c), pattern[width:]
	}
	return dst
}

func (m *moment) appendField(dst []byte, c byte) []byte {
	two := func(n int64) []byte { return fmt.Appendf(dst, "%02d", n) }
	switch c {
	case 'Y':
		return fmt.Appendf(dst, "%04d", m.year)
	case 'y':
		return two(m.year % 100)
	case 'm':
		return two(m.month)
	case 'd':
		return two(m.day)
	case 'e':
		return strconv.AppendInt(dst, m.day, 10)
	case 'H':
		return two(m.hour)
	case 'I':
		return two((m.hour+11)%12 + 1)
	case 'p':
		if m.hour < 12 {
			return append(dst, "AM"...)
		}
		return append(dst, "PM"...)
	case 'M':
		return two(m.minute)
	case 'S':
		return two(m.second)
	case 'L':
		return fmt.Appendf(dst, "%03d", m.millisecond)
	case 'z':
		return appendOffset(dst, m.offset, "")
	case ':':
		return appendOffset(dst, m.offset, ":")
	case 'Z':
		return append(dst, m.zone...)
	case 'a':
		return append(dst, weekdays[m.weekday][:3]...)
	case 'A':
		return append(dst, weekdays[m.weekday]...)
	case 'b':
		return append(dst, months[m.month-1][:3]...)
	case 'B':
		return append(dst, months[m.month-1]...)
	case 'j':
		return fmt.Appendf(dst, "%03d", m.yearday)
	case 's':
		return strconv.AppendInt(dst, m.unix, 10)
	}
	return append(dst, '%')
}

// appendOffset appends an offset, with sep before the minutes.
func appendOffset(dst []byte, seconds int64, sep string) []byte {
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	return fmt.Appendf(dst, "%c%02d%s%02d", sign, seconds/3600, sep, seconds/60%60)
}
