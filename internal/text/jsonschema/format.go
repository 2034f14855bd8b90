package jsonschema

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// isFormat reports whether the text s has the given format, as far as Go's standard library can
// decide. It returns true for unknown formats.
func isFormat(name, s string) bool {
	var err error
	ok := true
	switch name {
	case "date-time":
		ok = isDateTime(s)
	case "date":
		_, err = time.Parse(time.DateOnly, s)
	case "time":
		ok = isDateTime("2000-01-01T" + s)
	case "email":
		ok = isEmail(s)
	case "ipv4", "ipv6":
		var a netip.Addr
		a, err = netip.ParseAddr(s)
		ok = a.Is4() == (name == "ipv4") && a.Zone() == ""
	case "uri":
		var u *url.URL
		u, err = url.Parse(s)
		ok = err == nil && u.IsAbs() && !strings.ContainsAny(s, " \\<>\"{}|^`")
	case "uuid":
		ok = isUUID(s)
	case "regex":
		_, err = regexp.Compile(s)
	}
	return ok && err == nil
}

// dateTime matches the form of RFC 3339. Package time also accepts a comma, hours of one digit, and
// the offset +24:00.
var dateTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
})

// secondAt is the offset of the seconds in a date-time.
const secondAt = len("2006-01-02T15:04:")

func isDateTime(s string) bool {
	if !dateTime().MatchString(s) {
		return false
	}
	leap := s[secondAt:secondAt+2] == "60"
	if leap { // package time has no leap seconds
		s = s[:secondAt] + "59" + s[secondAt+2:]
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	t = t.UTC()
	return err == nil && (!leap || t.Hour() == 23 && t.Minute() == 59)
}

func isUUID(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'):
			return false
		}
	}
	return len(s) == 36
}
