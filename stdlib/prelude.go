package stdlib

import (
	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var preludeNatives = []native{
	{"__line", line},
	{"len", length},
	{"to_string", textOfValue},
	{"typeof", func(a *vm.Args) (value.Slot, error) { return value.String(value.TypeName(value.Flat(a.Slot(0)))), nil }},
	{"assert", assert},
	{"assert_eq", assertEq},
	{"assert_ne", assertNe},
}

// textOfValue gives its argument's text.
func textOfValue(a *vm.Args) (value.Slot, error) {
	if s := a.Slot(0); s.Kind() == value.KindString {
		return s, nil
	}
	return value.String(value.Text(a.Slot(0))), nil
}

// line joins the texts of argument 0's elements by a space.
func line(a *vm.Args) (value.Slot, error) {
	x := a.Array(0)
	var out []byte
	for i := range x.Len {
		if i > 0 {
			out = append(out, ' ')
		}
		out = value.AppendText(out, x.At(i))
	}
	return value.String(string(out)), nil
}

func length(a *vm.Args) (value.Slot, error) {
	switch s := value.Flat(a.Slot(0)); s.Kind() {
	case value.KindString:
		return value.Int(int64(s.Str().Len())), nil
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
	return value.Nil, failed(a.String(1), "")
}

func assertEq(a *vm.Args) (value.Slot, error) {
	x, y := a.Slot(0), a.Slot(1)
	if value.Equal(x, y) {
		return value.Nil, nil
	}
	return value.Nil, failed(a.String(2), shown(x)+" does not equal "+shown(y))
}

func assertNe(a *vm.Args) (value.Slot, error) {
	x, y := a.Slot(0), a.Slot(1)
	if !value.Equal(x, y) {
		return value.Nil, nil
	}
	return value.Nil, failed(a.String(2), "both are "+shown(x))
}

// shown gives a value as JSON, so that "1" and 1 look different; references and
// errors as their text.
func shown(s value.Slot) string {
	if value.IsError(s) {
		return value.TypeName(s) + " " + string(value.AppendString(nil, value.Message(s)))
	}
	return string(value.AppendJSON(nil, s))
}

// failed makes the fault of an assertion from the program's message and what
// was found, each of which may be empty.
func failed(msg, found string) error {
	switch {
	case msg == "" && found == "":
		return value.Faultf("assertion failed")
	case msg == "" || found == "":
		return value.Faultf("assertion failed: %s", msg+found)
	}
	return value.Faultf("assertion failed: %s: %s", msg, found)
}
