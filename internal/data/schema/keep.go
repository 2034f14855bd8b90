package schema

import (
	"fmt"
	"math"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Keep writes a value of type t so that Kept reads the same value back: by the
// JSON mapping (spec/11-emit.md), and where that would lose something
//
//   - a Float that is no number is the string "NaN", "inf" or "-inf",
//   - Some(x) is {"some":x} where x may be nil,
//   - an Any must be of what JSON has: nil, a Bool, an Int, a finite Float, a
//     String, an array, or a map with Strings as keys.
//
// The error says what cannot be written, and where in the value it is.
func Keep(s value.Slot, t *value.Type) ([]byte, error) { return KeepIn(nil, s, t) }

// KeepIn is Keep under a pace.
func KeepIn(pace *value.Pace, s value.Slot, t *value.Type) ([]byte, error) {
	k := keeper{pace: pace}
	k.put(s, t, nil)
	if k.err != nil {
		return nil, k.err
	}
	return k.dst, nil
}

// Kept reads a value that Keep has written. The type may have changed since: a
// new field gets its default, a field that t no longer has is ignored. The value
// is good only when there are no errors.
func Kept(raw []byte, t *value.Type) (value.Slot, []FieldError) { return KeptIn(nil, raw, t) }

// KeptIn is Kept under a pace.
func KeptIn(pace *value.Pace, raw []byte, t *value.Type) (value.Slot, []FieldError) {
	s, err := value.ParseIn(raw, nil, pace)
	if err != nil {
		return value.Nil, []FieldError{{"", "not valid JSON: " + err.Error()}}
	}
	c := converter{pace: pace, fresh: true, kept: true}
	return c.convert(s, t, nil), c.errs
}

// wrapped reports whether Some(x) with x of type t is encoded as {"some":…}: if x may be nil.
func wrapped(t *value.Type) bool {
	return t.Kind == value.TypeOption || t.Kind == value.TypeNil || t.Kind == value.TypeAny
}

// keptOption reads an Option of such a type.
func (c *converter) keptOption(s value.Slot, t *value.Type, p *path) value.Slot {
	if s.IsNil() {
		return s
	}
	if m := s.Map(); m != nil && m.Len() == 1 {
		if v, ok := m.GetString("some"); ok {
			return value.Some(c.convert(v, t.Args[0], p))
		}
	}
	return c.misfit(p, t, s)
}

// keptFloat reads a Float that is no number.
func keptFloat(s value.Slot) (value.Slot, bool) {
	if s.Kind() == value.KindString {
		switch s.AsString() {
		case "NaN":
			return value.Float(math.NaN()), true
		case "inf":
			return value.Float(math.Inf(1)), true
		case "-inf":
			return value.Float(math.Inf(-1)), true
		}
	}
	return value.Nil, false
}

// keeper writes one value.
type keeper struct {
	pace  *value.Pace
	dst   []byte
	depth int // of arrays and objects
	err   error
}

func (k *keeper) fail(p *path, format string, args ...any) {
	if k.err == nil {
		k.err = FieldError{p.String(), fmt.Sprintf(format, args...)}
	}
}

func (k *keeper) text(s string) { k.dst = append(k.dst, s...) }

// within writes brackets around what write writes.
func (k *keeper) within(brackets string, p *path, write func()) {
	if k.depth++; k.depth > maxDepth {
		k.fail(p, "nested too deeply")
		k.depth--
		return
	}
	k.dst = append(k.dst, brackets[0])
	write()
	k.dst = append(k.dst, brackets[1])
	k.depth--
}

// separate writes the comma before element i.
func (k *keeper) separate(i int) {
	if i > 0 {
		k.dst = append(k.dst, ',')
	}
}

func (k *keeper) put(s value.Slot, t *value.Type, p *path) {
	if k.err != nil {
		return
	}
	switch t.Kind {
	case value.TypeAny:
		k.any(s, p)
		return
	case value.TypeNil, value.TypeInt, value.TypeBool, value.TypeString, value.TypeUnion:
		if want, ok := kinds[t.Kind]; !ok && s.Kind() == value.KindString || ok && s.Kind() == want {
			k.plain(s)
			return
		}
	case value.TypeFloat:
		if s.Kind() == value.KindFloat {
			k.float(s)
			return
		}
	case value.TypeOption:
		k.option(s, t, p)
		return
	case value.TypeArray:
		if a := s.Array(); a != nil && len(t.Args) > 0 {
			k.within("[]", p, func() { k.list(a.Len, a.At, func(int) *value.Type { return t.Args[0] }, p) })
			return
		}
	case value.TypeMap:
		if m := s.Map(); m != nil && len(t.Args) > 1 {
			k.mapping(m, t.Args[0], t.Args[1], p)
			return
		}
	case value.TypeTuple:
		if parts := s.Fields(); s.Kind() == value.KindTuple && len(parts) == len(t.Args) {
			k.within("[]", p, func() {
				k.list(len(parts), func(i int) value.Slot { return parts[i] }, func(i int) *value.Type { return t.Args[i] }, p)
			})
			return
		}
	case value.TypeStruct, value.TypeSchema:
		if s.Kind() == value.KindStruct && len(s.Fields()) >= len(t.Fields) && s.Type().Name == t.Name {
			k.fields(s.Fields(), t.Fields, p)
			return
		}
	case value.TypeEnum:
		if s.Kind() == value.KindEnum && !s.IsResult() && s.Variant() < len(t.Variants) {
			k.enum(s.Fields(), &t.Variants[s.Variant()], p)
			return
		}
	case value.TypeResult:
		if s.IsResult() && len(t.Args) > 1 {
			i := s.Variant()
			k.within("{}", p, func() {
				k.text([...]string{`"ok":`, `"err":`}[i])
				k.put(s.Fields()[0], t.Args[i], p)
			})
			return
		}
	}
	k.fail(p, "%s cannot be kept as %s", describe(s), t)
}

func describe(s value.Slot) string {
	if s.IsNil() {
		return "nil"
	}
	return "a value of type " + value.TypeName(s)
}

func (k *keeper) float(s value.Slot) {
	if f := s.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
		k.dst = append(k.dst, '"')
		k.dst = value.AppendFloat(k.dst, f)
		k.dst = append(k.dst, '"')
		return
	}
	k.dst = value.AppendFloat(k.dst, s.AsFloat())
}

