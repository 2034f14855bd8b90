package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// decode decodes params into v, a pointer. It returns an error if a value has the wrong type or a
// required field is missing.
func decode(params json.RawMessage, v any) *Error {
	if len(params) == 0 || bytes.Equal(params, null) {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, v); err != nil {
		return newError(codeInvalidParams, "invalid params: %v", err)
	}
	if what := missingPath(params, reflect.TypeOf(v).Elem()); what != "" {
		return newError(codeInvalidParams, "missing param `%s`", what)
	}
	return nil
}

// missingPath returns the path of a required field that the value does not contain, or "".
func missingPath(value json.RawMessage, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		if isNull(value) {
			return ""
		}
		return missingPath(value, t.Elem())
	case reflect.Slice:
		var items []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(value, &items) != nil {
			return ""
		}
		for i, x := range items {
			if what := missingPath(x, t.Elem()); what != "" {
				return fmt.Sprintf("%d.%s", i, what)
			}
		}
	case reflect.Struct:
		if t == reflect.TypeFor[protocol.ClientCapabilities]() {
			return "" // a capability that is missing is not supported
		}
		return missingFieldPath(value, t)
	}
	return ""
}

func missingFieldPath(value json.RawMessage, t reflect.Type) string {
	var has map[string]json.RawMessage
	_ = json.Unmarshal(value, &has) // null has no fields
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		v := has[name]
		if isNull(v) {
			if options == "" && f.Type.Kind() != reflect.Pointer && f.Type != reflect.TypeFor[json.RawMessage]() {
				return name
			}
			continue
		}
		if what := missingPath(v, f.Type); what != "" {
			return name + "." + what
		}
	}
	return ""
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || bytes.Equal(v, null) }
