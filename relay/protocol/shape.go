package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// kind is the JSON type of a value.
type kind uint8

const (
	anything kind = iota
	text
	integer
	number
	boolean
	array
	object // a struct, or a map whose values have one shape
)

var kindNames = [...]string{anything: "any value", text: "a string", integer: "an integer", number: "a number", boolean: "a boolean", array: "an array", object: "an object"}

func (k kind) String() string { return kindNames[k] }

// shape describes the valid values of a field. It is derived from a Go type and its struct tags.
type shape struct {
	kind   kind
	fields []field // fields of a struct
	each   *shape  // shape of the elements of an array or map

	enum         []string
	form         string // id, sha256 or time; "" for any text
	bytes, chars int64  // maximum length; 0 for no limit
	items        int64
	from, to     int64 // valid only if bounded is true
	bounded      bool
}

// field is a member of an object.
type field struct {
	name     string
	required bool
	doc      string
	shape    *shape
}

var shapes sync.Map // shapes by reflect.Type of the struct

// shapeOf returns the shape of a struct. It caches the shape.
func shapeOf(v any) *shape {
	t := reflect.TypeOf(v)
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, shapeOfType(t))
	return s.(*shape)
}

func shapeOfType(t reflect.Type) *shape {
	if t == reflect.TypeFor[json.RawMessage]() {
		return &shape{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOfType(t.Elem())
	case reflect.String:
		return &shape{kind: text}
	case reflect.Int64:
		return &shape{kind: integer}
	case reflect.Float64:
		return &shape{kind: number}
	case reflect.Bool:
		return &shape{kind: boolean}
	case reflect.Slice:
		return &shape{kind: array, each: shapeOfType(t.Elem())}
	case reflect.Map:
		return &shape{kind: object, each: shapeOfType(t.Elem())}
	case reflect.Struct:
		return &shape{kind: object, fields: fieldsOf(t)}
	}
	panic(fmt.Sprintf("protocol: a message has a %s", t))
}

func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			all = append(all, fieldsOf(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := shapeOfType(f.Type)
		out := field{name: name, doc: f.Tag.Get("doc"), shape: s}
		for _, word := range strings.Fields(f.Tag.Get("is")) {
			if word == "required" {
				out.required = true
				continue
			}
			s.applyTag(t.Name()+"."+f.Name, word)
		}
		all = append(all, out)
	}
	return all
}

// applyTag applies one word of a struct tag.
func (s *shape) applyTag(of, word string) {
	name, value, _ := strings.Cut(word, "=")
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case name == "enum":
		s.enum = strings.Split(value, "|")
		return
	case word == "id" || word == "sha256" || word == "time":
		s.form = word
		return
	case word == "object":
		s.kind = object
		return
	case err != nil:
		panic(fmt.Sprintf("protocol: the tag of %s has the unknown rule %q", of, word))
	}
	switch name {
	case "bytes":
		s.bytes = n
	case "chars":
		s.chars = n
	case "items":
		s.items = n
	case "from":
		s.from, s.bounded = n, true
	case "to":
		s.to = n
	default:
		panic(fmt.Sprintf("protocol: the tag of %s has the unknown rule %q", of, word))
	}
}
