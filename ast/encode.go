package ast

import (
	"encoding/binary"
	"math"
	"reflect"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Encode returns the declarations of a file without syntax errors in the form that Decode reads.
// The decoded tree has no comments, and new ids. It contains a node twice that two fields share.
func Encode(f *File) string {
	e := &encoder{ids: map[ID]ID{}, text: f.Source.String()}
	e.value(reflect.ValueOf(f.Decls))
	return string(append(binary.AppendVarint(nil, int64(len(e.ids))), e.out...))
}

type encoder struct {
	out   []byte
	text  string
	ids   map[ID]ID // new ids
	start source.Pos
	last  ID
}

func (e *encoder) int(n int64)   { e.out = binary.AppendVarint(e.out, n) }
func (e *encoder) uint(n uint64) { e.out = binary.AppendUvarint(e.out, n) }

func (e *encoder) bool(v bool) {
	n := uint64(0)
	if v {
		n = 1
	}
	e.uint(n)
}

// value appends a field. The generated functions of the decoder read the fields in the same order.
func (e *encoder) value(v reflect.Value) {
	switch x := v.Interface().(type) {
	case source.Span:
		e.int(int64(x.Start - e.start))
		e.int(int64(x.End - x.Start))
		e.start = x.Start
		return
	case ID:
		id, ok := e.ids[x]
		if !ok {
			id = ID(len(e.ids))
			e.ids[x] = id
		}
		e.int(int64(id - e.last))
		e.last = id
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		n, _ := v.Interface().(Node)
		tag := tagOf(n)
		e.uint(uint64(tag))
		if tag > 0 {
			e.value(v.Elem().Elem())
		}
	case reflect.Pointer:
		e.bool(!v.IsNil())
		if !v.IsNil() {
			e.value(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			e.value(v.Field(i))
		}
	case reflect.Slice:
		if v.IsNil() {
			e.uint(0)
			return
		}
		e.uint(uint64(v.Len() + 1))
		for i := range v.Len() {
			e.value(v.Index(i))
		}
	case reflect.String:
		if n := uint64(v.Len()) << 1; strings.HasPrefix(e.text[e.start:], v.String()) {
			e.uint(n | 1) // as names are
		} else {
			e.uint(n)
			e.out = append(e.out, v.String()...)
		}
	case reflect.Bool:
		e.bool(v.Bool())
	case reflect.Float64:
		e.uint(math.Float64bits(v.Float()))
	case reflect.Int:
		e.int(v.Int())
	case reflect.Uint8, reflect.Uint64:
		e.int(int64(v.Uint()))
	default:
		panic("ast: a node has a field of type " + v.Type().String())
	}
}
