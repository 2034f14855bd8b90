// Package native contains the building blocks of the standard library's natives: their tables, long
// texts in parts, growing texts, structs by their fields, and errors. The compatibility promise
// does not cover it.
package native

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// Table is a family of Go functions, each with the name under which it is registered:
// `Type.method` for methods, `module.f` for a module's functions, else the name
// in @native or @effect. A native named in @effect asks for that effect.
type Table []struct {
	Name string
	Func vm.Native
}

// MaxText is the maximum size in bytes of a text that one call builds.
const MaxText = 1 << 30

// Growing bounds a growing text: by maxString, and by the memory that the run
// may take.
type Growing struct {
	Args  *vm.Args
	asked int // for room, so far
}

// Reaches faults when the text cannot have n bytes.
func (b *Growing) Reaches(n int, name string) error {
	if n > MaxText {
		return value.Faultf("%s: the result would be longer than 1 GiB", name)
	}
	if n > max(b.asked, 1<<16) {
		b.Args.Room(n)
		b.asked = 2 * n
	}
	return nil
}

// ParseError quotes the text, or its beginning when it is long.
func ParseError(s, what string) error {
	const shown = 60
	quoted := s
	if n := utf8.UTFMax * shown; len(s) > n {
		quoted = s[:n] // more than is shown
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

// Lend gives a value that stays where it is as well: its container is marked.
func Lend(s value.Slot) value.Slot {
	value.Share(s)
	return s
}

// Decode reads JSON as a t. The error has one line that names every field.
func Decode(a *vm.Args, data []byte, t *value.Type) (value.Slot, error) {
	v, errs := schema.DecodeIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// Convert is decode of what has been parsed already.
func Convert(a *vm.Args, data value.Slot, t *value.Type) (value.Slot, error) {
	v, errs := schema.ConvertIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// SchemaError makes the SchemaError for data that does not fit t; text is what
// the data was read from, "" when it was not a text.
func SchemaError(t *value.Type, message, text string) error {
	e := value.Errorf("SchemaError", "%s", message).With("schema", value.String(t.Name))
	if text != "" {
		e.With("raw_response", value.String(text))
	}
	return e
}

// KeepMap keeps a map in the order of its keys; each keeps one entry.
func KeepMap[K cmp.Ordered, V any](k *vm.Keeper, m *map[K]V, each func(*K, *V)) {
	keys := slices.Sorted(maps.Keys(*m))
	n := k.Count(len(keys))
	for i := range n {
		var key K
		var v V
		if !k.Reading() {
			key, v = keys[i], (*m)[keys[i]]
		}
		if each(&key, &v); !k.Reading() {
			continue
		}
		if *m == nil {
			*m = map[K]V{}
		}
		(*m)[key] = v
	}
}
