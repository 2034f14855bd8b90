package value

import (
	"math"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// AppendJSON appends s as compact JSON (spec/11-emit.md). Floats without a fraction have `.0`, inf
// and NaN are null, keys keep their order, and references are their text.
//
// It panics with a *Fault, like all functions that visit nested values, if a value is nested deeper
// than maxNesting, or if the text would be longer than MaxText. The text can be much longer than
// the value in memory if the value contains another one several times. The VM converts the panic to
// a fault of the program.
func AppendJSON(dst []byte, s Slot) []byte { return appendJSON(dst, s, nest{bound: &unbound}) }

// AppendJSONWithin is like AppendJSON with a Bound.
func AppendJSONWithin(dst []byte, s Slot, b *Bound) []byte {
	return appendJSON(dst, s, nest{bound: b})
}

// Bound limits the length of a text, and can interrupt its creation by a Pace. A longer text panics
// with Exceeded.
type Bound struct {
	Max      int    // maximum length in bytes; 0 means MaxText
	Exceeded *Fault // nil if Max is 0
	Pace     *Pace
}

var unbound Bound

// nest contains the depth of the value that is being encoded, and the bound of the whole text.
type nest struct {
	depth int
	bound *Bound
}

func (n nest) in() nest { return nest{n.depth + 1, n.bound} }

func (n nest) check(dst []byte) {
	if n.depth > maxNesting {
		panicTooDeep()
	}
	if len(dst) > MaxText {
		panic(Faultf("the text would be longer than 1 GiB"))
	}
	if n.bound.Max > 0 && len(dst) > n.bound.Max {
		panic(n.bound.Exceeded)
	}
	n.bound.Pace.Step(1)
}

// room returns the capacity to allocate for an estimated length in bytes. It is less than the
// limit, because the text may be shorter than estimated.
func (n nest) room(bytes int) int {
	bytes += bytes / 32 // later numbers in an array are often longer
	if n.bound.Max > 0 {
		return min(bytes, n.bound.Max/4)
	}
	return min(bytes, MaxText)
}

// maxNesting is the maximum depth of values that are encoded or compared. Deeper values could
// exceed the limit of Go's stack.
const maxNesting = 100_000

func panicTooDeep() { panic(&Fault{"the value is nested too deeply"}) }

func appendJSON(dst []byte, s Slot, at nest) []byte {
	at.check(dst)
	switch s.Kind() {
	case KindNil:
		return append(dst, "null"...)
	case KindInt:
		return strconv.AppendInt(dst, s.AsInt(), 10)
	case KindFloat:
		if f := s.AsFloat(); math.IsInf(f, 0) || math.IsNaN(f) {
			return append(dst, "null"...)
		}
		return AppendFloat(dst, s.AsFloat())
	case KindBool:
		return strconv.AppendBool(dst, s.AsBool())
	case KindString:
		return at.appendString(dst, s.AsString())
	case KindArray:
		return appendArray(dst, s.Array(), at.in())
	case KindMap:
		return appendMap(dst, s.Map(), at.in())
	case KindTuple:
		return appendList(dst, s.Fields(), at.in())
	case KindStruct:
		return appendStruct(dst, s, at.in())
	case KindEnum:
		return appendEnum(dst, s, at.in())
	case KindSome:
		return appendJSON(dst, Unwrap(s), at.in())
	}
	return AppendString(dst, string(appendText(nil, s, at.in())))
}

// arraySample is the number of elements from which the length of an array's text is estimated.
const arraySample = 64

func appendArray(dst []byte, a *Array, at nest) []byte {
	dst = append(dst, '[')
	open := len(dst)
	for i := range a.Len {
		if i == arraySample { // allocates memory for the whole array, assuming that the rest is similar
			dst = slices.Grow(dst, at.room((len(dst)-open)/arraySample*(a.Len-i)))
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, a.At(i), at)
	}
	return append(dst, ']')
}

func appendList(dst []byte, slots []Slot, at nest) []byte {
	dst = append(dst, '[')
	for i, s := range slots {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, s, at)
	}
	return append(dst, ']')
}

