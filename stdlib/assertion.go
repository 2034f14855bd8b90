package stdlib

import (
	"encoding/json"
	"strings"
)

// The words of a failed assertion: before all, and between the values of an assert_eq.
const (
	assertionFailed = "assertion failed"
	differs         = " does not equal "
)

// AssertionDiff is what is different, read from the message of a failed assert_eq: the first value behind `-`, the
// second behind `+`, then the places within them. It is "" for any other message.
func AssertionDiff(message string) string {
	found, ok := strings.CutPrefix(message, assertionFailed+": ")
	if !ok {
		return ""
	}
	found, places, within := strings.Cut(found, "\n  at ")
	a, b, ok := strings.Cut(found, differs)
	if !ok {
		return ""
	}
	for rest := a; !json.Valid([]byte(a)); { // the program's own words stand before the value
		_, after, more := strings.Cut(rest, ": ")
		if !more {
			break
		}
		if rest = after; json.Valid([]byte(rest)) {
			a = rest
		}
	}
	diff := "- " + a + "\n+ " + b
	if within {
		diff += "\n  at " + places
	}
	return diff
}
