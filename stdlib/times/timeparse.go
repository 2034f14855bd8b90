package times

import (
	"fmt"
	"strings"
)

// timeReader reads a text as a moment, and contains the parts that it has read.
type timeReader struct {
	s       string // remaining text
	m       moment
	twelve  bool // the hour is from 1 to 12
	pm      bool
	weekday string
	instant bool // the text contained seconds since 1970, which determine everything except the milliseconds
	yearday int64
}

// moment parses the whole text with a pattern. It returns milliseconds since 1970, or the reason of
// a failure.
func (r *timeReader) moment(pattern string) (ms int64, reason string) {
	r.m = moment{year: 1970, month: 1, day: 1}
	if pattern == rfc3339 {
		reason = r.rfc3339()
	} else {
		reason = r.pattern(pattern)
	}
	if reason == "" && r.s != "" {
		reason = fmt.Sprintf("unexpected text %q at the end", r.s)
	}
	if reason != "" {
		return 0, reason
	}
	return r.milliseconds()
}

func (r *timeReader) pattern(pattern string) string {
	for pattern != "" {
		if pattern[0] != '%' {
			if r.s == "" || r.s[0] != pattern[0] {
				return fmt.Sprintf("expected %q", literalPrefix(pattern)) + r.textAtError()
			}
			r.s, pattern = r.s[1:], pattern[1:]
			continue
		}
		c, width := directive(pattern)
		if what := r.field(c); what != "" {
			return "expected " + what + r.textAtError()
		}
		pattern = pattern[width:]
	}
	return ""
}

// literalPrefix returns the literal text at the start of a pattern.
func literalPrefix(pattern string) string {
	text, _, _ := strings.Cut(pattern, "%")
	return text
}

// textAtError returns the text at the position of an error, for a message.
func (r *timeReader) textAtError() string {
	if r.s == "" {
		return " at the end"
	}
	return fmt.Sprintf(" at %q", r.s)
}

// field reads one directive. It returns "", or a description of the expected text.
func (r *timeReader) field(c byte) string {
	ok := true
	number := func(to *int64, least, most int) {
		*to, ok = r.number(least, most)
	}
	m := &r.m
	switch c {
	case 'Y':
		number(&m.year, 4, 4)
		return wanted(ok, "a year of four digits")
	case 'y':
		number(&m.year, 2, 2)
		m.year += 2000
		if m.year >= 2069 {
			m.year -= 100
		}
		return wanted(ok, "a year of two digits")
	case 'm':
		number(&m.month, 2, 2)
		return wanted(ok, "a month of two digits")
	case 'd':
		number(&m.day, 2, 2)
		return wanted(ok, "a day of two digits")
	case 'e':
		r.s = strings.TrimPrefix(r.s, " ")
		number(&m.day, 1, 2)
		return wanted(ok, "a day")
	case 'j':
		number(&r.yearday, 3, 3)
		return wanted(ok && r.yearday > 0, "a day of the year of three digits")
	case 'H', 'I':
		number(&m.hour, 2, 2)
		r.twelve = c == 'I'
		return wanted(ok && !(r.twelve && (m.hour < 1 || m.hour > 12)), "an hour of two digits")
	case 'M':
		number(&m.minute, 2, 2)
		return wanted(ok, "a minute of two digits")
	case 'S':
		number(&m.second, 2, 2)
		return wanted(ok, "a second of two digits")
	case 'L':
		number(&m.millisecond, 3, 3)
		return wanted(ok, "a millisecond of three digits")
	}
	return r.wordField(c)
}

// wordField reads the directives that are not plain numbers.
func (r *timeReader) wordField(c byte) string {
	m := &r.m
	switch c {
	case 'a', 'A':
		i, ok := r.word(weekdays, c == 'a')
		if ok {
			r.weekday = weekdays[i]
		}
		return wanted(ok, "a day of the week")
	case 'b', 'B':
		i, ok := r.word(months, c == 'b')
		m.month = int64(i) + 1
		return wanted(ok, "a month's name")
	case 'p':
		i, ok := r.word([]string{"AM", "PM"}, false)
		r.pm = i == 1
		return wanted(ok, "AM or PM")
	case 'z', ':':
		offset, ok := r.offset()
		m.offset = offset
		return wanted(ok, "an offset")
	case 'Z':
		_, ok := r.word([]string{"UTC", "GMT"}, false)
		return wanted(ok, "UTC or GMT")
	case 's':
		negative := strings.HasPrefix(r.s, "-")
		r.s = strings.TrimPrefix(r.s, "-")
		n, ok := r.number(1, 12)
		if negative {
			n = -n
		}
		m.unix, r.instant = n, true
		return wanted(ok, "a number of seconds")
	}
	if !strings.HasPrefix(r.s, "%") {
		return "a `%`"
	}
	r.s = r.s[1:]
	return ""
}

