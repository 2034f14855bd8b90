package stdlib

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var collectionsNatives = native.Table{
	{"collections.__key", func(a *vm.Args) (value.Slot, error) { return keyOf(a, a.Slot(0)), nil }},
}

// keyOf returns a map key for a value. Equal values have equal keys. Strings, Ints and Bools are
// their own keys. A Float that is an integer has the same key as the equal Int. The key of any
// other value is a String that begins with NUL, and so is the key of a String that itself begins
// with NUL.
func keyOf(a *vm.Args, s value.Slot) value.Slot {
	s = value.Flatten(s)
	switch s.Kind() {
	case value.KindInt, value.KindBool:
		return s
	case value.KindFloat:
		if n, ok := integral(s.AsFloat()); ok {
			return value.Int(n)
		}
	case value.KindString:
		if text := s.AsString(); text == "" || text[0] != 0 {
			return s
		}
	}
	return value.String("\x00" + string(keyWriter{a}.append(nil, s, 0)))
}

// integral returns the Int that equals f. ok is false if there is none.
func integral(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// keyWriter writes the text of keys.
type keyWriter struct{ a *vm.Args }

// append appends the text of a value. Two values have the same text exactly if they are equal. The
// text is ASCII except for Strings, which are written with their length.
func (w keyWriter) append(dst []byte, s value.Slot, depth int) []byte {
	if depth > 10_000 {
		panic(value.Faultf("the value is nested too deeply"))
	}
	w.a.Step(1)
	s = value.Flatten(s)
	list := func(tag byte, slots []value.Slot) []byte {
		dst = append(dst, tag)
		dst = strconv.AppendInt(dst, int64(len(slots)), 10)
		for _, x := range slots {
			dst = w.append(dst, x, depth+1)
		}
		return dst
	}
	switch k := s.Kind(); k {
	case value.KindNil:
		return append(dst, 'n')
	case value.KindBool:
		return strconv.AppendBool(dst, s.AsBool())
	case value.KindInt:
		return strconv.AppendInt(append(dst, 'i'), s.AsInt(), 10)
	case value.KindFloat:
		if n, ok := integral(s.AsFloat()); ok {
			return strconv.AppendInt(append(dst, 'i'), n, 10)
		}
		return strconv.AppendFloat(append(dst, 'f'), s.AsFloat(), 'g', -1, 64)
	case value.KindString:
		text := s.AsString()
		w.a.Pace().Bytes(len(text) >> 2)
		dst = strconv.AppendInt(append(dst, 's'), int64(len(text)), 10)
		return append(append(dst, ':'), text...)
	case value.KindArray:
		slots := make([]value.Slot, s.Array().Len)
		for i := range slots {
			slots[i] = s.Array().At(i)
		}
		return list('[', slots)
	case value.KindMap:
		return w.appendMap(dst, s.Map(), depth)
	case value.KindTuple:
		return list('(', s.Fields())
	case value.KindRange:
		return fmt.Appendf(dst, "r%s", value.Text(s))
	case value.KindStruct:
		dst = fmt.Appendf(dst, "{%p", s.Type())
		return list(':', s.Fields()[:len(s.Type().Fields)]) // the source of an error does not affect equality
	case value.KindEnum:
		if !s.IsResult() {
			dst = fmt.Appendf(dst, "e%p", s.Type())
		}
		dst = strconv.AppendInt(append(dst, 'v'), int64(s.Variant()), 10)
		return list(':', s.Fields())
	case value.KindAgent, value.KindHost:
		dst = fmt.Appendf(dst, "a%p", s.Type())
		return list(':', s.Fields())
	default: // references to objects
		return fmt.Appendf(dst, "p%p", s.Ref)
	}
}

// appendMap appends the entries of a map in the order of their keys, because the order of the
// entries does not affect equality.
func (w keyWriter) appendMap(dst []byte, m *value.Map, depth int) []byte {
	var entries []string
	m.Each(func(k, v value.Slot) bool {
		entries = append(entries, string(w.append(w.append(nil, k, depth+1), v, depth+1)))
		return true
	})
	sortStable(w.a.Pace(), entries, strings.Compare)
	dst = strconv.AppendInt(append(dst, 'm'), int64(len(entries)), 10)
	for _, e := range entries {
		dst = append(dst, e...)
	}
	return dst
}
