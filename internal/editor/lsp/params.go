package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// decode decodes params into v, a pointer, and reports what does not fit.
func decode(params json.RawMessage, v any) *Error {
	if len(params) == 0 || bytes.Equal(params, null) {
		params = json.RawMessage("{}")
	}
	if err := json.Unmarshal(params, v); err != nil {
		return failed(codeInvalidParams, "the params do not fit: %v", err)
	}
	if what := lacks(params, reflect.TypeOf(v).Elem()); what != "" {
		return failed(codeInvalidParams, "the params have no `%s`", what)
	}
	return nil
}

// lacks returns the path of a field that the type demands and the value does not have; "" when it
// has all.
func lacks(value json.RawMessage, t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		if isNull(value) {
			return ""
		}
		return lacks(value, t.Elem())
	case reflect.Slice:
		var items []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(value, &items) != nil {
			return ""
		}
		for i, x := range items {
			if what := lacks(x, t.Elem()); what != "" {
				return fmt.Sprintf("%d.%s", i, what)
			}
		}
	case reflect.Struct:
		if t == reflect.TypeFor[protocol.ClientCapabilities]() {
			return "" // a missing capability is not supported
		}
		return lacksField(value, t)
	}
	return ""
}

func lacksField(value json.RawMessage, t reflect.Type) string {
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
		if what := lacks(v, f.Type); what != "" {
			return name + "." + what
		}
	}
	return ""
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || bytes.Equal(v, null) }
