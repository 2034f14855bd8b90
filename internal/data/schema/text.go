package schema

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Text returns the JSON Schema of t as compact JSON, which is always the same for a type. Doc
// comments become descriptions. Optional fields and fields with a default are not required. String
// unions, and enums without payloads, become `enum`. A recursive type becomes a `$ref` to the root
// or to an entry in `$defs`.
func Text(t *value.Type) []byte {
	return (&writer{root: t, names: map[*value.Type]string{}}).text()
}

// Output returns the JSON Schema of values of t as programs encode them. A missing field of an
// Option type is null there, while Text requires that it is omitted.
func Output(t *value.Type) []byte {
	return (&writer{root: t, names: map[*value.Type]string{}, written: true}).text()
}

func (w *writer) text() []byte {
	w.write(w.root, "", true)
	if len(w.defs) == 0 {
		return w.out
	}
	w.out = append(w.out[:len(w.out)-1], `,"$defs":{`...)
	for i := 0; i < len(w.defs); i++ { // writing a definition may add further ones
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.string(w.names[w.defs[i]])
		w.out = append(w.out, ':')
		w.write(w.defs[i], "", true)
	}
	w.out = append(w.out, '}', '}')
	return w.out
}

// Object returns the JSON Schema of an object with these members, such as the parameters of a
// tool's function.
func Object(fields []value.Field) []byte {
	return Text(&value.Type{Kind: value.TypeStruct, Fields: fields})
}

type writer struct {
	out   []byte
	root  *value.Type
	defs  []*value.Type // recursive types except the root
	names map[*value.Type]string

	written bool // the schema describes output, not input
}

func (w *writer) raw(s string)    { w.out = append(w.out, s...) }
func (w *writer) string(s string) { w.out = value.AppendString(w.out, s) }

// describe adds the description, if there is one, and closes the object.
func (w *writer) describe(doc string) {
	if doc != "" {
		if w.out[len(w.out)-1] != '{' {
			w.raw(",")
		}
		w.raw(`"description":`)
		w.string(doc)
	}
	w.raw("}")
}

// write appends the schema of t. doc is the description of the field, which takes precedence over
// that of the type. A recursive type is a reference unless definition is set.
func (w *writer) write(t *value.Type, doc string, definition bool) {
	if !definition && isRecursive(t) {
		w.raw(`{"$ref":`)
		w.string(w.reference(t))
		w.describe(doc)
		return
	}
	if doc == "" {
		doc = t.Doc
	}
	switch t.Kind {
	case value.TypeInt:
		w.raw(`{"type":"integer"`)
	case value.TypeFloat:
		w.raw(`{"type":"number"`)
	case value.TypeString:
		w.raw(`{"type":"string"`)
	case value.TypeBool:
		w.raw(`{"type":"boolean"`)
	case value.TypeNil:
		w.raw(`{"type":"null"`)
	case value.TypeUnion:
		w.raw(`{"type":"string","enum":`)
		w.list(len(t.Values), func(i int) { w.string(t.Values[i]) })
	case value.TypeArray:
		w.raw(`{"type":"array","items":`)
		w.write(arg(t, 0), "", false)
	case value.TypeMap:
		w.raw(`{"type":"object","additionalProperties":`)
		w.write(arg(t, 1), "", false)
	case value.TypeTuple:
		w.raw(`{"type":"array","prefixItems":`)
		w.list(len(t.Args), func(i int) { w.write(t.Args[i], "", false) })
		n := strconv.Itoa(len(t.Args))
		w.raw(`,"minItems":` + n + `,"maxItems":` + n)
	case value.TypeOption:
		w.raw(`{"anyOf":[`)
		w.write(arg(t, 0), "", false)
		w.raw(`,{"type":"null"}]`)
	case value.TypeResult:
		w.raw(`{"anyOf":[`)
		w.member("ok", arg(t, 0))
		w.raw(",")
		w.member("err", arg(t, 1))
		w.raw("]")
	case value.TypeStruct, value.TypeSchema:
		w.object(t.Fields)
	case value.TypeEnum:
		w.enum(t)
	default:
		w.raw("{")
	}
	w.describe(doc)
}

func arg(t *value.Type, i int) *value.Type {
	if i < len(t.Args) {
		return t.Args[i]
	}
	return value.AnyType
}