func appendMap(dst []byte, m *Map, at nest) []byte {
	dst = append(dst, '{')
	open := len(dst)
	for i := range m.entries {
		e := &m.entries[i]
		if e.dead() {
			continue
		}
		if len(dst) > open {
			dst = append(dst, ',')
		}
		if e.key.Kind() == KindString {
			dst = at.appendString(dst, e.key.AsString())
		} else {
			dst = append(dst, '"')
			dst = appendJSON(dst, e.key, at)
			dst = append(dst, '"')
		}
		dst = append(dst, ':')
		dst = appendJSON(dst, e.value, at)
	}
	return append(dst, '}')
}

// appendElements appends an array, or the values of a map as an array.
func appendElements(dst []byte, s Slot, at nest) []byte {
	m := s.Map()
	if m == nil {
		return appendJSON(dst, s, at)
	}
	dst = append(dst, '[')
	open := len(dst)
	m.Each(func(_, v Slot) bool {
		if len(dst) > open {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, v, at)
		return true
	})
	return append(dst, ']')
}

func appendStruct(dst []byte, s Slot, at nest) []byte {
	t := s.Type()
	if t.Members && len(t.Fields) > 0 {
		return appendJSON(dst, s.Fields()[len(t.Fields)-1], at)
	}
	if t.Elements && len(t.Fields) > 0 {
		return appendElements(dst, s.Fields()[0], at)
	}
	dst = append(dst, '{')
	open := len(dst)
	for i, f := range s.Fields()[:len(t.Fields)] {
		if t.Fields[i].LeftOut(f) {
			continue
		}
		if len(dst) > open {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, t.Fields[i].Name)
		dst = append(dst, ':')
		dst = appendJSON(dst, f, at)
		if i == 0 && t.Kind == TypeError {
			dst = append(dst, `,"kind":`...)
			dst = AppendString(dst, t.Name)
		}
	}
	return append(dst, '}')
}

func appendEnum(dst []byte, s Slot, at nest) []byte {
	t := s.Type()
	slots := s.Fields()
	if t.Kind == TypeResult {
		if s.Variant() == VariantOk {
			dst = append(dst, `{"ok":`...)
		} else {
			dst = append(dst, `{"err":`...)
		}
		return append(appendJSON(dst, slots[0], at), '}')
	}
	v := &t.Variants[s.Variant()]
	if len(slots) == 0 {
		return AppendString(dst, v.Name)
	}
	dst = append(dst, `{"variant":`...)
	dst = AppendString(dst, v.Name)
	dst = append(dst, `,"data":`...)
	switch {
	case v.Named:
		for i, f := range slots {
			dst = append(dst, "{,"[min(i, 1)])
			dst = AppendString(dst, v.Fields[i].Name)
			dst = append(dst, ':')
			dst = appendJSON(dst, f, at)
		}
		dst = append(dst, '}')
	case len(slots) == 1:
		dst = appendJSON(dst, slots[0], at)
	default:
		dst = appendList(dst, slots, at)
	}
	return append(dst, '}')
}

// AppendFloat appends the shortest text that is parsed as f. It adds `.0` if the text would be an
// Int. inf and NaN are `inf`, `-inf` and `NaN`.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
		if n := len(dst); dst[n-2] == '0' && dst[n-3] == '-' { // 1e-07 becomes 1e-7
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[from:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

// AppendString appends text as a JSON string without HTML escapes. Invalid UTF-8 becomes the
// replacement character.
func AppendString(dst []byte, text string) []byte { return jsonwrite.Plain.Append(dst, text) }

// appendString is like AppendString, and the Pace can interrupt it.
func (n nest) appendString(dst []byte, text string) []byte {
	if len(text) <= paceWindow {
		n.bound.Pace.Bytes(len(text))
		return AppendString(dst, text)
	}
	dst = append(dst, '"')
	for part := range n.bound.Pace.Windows(text) {
		n.check(dst)
		dst = jsonwrite.Plain.AppendEscaped(dst, part)
	}
	return append(dst, '"')
}