func wanted(ok bool, what string) string {
	if ok {
		return ""
	}
	return what
}

// number reads a number with at least least and at most most digits.
func (r *timeReader) number(least, most int) (n int64, ok bool) {
	i := 0
	for i < len(r.s) && i < most && r.s[i] >= '0' && r.s[i] <= '9' {
		n = n*10 + int64(r.s[i]-'0')
		i++
	}
	if i < least {
		return 0, false
	}
	r.s = r.s[i:]
	return n, true
}

// word reads one of the words, ignoring case. If short is set, it reads only the first three
// letters of a word.
func (r *timeReader) word(words []string, short bool) (int, bool) {
	for i, w := range words {
		if short {
			w = w[:3]
		}
		if len(r.s) >= len(w) && strings.EqualFold(r.s[:len(w)], w) {
			r.s = r.s[len(w):]
			return i, true
		}
	}
	return 0, false
}

// offset reads Z, +0200 or +02:00. It returns seconds east of UTC.
func (r *timeReader) offset() (seconds int64, ok bool) {
	rest := r.s
	if rest == "" {
		return 0, false
	}
	r.s = rest[1:]
	sign := int64(1)
	switch rest[0] {
	case 'Z', 'z':
		return 0, true
	case '-':
		sign = -1
	case '+':
	default:
		r.s = rest
		return 0, false
	}
	hours, ok := r.number(2, 2)
	r.s = strings.TrimPrefix(r.s, ":")
	minutes, also := r.number(2, 2)
	if !ok || !also || hours > 23 || minutes > 59 {
		r.s = rest
		return 0, false
	}
	return sign * (hours*3600 + minutes*60), true
}

// rfc3339 reads a text in the form of RFC 3339. The fraction may have any number of digits, T and Z
// may be lower case, and T may be a space. The offset has a colon.
func (r *timeReader) rfc3339() string {
	if reason := r.pattern("%Y-%m-%d"); reason != "" {
		return reason
	}
	if r.s == "" || !strings.ContainsAny(r.s[:1], "Tt ") {
		return "expected a `T`" + r.textAtError()
	}
	r.s = r.s[1:]
	if reason := r.pattern("%H:%M:%S"); reason != "" {
		return reason
	}
	if strings.HasPrefix(r.s, ".") {
		digits := r.s[1:]
		n := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
		if n == 0 {
			return "expected a fraction of a second" + r.textAtError()
		}
		milli := &timeReader{s: (digits[:n] + "00")[:3]}
		r.m.millisecond, _ = milli.number(3, 3)
		r.s = digits[n:]
	}
	before := r.s
	if reason := r.pattern("%z"); reason != "" {
		return reason
	}
	if len(before)-len(r.s) == len("+0200") {
		r.s = before
		return "expected an offset such as +02:00" + r.textAtError()
	}
	return ""
}

// milliseconds computes milliseconds since 1970 from the parts that were read.
func (r *timeReader) milliseconds() (ms int64, reason string) {
	m := &r.m
	if r.instant {
		return m.unix*1000 + m.millisecond, ""
	}
	if r.twelve {
		m.hour %= 12
	}
	if r.pm && m.hour < 12 {
		m.hour += 12
	}
	if r.yearday > 0 {
		m.month, m.day = 1, 1
		if _, month, day := civil(daysTo(m.year, 1, 1) + r.yearday - 1); r.yearday <= 365 || month == 12 {
			m.month, m.day = month, day
		} else {
			return 0, fmt.Sprintf("the year %d has no day %d", m.year, r.yearday)
		}
	}
	switch {
	case m.month < 1 || m.month > 12:
		return 0, fmt.Sprintf("there is no month %d", m.month)
	case m.day < 1 || m.day > daysIn(m.year, m.month):
		return 0, fmt.Sprintf("there is no day %d in month %d of %d", m.day, m.month, m.year)
	case m.hour > 23 || m.minute > 59 || m.second > 60:
		return 0, fmt.Sprintf("there is no time %02d:%02d:%02d", m.hour, m.minute, m.second)
	}
	days := daysTo(m.year, m.month, m.day)
	ms = days*msPerDay + m.hour*3_600_000 + m.minute*60_000 + (m.second-m.offset)*1000
	// The clock of 1970 has no leap seconds, so that a leap second is the second after it.
	if _, _, day := civil(floorDiv(ms, msPerDay)); m.second == 60 && (ms%msPerDay != 0 || day != 1) {
		return 0, fmt.Sprintf("there is no time %02d:%02d:%02d: a leap second is only at the end of a month in UTC", m.hour, m.minute, m.second)
	}
	if day := weekdays[(days%7+11)%7]; r.weekday != "" && r.weekday != day {
		return 0, fmt.Sprintf("%04d-%02d-%02d is a %s, not a %s", m.year, m.month, m.day, day, r.weekday)
	}
	return ms + m.millisecond, ""
}
