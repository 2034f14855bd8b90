package stdlib

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unsafe"

	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var jsonNatives = []native{
	{"json.parse", jsonParse},
	{"json.parse_as", jsonParseAs},
	{"json.stringify", jsonStringify},
	{"json.stringify_pretty", jsonPretty},
	{"json.is_valid", func(a *vm.Args) (value.Slot, error) {
		_, err := value.Parse([]byte(a.String(0)))
		return value.Bool(err == nil), nil
	}},
}

func jsonParse(a *vm.Args) (value.Slot, error) {
	text := a.String(0)
	data := unsafe.Slice(unsafe.StringData(text), len(text)) // only read
	v, err := value.ParseIn(data, a.Room)
	if err != nil {
		return value.Nil, jsonError(err, data)
	}
	return v, nil
}

// jsonError makes the JsonError of a text that is not JSON.
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

// jsonParseAs tells a text that is not JSON, whose place is known, from JSON
// that does not fit the type, whose fields are named.
func jsonParseAs(a *vm.Args) (value.Slot, error) {
	data := []byte(a.String(0))
	if _, err := value.Parse(data); err != nil {
		return value.Nil, jsonError(err, data)
	}
	v, err := decode(data, a.Type(1))
	if err != nil {
		return value.Nil, value.Errorf("JsonError", "%s", err)
	}
	return v, nil
}

func jsonStringify(a *vm.Args) (value.Slot, error) {
	return value.StringTaking(value.AppendJSONWithin(nil, a.Slot(0), a.TextBound())), nil
}

func jsonPretty(a *vm.Args) (value.Slot, error) {
	n := a.Int(1)
	if n < 0 || n > 16 {
		return value.Nil, value.Faultf("stringify_pretty: the indent %d must be 0 to 16", n)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, value.AppendJSONWithin(nil, a.Slot(0), a.TextBound()), "", strings.Repeat(" ", int(n))); err != nil {
		return value.Nil, value.Faultf("stringify_pretty: %s", err)
	}
	return value.String(out.String()), nil
}
