// Package native contains functions and types for the natives of the standard library: tables of
// natives, operations on long texts, limits of growing texts, structs by their fields, and errors.
package native

import (
	"errors"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// Table is a family of natives. The registered name is `Type.method` for a method, `module.f` for a
// function of a module, and otherwise the name in @native or @effect. A native that @effect names
// requests an effect.
type Table []struct {
	Name string
	Func vm.Native
}

// MaxText is the maximum size in bytes of a text that one call creates.
const MaxText = 1 << 30

// Growing limits a growing text to MaxText and to the memory that the run may use.
type Growing struct {
	Args  *vm.Args
	asked int // size in bytes for which memory was reserved
}

// Reserve returns or raises a fault if the text must not grow to n bytes. name is the name of the
// native.
func (b *Growing) Reserve(n int, name string) error {
	if n > MaxText {
		return value.Faultf("%s: the result would be longer than 1 GiB", name)
	}
	if n > max(b.asked, 1<<16) {
		b.Args.Room(n)
		b.asked = 2 * n
	}
	return nil
}

// ParseError returns a ParseError that quotes the beginning of the text, or all of a short text.
func ParseError(s, what string) error {
	const shown = 60
	quoted := s
	if n := utf8.UTFMax * shown; len(s) > n {
		quoted = s[:n] // longer than the limit for the quotation
	}
	if r := []rune(quoted); len(r) > shown {
		quoted = string(r[:shown]) + "…"
	}
	return value.Errorf("ParseError", "%s %s", value.AppendString(nil, quoted), what).With("input", value.String(s))
}

func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return string(value.AppendText(nil, value.Int(int64(n)))) + " " + what + "s"
}

// MarkShared marks a value as shared, because it also stays in its container. It returns the value.
func MarkShared(s value.Slot) value.Slot {
	value.Share(s)
	return s
}

// Decode parses JSON as a value of type t. The error has one line that names every field which does
// not fit.
func Decode(a *vm.Args, data []byte, t *value.Type) (value.Slot, error) {
	v, errs := schema.DecodeIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// Convert converts parsed data to type t. It returns the same errors as Decode.
func Convert(a *vm.Args, data value.Slot, t *value.Type) (value.Slot, error) {
	v, errs := schema.ConvertIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// SchemaError returns the SchemaError for data that does not fit t. text is the text that contained
// the data, or "" if there was none.
func SchemaError(t *value.Type, message, text string) error {
	e := value.Errorf("SchemaError", "%s", message).With("schema", value.String(t.Name))
	if text != "" {
		e.With("raw_response", value.String(text))
	}
	return e
}
