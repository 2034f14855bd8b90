package stdlib

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var preludeNatives = native.Table{
	{"__line", line},
	{"len", length},
	{"to_string", textOfValue},
	{"typeof", func(a *vm.Args) (value.Slot, error) { return value.TypeNameOf(value.Flatten(a.Slot(0))), nil }},
	{"assert", assert},
	{"assert_eq", assertEq},
	{"assert_ne", assertNe},
}

// textOfValue returns the text of its argument.
func textOfValue(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); s.Kind() == value.KindString {
		return s, nil
	}
	var room [32]byte
	return value.StringOf(value.AppendTextWithin(room[:0], a.Slot(0), a.TextBound())), nil
}

// line returns the texts of the elements of argument 0, separated by spaces.
func line(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	var out []byte
	for i := range x.Len {
		if i > 0 {
			out = append(out, ' ')
		}
		out = value.AppendTextWithin(out, x.At(i), a.TextBound())
	}
	return value.StringOwning(out), nil
}

func length(a *vm.Args) (value.Slot, error) {
	switch s := value.Flatten(a.Slot(0)); s.Kind() {
	case value.KindString:
		return value.Int(int64(s.Str().LenIn(a.Pace()))), nil
	case value.KindArray:
		return value.Int(int64(s.Array().Len)), nil
	case value.KindMap:
		return value.Int(int64(s.Map().Len())), nil
	case value.KindRange:
		return rangeLen(a)
	default:
		if h := s.Handle(); h != nil {
			if x, ok := h.Object.(interface{ Len() int }); ok {
				return value.Int(int64(x.Len())), nil
			}
		}
		return value.Nil, value.Faultf("len: %s has no length", value.TypeName(s))
	}
}

func assert(a *vm.Args) (value.Slot, error) {
	if a.Bool(0) {
		return value.Nil, nil
	}
	return value.Nil, assertionFault(a.String(1), "")
}

func assertEq(a *vm.Args) (value.Slot, error) {
	x, y := a.Slot(0), a.Slot(1)
	if value.EqualIn(a.Pace(), x, y) {
		return value.Nil, nil
	}
	return value.Nil, assertionFault(a.String(2), showValue(a, x)+differs+showValue(a, y)+listDifferences(a, x, y))
}

// maxDifferences is the maximum number of differences that the message of a failed assertion lists.
const maxDifferences = 12

// listDifferences lists the places at which two values differ, one on each line. The list is empty
// if the values have no common structure.
func listDifferences(a *vm.Args, x, y value.Slot) string {
	all := value.DiffIn(a.Pace(), x, y, maxDifferences+1)
	if len(all) == 0 || len(all) == 1 && all[0].Path == "" {
		return ""
	}
	var b strings.Builder
	for i, d := range all {
		path := strings.TrimLeft(d.Path, ". ")
		switch {
		case i == maxDifferences:
			b.WriteString("\n  and more")
		case d.B == "":
			b.WriteString("\n  at " + path + ": only the first has " + d.A)
		case d.A == "":
			b.WriteString("\n  at " + path + ": only the second has " + d.B)
		default:
			b.WriteString("\n  at " + path + ": " + d.A + differs + d.B)
		}
	}
	return b.String()
}

func assertNe(a *vm.Args) (value.Slot, error) {
	x, y := a.Slot(0), a.Slot(1)
	if !value.EqualIn(a.Pace(), x, y) {
		return value.Nil, nil
	}
	return value.Nil, assertionFault(a.String(2), "both are "+showValue(a, x))
}

// maxShown is the maximum size in bytes of a value in the message of an assertion.
const maxShown = 2000

// showValue returns a value as JSON, so that "1" and 1 have different forms. References and errors
// are shown as text.
func showValue(a *vm.Args, s value.Slot) string {
	if value.IsError(s) {
		return value.TypeName(s) + " " + string(value.AppendString(nil, value.Message(s)))
	}
	text := value.AppendJSONWithin(nil, s, a.TextBound())
	if len(text) <= maxShown {
		return string(text)
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:utf8cut.Before(text, maxShown)], len(text))
}

// assertionFault returns the fault of a failed assertion. msg is the program's message and found
// describes the failure. Each of them may be empty.
func assertionFault(msg, found string) error {
	switch {
	case msg == "" && found == "":
		return value.Faultf(assertionFailed)
	case msg == "" || found == "":
		return value.Faultf("%s: %s", assertionFailed, msg+found)
	}
	return value.Faultf("%s: %s: %s", assertionFailed, msg, found)
}
