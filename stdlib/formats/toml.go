package formats

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/tomlkeys"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var TOML = native.Table{
	{"toml.parse", tomlParse},
	{"toml.parse_as", func(a *vm.Args) (value.Slot, error) {
		v, err := tomlParse(a)
		return typedData(a, v, err)
	}},
	{"toml.stringify", tomlStringify},
}

func tomlParse(a *vm.Args) (value.Slot, error) {
	text := strings.TrimPrefix(a.String(0), "\ufeff")
	a.Pace().Bytes(len(text))
	a.Room(len(text))
	if strings.HasPrefix(text, "\ufeff") { // the library would accept a second one
		return value.Nil, formatError(1, 1, "a second byte order mark")
	}
	var data map[string]any
	meta, err := tomlkeys.Decode(text, &data)
	if err != nil {
		var e toml.ParseError
		if !errors.As(err, &e) {
			return value.Nil, formatError(0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		}
		line, column := placeIn(text, e.Position.Start)
		return value.Nil, formatError(line, column, "%s", e.Message)
	}
	t := &tomlReader{a: a, first: map[string]int{}}
	if empty := tomlkeys.EmptyKeys(text); len(empty) > 0 { // the library loses the arrays around tables with empty keys
		for t.empty = emptyKey; strings.Contains(text, t.empty); {
			t.empty += emptyKey
		}
		data = nil
		if meta, err = tomlkeys.Decode(withEmptyKeys(text, empty, t.empty), &data); err != nil {
			return value.Nil, formatError(0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
		}
	}
	for i, key := range meta.Keys() {
		a.Step(1)
		if path := strings.Join(key, "\x00"); t.first[path] == 0 {
			t.first[path] = i + 1
		}
	}
	return t.table(data, ""), nil
}

// emptyKey replaces empty keys while the library reads a text.
const emptyKey = "-empty-"

// withEmptyKeys replaces the empty keys at offsets in a text.
func withEmptyKeys(text string, offsets []int, key string) string {
	var b strings.Builder
	at := 0
	for _, next := range offsets {
		b.WriteString(text[at:next] + key)
		at = next + len(`""`)
	}
	return b.String() + text[at:]
}

// placeIn returns the line and column, in characters, of an offset.
func placeIn(text string, offset int) (line, column int) {
	before := text[:max(0, min(offset, len(text)))]
	start := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, len([]rune(before[start:])) + 1
}

// tomlReader converts TOML to values. The decoder's maps have no order. first therefore contains
// the index of the first occurrence of each key in the text, by the path of the key.
type tomlReader struct {
	a     *vm.Args
	first map[string]int
	empty string // replaces the empty key, if there is one
}

func (t *tomlReader) table(data map[string]any, path string) value.Slot {
	keys := slices.Sorted(maps.Keys(data))
	slices.SortStableFunc(keys, func(x, y string) int { return t.first[path+x] - t.first[path+y] })
	m := value.NewMap(len(keys))
	for _, k := range keys {
		name := k
		if t.empty != "" && k == t.empty {
			name = ""
		}
		m.SetString(name, t.value(data[k], path+k+"\x00"))
	}
	return m.Slot()
}

func (t *tomlReader) value(x any, path string) value.Slot {
	t.a.Step(1)
	switch x := x.(type) {
	case map[string]any:
		return t.table(x, path)
	case []map[string]any:
		list := value.NewArray()
		for _, e := range x {
			list.Push(t.table(e, path))
		}
		return list.Slot()
	case []any:
		list := value.NewArray()
		for _, e := range x {
			list.Push(t.value(e, path))
		}
		return list.Slot()
	case string:
		return value.String(x)
	case int64:
		return value.Int(x)
	case float64:
		return value.Float(x)
	case bool:
		return value.Bool(x)
	case interface{ Format(layout string) string }:
		return value.String(tomlTime(x))
	}
	panic("toml: a value of an unknown type")
}

// tomlTime returns a date or a time in the form in which TOML writes it. For a local date or time,
// the decoder uses a special zone name.
func tomlTime(t interface{ Format(layout string) string }) string {
	switch t.Format("MST") {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format("2006-01-02T15:04:05.999999999Z07:00")
}

func tomlStringify(a *vm.Args) (value.Slot, error) {
	data, err := plainData(a)
	if err != nil {
		return value.Nil, err
	}
	table, err := tomlData(a, data, "")
	if err != nil {
		return value.Nil, err
	}
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(table); err != nil {
		return value.Nil, formatError(0, 0, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return value.StringOwning(b.Bytes()), nil
}

// tomlData converts a value for the encoder. TOML has no nil, so that a member with the value nil
// is omitted.
func tomlData(a *vm.Args, v value.Slot, path string) (any, error) {
	a.Step(1)
	switch v = value.Flatten(v); v.Kind() {
	case value.KindMap:
		m := make(map[string]any, v.Map().Len())
		var err error
		v.Map().Each(func(k, v value.Slot) bool {
			name := value.Text(k)
			if value.Flatten(v).IsNil() {
				return true
			}
			m[name], err = tomlData(a, v, path+"."+name)
			return err == nil
		})
		return m, err
	case value.KindArray:
		list := make([]any, 0, v.Array().Len)
		array := v.Array()
		for i := range array.Len {
			x, err := tomlData(a, array.At(i), path)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		return list, nil
	case value.KindString:
		return v.AsString(), nil
	case value.KindInt:
		return v.AsInt(), nil
	case value.KindFloat:
		return v.AsFloat(), nil
	case value.KindBool:
		return v.AsBool(), nil
	}
	return nil, formatError(0, 0, "TOML has no nil, but the array `%s` contains one", strings.TrimPrefix(path, "."))
}
