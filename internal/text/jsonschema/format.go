package jsonschema

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
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

func isDateTime(s string) bool {
	_, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return err == nil
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