func (k *keeper) option(s value.Slot, t *value.Type, p *path) {
	switch {
	case s.IsNil():
		k.text("null")
	case len(t.Args) == 0:
		k.any(s, p)
	case wrapped(t.Args[0]):
		k.within("{}", p, func() {
			k.text(`"some":`)
			k.put(value.Unwrap(s), t.Args[0], p)
		})
	default:
		k.put(s, t.Args[0], p)
	}
}

// plain writes what has the same form in JSON.
func (k *keeper) plain(s value.Slot) {
	k.dst = value.AppendJSONWithin(k.dst, s, &value.Bound{Pace: k.pace})
}

// any writes what JSON reads back as it was.
func (k *keeper) any(s value.Slot, p *path) {
	if k.err != nil {
		return
	}
	switch s.Kind() {
	case value.KindNil, value.KindInt, value.KindBool, value.KindString:
		k.plain(s)
	case value.KindFloat:
		if f := s.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			k.fail(p, "%s cannot be kept as Any: it would be read back as a String", value.Text(s))
			return
		}
		k.dst = value.AppendFloat(k.dst, s.AsFloat())
	case value.KindArray:
		a := s.Array()
		k.within("[]", p, func() { k.list(a.Len, a.At, func(int) *value.Type { return value.AnyType }, p) })
	case value.KindMap:
		k.mapping(s.Map(), value.AnyType, value.AnyType, p)
	default:
		k.fail(p, "%s cannot be kept as Any: its type would be lost", describe(s))
	}
}

func (k *keeper) list(n int, at func(int) value.Slot, typ func(int) *value.Type, p *path) {
	for i := 0; i < n && k.err == nil; i++ {
		k.pace.Step(2)
		k.separate(i)
		k.put(at(i), typ(i), p.at(i))
	}
}

func (k *keeper) mapping(m *value.Map, key, elem *value.Type, p *path) {
	k.within("{}", p, func() {
		n := 0
		m.Each(func(x, v value.Slot) bool {
			k.pace.Step(4)
			k.separate(n)
			n++
			if x.Kind() != value.KindString && key.Kind == value.TypeAny {
				k.fail(p, "a map's key of type %s cannot be kept as Any: it would be read back as a String", value.TypeName(x))
				return false
			}
			text := value.Text(x)
			k.dst = value.AppendString(k.dst, text)
			k.dst = append(k.dst, ':')
			k.put(v, elem, p.in(text))
			return k.err == nil
		})
	})
}

func (k *keeper) fields(slots []value.Slot, fields []value.Field, p *path) {
	k.within("{}", p, func() {
		n := 0
		for i := range fields {
			f := &fields[i]
			if f.Optional && slots[i].IsNil() {
				continue
			}
			k.pace.Step(4)
			k.separate(n)
			n++
			k.dst = value.AppendString(k.dst, f.Name)
			k.dst = append(k.dst, ':')
			k.put(slots[i], f.Type, p.in(f.Name))
		}
	})
}

// enum writes "Name" or {"variant":"Name","data":…}.
func (k *keeper) enum(slots []value.Slot, v *value.Variant, p *path) {
	if len(slots) == 0 {
		k.dst = value.AppendString(k.dst, v.Name)
		return
	}
	k.within("{}", p, func() {
		k.text(`"variant":`)
		k.dst = value.AppendString(k.dst, v.Name)
		k.text(`,"data":`)
		p = p.in("data")
		switch {
		case v.Named:
			k.fields(slots, v.Fields, p)
		case len(slots) == 1:
			k.put(slots[0], v.Fields[0].Type, p)
		default:
			k.within("[]", p, func() {
				k.list(len(slots), func(i int) value.Slot { return slots[i] }, func(i int) *value.Type { return v.Fields[i].Type }, p)
			})
		}
	})
}
