package stdlib

import (
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var errorNatives = native.Table{
	{"Error.to_string", func(a *vm.Args) (value.Slot, error) { return value.String(value.Text(a.Slot(0))), nil }},
	{"Error.context", errorContext},
	{"__with_context", errorContext},
}

func errorContext(a *vm.Args) (value.Slot, error) { return withContext(a.Slot(0), a.String(1)), nil }

// withContext adds `text: ` before an error's message. It preserves the type of the error. A
// built-in error is wrapped in an error of the same type. A String, and a struct with a String
// field `message`, receive the prefix. Any other value stays unchanged.
func withContext(e value.Slot, text string) value.Slot {
	e = value.Flatten(e)
	switch {
	case value.IsError(e):
		return value.WithContext(e, text)
	case e.Kind() == value.KindString:
		return value.String(text + ": " + e.AsString())
	case e.Kind() == value.KindStruct:
		i := e.Type().FieldIndex("message")
		if i >= 0 && e.Fields()[i].Kind() == value.KindString {
			c := value.Copy(e)
			c.Fields()[i] = value.String(text + ": " + e.Fields()[i].AsString())
			return c
		}
	}
	return native.MarkShared(e)
}

// The fixed texts in the message of a failed assertion. assertionFailed is at the start, and
// differs is between the two values of an assert_eq.
const (
	assertionFailed = "assertion failed"
	differs         = " does not equal "
)

// AssertionDiff returns the difference that the message of a failed assert_eq describes: the first
// value after `-`, the second after `+`, and then the places within the values. It returns "" for
// any other message.
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
	for rest := a; !json.Valid([]byte(a)); { // a message of the program may precede the first value
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
