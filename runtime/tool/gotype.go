package tool

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// schemaOf returns the JSON Schema of the arguments that a Go type describes.
func schemaOf(name string, t reflect.Type) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b := &schemaBuilder{name: name, root: t, open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}, defs: map[string]any{}}
	var s map[string]any
	switch {
	case t == rawMessage || t.Kind() == reflect.Interface && t.NumMethod() == 0:
		s = map[string]any{"type": "object"}
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(jsonUnmarshaler) && !reflect.PointerTo(t).Implements(textUnmarshaler), t.Kind() == reflect.Map:
		s = b.schema(t, "/parameters", "the arguments")
	default:
		b.addProblem("/parameters", "the arguments must be a struct or a map, not %s", t)
	}
	if b.err != nil {
		return nil, b.err
	}
	if len(b.defs) > 0 {
		s["$defs"] = b.defs
	}
	return jsonwrite.Encode(s)
}

var (
	rawMessage      = reflect.TypeFor[json.RawMessage]()
	timeType        = reflect.TypeFor[time.Time]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// schemaBuilder builds the schema of a type.
type schemaBuilder struct {
	name  string
	root  reflect.Type
	open  map[reflect.Type]bool   // structs whose schema is being built
	names map[reflect.Type]string // names in $defs of structs that contain themselves
	defs  map[string]any
	err   error // first error
}

func (b *schemaBuilder) addProblem(at, format string, args ...any) {
	if b.err == nil {
		b.err = &DefinitionError{b.name, at, fmt.Sprintf(format, args...)}
	}
}

// schema returns the schema of a type. at is the position of the type in the definition. what
// describes the field for errors.
func (b *schemaBuilder) schema(t reflect.Type, at, what string) map[string]any {
	switch {
	case t == rawMessage:
		return map[string]any{}
	case t == timeType:
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return b.schema(t.Elem(), at, what)
	case reflect.PointerTo(t).Implements(jsonUnmarshaler):
		return map[string]any{} // the empty schema allows any value
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(math.MaxInt64 >> (64 - t.Bits()))
		return map[string]any{"type": "integer", "minimum": -most - 1, "maximum": most}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": uint64(math.MaxUint64) >> (64 - t.Bits())}
	case reflect.Struct:
		return b.objectSchema(t, at)
	case reflect.Slice, reflect.Array:
		return b.listSchema(t, at, what)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			b.addProblem(at, "%s: a map with keys of type %s cannot be encoded as JSON; use string keys", what, t.Key())
		}
		return map[string]any{"type": "object", "additionalProperties": b.schema(t.Elem(), at+"/additionalProperties", what)}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return map[string]any{}
		}
	}
	b.addProblem(at, "%s: type %s cannot be encoded as JSON", what, t)
	return nil
}

func (b *schemaBuilder) listSchema(t reflect.Type, at, what string) map[string]any {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return map[string]any{"type": "string", "contentEncoding": "base64"}
	}
	s := map[string]any{"type": "array", "items": b.schema(t.Elem(), at+"/items", what)}
	if t.Kind() == reflect.Array {
		s["minItems"], s["maxItems"] = t.Len(), t.Len()
	}
	return s
}