func (w *writer) list(n int, each func(int)) {
	w.raw("[")
	for i := range n {
		if i > 0 {
			w.raw(",")
		}
		each(i)
	}
	w.raw("]")
}

// object appends the schema of an object, without the closing brace.
func (w *writer) object(fields []value.Field) {
	w.raw(`{"type":"object","properties":{`)
	var required []string
	for i := range fields {
		f := &fields[i]
		if i > 0 {
			w.raw(",")
		}
		w.string(f.Name)
		w.raw(":")
		t := f.Type
		if t.Kind == value.TypeOption && !w.written {
			t = arg(t, 0)
		}
		w.write(t, f.Doc, false)
		if f.HasDefault {
			w.out = w.out[:len(w.out)-1]
			if w.out[len(w.out)-1] != '{' {
				w.raw(",")
			}
			w.raw(`"default":`)
			w.out = append(value.AppendJSON(w.out, f.Default), '}')
		} else if !isOptional(f) {
			required = append(required, f.Name)
		}
	}
	w.raw(`},"required":`)
	w.list(len(required), func(i int) { w.string(required[i]) })
	w.raw(`,"additionalProperties":false`)
}

// enum appends the schema of an enum, without the closing brace.
func (w *writer) enum(t *value.Type) {
	var units []string
	for i := range t.Variants {
		if len(t.Variants[i].Fields) == 0 {
			units = append(units, t.Variants[i].Name)
		}
	}
	names := func() {
		w.raw(`{"type":"string","enum":`)
		w.list(len(units), func(i int) { w.string(units[i]) })
	}
	if len(units) == len(t.Variants) {
		names()
		return
	}
	w.raw(`{"anyOf":[`)
	if len(units) > 0 {
		names()
		w.raw("},")
	}
	for i := range t.Variants {
		if v := &t.Variants[i]; len(v.Fields) > 0 {
			w.raw(`{"type":"object","properties":{"variant":{"const":`)
			w.string(v.Name)
			w.raw(`},"data":`)
			w.payload(v)
			w.raw(`},"required":["variant","data"],"additionalProperties":false},`)
		}
	}
	w.out = append(w.out[:len(w.out)-1], ']')
}

func (w *writer) payload(v *value.Variant) {
	switch {
	case v.Named:
		w.object(v.Fields)
		w.raw("}")
	case len(v.Fields) == 1:
		w.write(v.Fields[0].Type, "", false)
	default:
		parts := make([]*value.Type, len(v.Fields))
		for i := range parts {
			parts[i] = v.Fields[i].Type
		}
		w.write(&value.Type{Kind: value.TypeTuple, Args: parts}, "", false)
	}
}

func (w *writer) member(name string, t *value.Type) {
	w.object([]value.Field{{Name: name, Type: t}})
	w.raw("}")
}

// reference returns the `$ref` of a recursive type, and adds its definition if necessary.
func (w *writer) reference(t *value.Type) string {
	if t == w.root {
		return "#"
	}
	name, ok := w.names[t]
	if !ok {
		name = t.Name
		for n := 2; w.isNameUsed(name); n++ {
			name = t.Name + strconv.Itoa(n)
		}
		w.names[t] = name
		w.defs = append(w.defs, t)
	}
	return "#/$defs/" + name
}

func (w *writer) isNameUsed(name string) bool {
	for _, n := range w.names {
		if n == name {
			return true
		}
	}
	return false
}

// isRecursive reports whether a named type contains itself.
func isRecursive(t *value.Type) bool {
	if t.Kind != value.TypeStruct && t.Kind != value.TypeSchema && t.Kind != value.TypeEnum {
		return false
	}
	seen := map[*value.Type]bool{}
	var reaches func(*value.Type) bool
	reaches = func(x *value.Type) bool {
		for _, y := range parts(x) {
			if y == t {
				return true
			}
			if !seen[y] {
				seen[y] = true
				if reaches(y) {
					return true
				}
			}
		}
		return false
	}
	return reaches(t)
}

// parts returns the types of the fields and elements of t.
func parts(t *value.Type) []*value.Type {
	out := append([]*value.Type(nil), t.Args...)
	for i := range t.Fields {
		out = append(out, t.Fields[i].Type)
	}
	for i := range t.Variants {
		for j := range t.Variants[i].Fields {
			if ft := t.Variants[i].Fields[j].Type; ft != nil {
				out = append(out, ft)
			}
		}
	}
	return out
}
