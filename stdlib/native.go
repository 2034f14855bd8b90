package stdlib

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

// table is a family of Go functions, each with the name under which it is registered:
// `Type.method` for methods, `module.f` for a module's functions, else the name
// in @native or @effect. A native named in @effect asks for that effect.
type table []struct {
	name string
	f    vm.Native
}

// maxString bounds what one call may build, in bytes.
const maxString = 1 << 30

// building bounds a growing text: by maxString, and by the memory that the run
// may take.
type building struct {
	a     *vm.Args
	asked int // for room, so far
}

// reaches faults when the text cannot have n bytes.
func (b *building) reaches(n int, name string) error {
	if n > maxString {
		return value.Faultf("%s: the result would be longer than 1 GiB", name)
	}
	if n > max(b.asked, 1<<16) {
		b.a.Room(n)
		b.asked = 2 * n
	}
	return nil
}

// parseError quotes the text, or its beginning when it is long.
func parseError(s, what string) error {
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

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return string(value.AppendText(nil, value.Int(int64(n)))) + " " + what + "s"
}

// lend gives a value that stays where it is as well: its container is marked.
func lend(s value.Slot) value.Slot {
	value.Share(s)
	return s
}

// decode reads JSON as a t. The error has one line that names every field.
func decode(a *vm.Args, data []byte, t *value.Type) (value.Slot, error) {
	v, errs := schema.DecodeIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// decoded is decode of what has been parsed already.
func decoded(a *vm.Args, data value.Slot, t *value.Type) (value.Slot, error) {
	v, errs := schema.ConvertIn(a.Pace(), data, t)
	if len(errs) > 0 {
		return value.Nil, errors.New(schema.Join(errs))
	}
	return v, nil
}

// schemaError makes the SchemaError for data that does not fit t; text is what
// the data was read from, "" when it was not a text.
func schemaError(t *value.Type, message, text string) error {
	e := value.Errorf("SchemaError", "%s", message).With("schema", value.String(t.Name))
	if text != "" {
		e.With("raw_response", value.String(text))
	}
	return e
}

// keepMap keeps a map in the order of its keys; each keeps one entry.
func keepMap[K cmp.Ordered, V any](k *vm.Keeper, m *map[K]V, each func(*K, *V)) {
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