// objectSchema returns the schema of a struct. For a struct that contains itself, it returns a
// reference to the schema.
func (b *schemaBuilder) objectSchema(t reflect.Type, at string) map[string]any {
	if b.open[t] || b.names[t] != "" {
		return b.refer(t)
	}
	b.open[t] = true
	defer delete(b.open, t)
	properties, required := map[string]any{}, []string{}
	for _, f := range fieldsOf(t) {
		where := at + "/properties/" + strings.ReplaceAll(strings.ReplaceAll(f.name, "~", "~0"), "/", "~1")
		s := b.schema(f.Type, where, "field "+f.Name)
		if b.err != nil {
			return nil
		}
		if f.quoted {
			s = map[string]any{"type": "string"}
		}
		b.tags(s, f, where)
		properties[f.name] = s
		if !f.optional {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	if name := b.names[t]; name != "" {
		b.defs[name] = s
		return b.refer(t)
	}
	return s
}

func (b *schemaBuilder) refer(t reflect.Type) map[string]any {
	if t == b.root {
		return map[string]any{"$ref": "#"}
	}
	if b.names[t] == "" {
		names := slices.Collect(maps.Values(b.names))
		name := t.Name()
		for n := 2; slices.Contains(names, name); n++ {
			name = t.Name() + strconv.Itoa(n)
		}
		b.names[t] = name
	}
	return map[string]any{"$ref": "#/$defs/" + b.names[t]}
}

// field is a member of the JSON form of a struct.
type field struct {
	reflect.StructField
	name             string
	tagged           bool // the name comes from a tag
	optional, quoted bool
	depth            int
}

// fieldsOf returns the members of a struct by the rules of encoding/json. Of several members with
// the same name, the least deeply embedded one is used, then the tagged one. If that is ambiguous,
// none is used.
func fieldsOf(t reflect.Type) []field {
	var all []field
	collect(t, 0, false, map[reflect.Type]bool{}, &all)
	slices.SortStableFunc(all, func(a, b field) int { return strings.Compare(a.name, b.name) })
	var out []field
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		same := all[:n]
		all = all[n:]
		slices.SortStableFunc(same, func(a, b field) int {
			if a.depth != b.depth {
				return a.depth - b.depth
			}
			return fieldRank(a) - fieldRank(b)
		})
		if n == 1 || same[0].depth != same[1].depth || fieldRank(same[0]) != fieldRank(same[1]) {
			out = append(out, same[0])
		}
	}
	return out
}

func fieldRank(f field) int {
	if f.tagged {
		return 0
	}
	return 1
}

func collect(t reflect.Type, depth int, optional bool, within map[reflect.Type]bool, out *[]field) {
	if within[t] {
		return
	}
	within[t] = true
	defer delete(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		has := func(o string) bool { return slices.Contains(strings.Split(options, ","), o) }
		inner, pointer := f.Type, false
		if inner.Kind() == reflect.Pointer {
			inner, pointer = inner.Elem(), true
		}
		if f.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if f.IsExported() || !pointer {
				collect(inner, depth+1, optional || pointer, within, out)
			}
			continue
		}
		if !f.IsExported() {
			continue
		}
		x := field{StructField: f, name: name, tagged: name != "", depth: depth, quoted: has("string"),
			optional: optional || pointer || has("omitempty") || has("omitzero")}
		if name == "" {
			x.name = f.Name
		}
		*out = append(*out, x)
	}
}

// tags applies a field's tags to its schema.
func (b *schemaBuilder) tags(s map[string]any, f field, at string) {
	if doc := f.Tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	for _, k := range []string{"pattern", "format"} {
		if v := f.Tag.Get(k); v != "" {
			s[k] = v
		}
	}
	switch v := f.Tag.Get("redact"); v {
	case "", "false":
	case "true":
		s["writeOnly"] = true
	default:
		b.addProblem(at, "field %s: redact is \"true\" or \"false\", not %q", f.Name, v)
	}
	b.addBound(s, f, at, "min", map[any]string{"string": "minLength", "array": "minItems", "object": "minProperties"}, "minimum")
	b.addBound(s, f, at, "max", map[any]string{"string": "maxLength", "array": "maxItems", "object": "maxProperties"}, "maximum")
	list, ok := f.Tag.Lookup("enum")
	if !ok {
		return
	}
	var values []any
	for _, text := range strings.Split(list, ",") {
		switch v := json.RawMessage(text); {
		case s["type"] == "string":
			values = append(values, text)
		case json.Valid(v):
			values = append(values, v)
		default:
			b.addProblem(at, "field %s: enum has %q, which is not a value of type %s", f.Name, text, f.Type)
		}
	}
	s["enum"] = values
}

func (b *schemaBuilder) addBound(s map[string]any, f field, at, tag string, sizes map[any]string, keyword string) {
	v, ok := f.Tag.Lookup(tag)
	if !ok {
		return
	}
	if size := sizes[s["type"]]; size != "" {
		keyword = size
	}
	if _, err := strconv.ParseFloat(v, 64); err != nil || !json.Valid([]byte(v)) {
		b.addProblem(at, "field %s: %s must be a number, not %q", f.Name, tag, v)
		return
	}
	s[keyword] = json.RawMessage(v)
}
