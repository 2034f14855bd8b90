package jsonread

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// kind says how a value is read.
type kind uint8

const (
	asOther kind = iota // by encoding/json
	asText
	asInt
	asBool
	asRaw
	asPointer
	asList
	asObject
)

// plan says how values of a type are read.
type plan struct {
	kind   kind
	elem   *plan // of a pointer or list
	fields []field
}

type field struct {
	name  string
	index []int // more than one: within structs that are embedded
	plan  *plan
}

var plans sync.Map // of reflect.Type to *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := planner{}.of(t)
	plans.Store(t, p)
	return p
}

// planner has the plans of a type and what it holds, which may be itself.
type planner map[reflect.Type]*plan

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textual     = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
)

func (all planner) of(t reflect.Type) *plan {
	if p := all[t]; p != nil {
		return p
	}
	p := &plan{}
	all[t] = p
	own := reflect.PointerTo(t)
	switch {
	case t == rawMessage:
		p.kind = asRaw
	case own.Implements(unmarshaler), own.Implements(textual):
	case t.Kind() == reflect.String:
		p.kind = asText
	case t.Kind() == reflect.Bool:
		p.kind = asBool
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		p.kind = asInt
	case t.Kind() == reflect.Pointer:
		p.kind, p.elem = asPointer, all.of(t.Elem())
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		p.kind, p.elem = asList, all.of(t.Elem())
	case t.Kind() == reflect.Struct:
		if all.add(p, t, nil) {
			p.kind = asObject
		}
	}
	return p
}

// mostFields is how many fields a struct may have.
const mostFields = 64

// add adds the fields of a struct to a plan. It gives false where encoding/json has
// rules that are not known here.
func (all planner) add(p *plan, t reflect.Type, within []int) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(within[:len(within):len(within)], i)
		switch {
		case tag == "-":
			continue
		case f.Anonymous && !tagged && f.Type.Kind() == reflect.Struct && !reflect.PointerTo(f.Type).Implements(unmarshaler):
			if !all.add(p, f.Type, index) {
				return false
			}
			continue
		case f.Anonymous, strings.Contains(options, "string"):
			return false
		case !f.IsExported():
			continue
		case name == "":
			name = f.Name
		}
		if p.field([]byte(name)) >= 0 || p.folds([]byte(name)) || len(p.fields) == mostFields {
			return false
		}
		p.fields = append(p.fields, field{name, index, all.of(f.Type)})
	}
	return true
}

// field finds a field, -1 where there is none of that name.
func (p *plan) field(name []byte) int {
	for i := range p.fields {
		if p.fields[i].name == string(name) {
			return i
		}
	}
	return -1
}

// folds says that a field's name differs from name in the case of letters only:
// encoding/json takes it for that.
func (p *plan) folds(name []byte) bool {
	for i := range p.fields {
		if f := &p.fields[i]; strings.EqualFold(f.name, string(name)) {
			return true
		}
	}
	return false
}
