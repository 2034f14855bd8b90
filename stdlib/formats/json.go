// Package formats contains the natives that parse and write JSON, YAML, TOML and CSV.
package formats

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var JSON = native.Table{
	{"json.parse", jsonParse},
	{"json.parse_as", jsonParseAs},
	{"json.stringify", jsonStringify},
	{"json.stringify_pretty", jsonPretty},
	{"json.is_valid", func(a *vm.Args) (value.Slot, error) {
		_, err := value.ParseIn([]byte(a.String(0)), a.Room, a.Pace())
		return value.Bool(err == nil), nil
	}},
}

func jsonParse(a *vm.Args) (value.Slot, error) {
	text := a.String(0)
	data := unsafe.Slice(unsafe.StringData(text), len(text)) // the bytes are only read
	v, err := value.ParseIn(data, a.Room, a.Pace())
	if err != nil {
		return value.Nil, jsonError(err, data)
	}
	return v, nil
}

// jsonError returns the JsonError for a text that is not JSON.
func jsonError(err error, data []byte) error {
	var bad *value.SyntaxError
	if !errors.As(err, &bad) {
		return value.Errorf("JsonError", "%s", err)
	}
	line, column := bad.Place(data)
	return value.Errorf("JsonError", "%s, line %d, column %d", bad.Message, line, column).
		With("offset", value.Int(int64(bad.Offset))).
		With("line", value.Int(int64(line))).
		With("column", value.Int(int64(column)))
}

// jsonParseAs parses JSON as a value of a type. If the text is not JSON, the error contains the
// position. If the JSON does not fit the type, the error contains the fields.
func jsonParseAs(a *vm.Args) (value.Slot, error) {
	v, err := jsonParse(a)
	if err != nil {
		return value.Nil, err
	}
	v, err = native.Convert(a, v, a.Type(1))
	if err != nil {
		return value.Nil, value.Errorf("JsonError", "%s", err)
	}
	return v, nil
}

func jsonStringify(a *vm.Args) (value.Slot, error) {
	return value.StringOwning(value.AppendJSONWithin(nil, a.Slot(0), a.TextBound())), nil
}

func jsonPretty(a *vm.Args) (value.Slot, error) {
	n := a.Int(1)
	if n < 0 || n > 16 {
		return value.Nil, value.Faultf("stringify_pretty: the indent %d must be 0 to 16", n)
	}
	out := indented(a, value.AppendJSONWithin(nil, a.Slot(0), a.TextBound()), strings.Repeat(" ", int(n)))
	return value.StringOwning(out), nil
}

// indented returns compact JSON in the format of json.Indent.
func indented(a *vm.Args, compact []byte, indent string) []byte {
	out := make([]byte, 0, len(compact)+len(compact)/4)
	text := native.Growing{Args: a}
	depth, quoted := 0, false
	line := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, indent...)
		}
	}
	for i := 0; i < len(compact); i++ {
		if i%native.PartSize == 0 {
			a.Pace().Bytes(native.PartSize)
			if err := text.Reserve(len(out), "stringify_pretty"); err != nil {
				panic(err)
			}
		}
		c := compact[i]
		switch {
		case quoted && c == '\\':
			out = append(out, c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			out = append(out, c)
			line()
			continue
		case c == ':':
			out = append(out, c)
			c = ' '
		case c == '{' || c == '[':
			if next := compact[i+1]; next == '}' || next == ']' { // an empty object or array
				out = append(out, c)
				i++
				c = next
				break
			}
			depth++
			out = append(out, c)
			line()
			continue
		case c == '}' || c == ']':
			depth--
			line()
		}
		out = append(out, c)
	}
	return out
}
