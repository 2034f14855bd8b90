package schema

import (
	"fmt"
	"math"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// EncodeStored writes a value of type t so that DecodeStored reads the same value back: by the
// JSON mapping (spec/11-emit.md), and where that would lose something
//
//   - a Float that is no number is the string "NaN", "inf" or "-inf",
//   - Some(x) is {"some":x} where x may be nil,
//   - an Any must be of what JSON has: nil, a Bool, an Int, a finite Float, a
//     String, an array, or a map with Strings as keys.
//
// The error names the value that cannot be written, and its place.
func EncodeStored(s value.Slot, t *value.Type) ([]byte, error) { return EncodeStoredIn(nil, s, t) }

// EncodeStoredIn is like EncodeStored, and a Pace can interrupt it.
func EncodeStoredIn(pace *value.Pace, s value.Slot, t *value.Type) ([]byte, error) {
	k := storedEncoder{pace: pace}
	k.encode(s, t, nil)
	if k.err != nil {
		return nil, k.err
	}
	return k.dst, nil
}

// DecodeStored decodes a value that EncodeStored has written. The type may have changed since: a
// new field has its default value, and a removed field is ignored. The value is only valid if there
// are no errors.
func DecodeStored(raw []byte, t *value.Type) (value.Slot, []FieldError) {
	return DecodeStoredIn(nil, raw, t)
}

// DecodeStoredIn is like DecodeStored, and a Pace can interrupt it.
func DecodeStoredIn(pace *value.Pace, raw []byte, t *value.Type) (value.Slot, []FieldError) {
	s, err := value.ParseIn(raw, nil, pace)
	if err != nil {
		return value.Nil, []FieldError{{"", "not valid JSON: " + err.Error()}}
	}
	c := converter{pace: pace, fresh: true, stored: true}
	return c.convert(s, t, nil), c.errs
}

// isWrapped reports whether Some(x) is encoded as {"some":…}, which is the case if a value of type
// t may be nil.
func isWrapped(t *value.Type) bool {
	return t.Kind == value.TypeOption || t.Kind == value.TypeNil || t.Kind == value.TypeAny
}

// storedOption decodes an Option whose payload is wrapped.
func (c *converter) storedOption(s value.Slot, t *value.Type, p *path) value.Slot {
	if s.IsNil() {
		return s
	}
	if m := s.Map(); m != nil && m.Len() == 1 {
		if v, ok := m.GetString("some"); ok {
			return value.Some(c.convert(v, t.Args[0], p))
		}
	}
	return c.mismatch(p, t, s)
}

// storedFloat decodes NaN or an infinity.
func storedFloat(s value.Slot) (value.Slot, bool) {
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

// storedEncoder encodes one value.
type storedEncoder struct {
	pace  *value.Pace
	dst   []byte
	depth int // nesting depth of arrays and objects
	err   error
}

func (k *storedEncoder) fail(p *path, format string, args ...any) {
	if k.err == nil {
		k.err = FieldError{p.String(), fmt.Sprintf(format, args...)}
	}
}

func (k *storedEncoder) raw(s string) { k.dst = append(k.dst, s...) }

// encloseIn writes an opening bracket, calls write, and writes the closing bracket.
func (k *storedEncoder) encloseIn(brackets string, p *path, write func()) {
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

// writeComma writes a comma, except before the first element.
func (k *storedEncoder) writeComma(i int) {
	if i > 0 {
		k.dst = append(k.dst, ',')
	}
}

func (k *storedEncoder) encode(s value.Slot, t *value.Type, p *path) {
	if k.err != nil {
		return
	}
	switch t.Kind {
	case value.TypeAny:
		k.encodeAny(s, p)
		return
	case value.TypeNil, value.TypeInt, value.TypeBool, value.TypeString, value.TypeUnion:
		if want, ok := kinds[t.Kind]; !ok && s.Kind() == value.KindString || ok && s.Kind() == want {
			k.encodePlain(s)
			return
		}
	case value.TypeFloat:
		if s.Kind() == value.KindFloat {
			k.encodeFloat(s)
			return
		}
	case value.TypeOption:
		k.encodeOption(s, t, p)
		return
	case value.TypeArray:
		if a := s.Array(); a != nil && len(t.Args) > 0 {
			k.encloseIn("[]", p, func() { k.encodeList(a.Len, a.At, func(int) *value.Type { return t.Args[0] }, p) })
			return
		}
	case value.TypeMap:
		if m := s.Map(); m != nil && len(t.Args) > 1 {
			k.encodeMap(m, t.Args[0], t.Args[1], p)
			return
		}
	case value.TypeTuple:
		if parts := s.Fields(); s.Kind() == value.KindTuple && len(parts) == len(t.Args) {
			k.encloseIn("[]", p, func() {
				k.encodeList(len(parts), func(i int) value.Slot { return parts[i] }, func(i int) *value.Type { return t.Args[i] }, p)
			})
			return
		}
	case value.TypeStruct, value.TypeSchema:
		if s.Kind() == value.KindStruct && len(s.Fields()) >= len(t.Fields) && s.Type().Name == t.Name {
			k.encodeFields(s.Fields(), t.Fields, p)
			return
		}
	case value.TypeEnum:
		if s.Kind() == value.KindEnum && !s.IsResult() && s.Variant() < len(t.Variants) {
			k.encodeEnum(s.Fields(), &t.Variants[s.Variant()], p)
			return
		}
	case value.TypeResult:
		if s.IsResult() && len(t.Args) > 1 {
			i := s.Variant()
			k.encloseIn("{}", p, func() {
				k.raw([...]string{`"ok":`, `"err":`}[i])
				k.encode(s.Fields()[0], t.Args[i], p)
			})
			return
		}
	}
	k.fail(p, "%s cannot be stored as %s", describe(s), t)
}

func describe(s value.Slot) string {
	if s.IsNil() {
		return "nil"
	}
	return "a value of type " + value.TypeName(s)
}

func (k *storedEncoder) encodeFloat(s value.Slot) {
	if f := s.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
		k.dst = append(k.dst, '"')
		k.dst = value.AppendFloat(k.dst, f)
		k.dst = append(k.dst, '"')
		return
	}
	k.dst = value.AppendFloat(k.dst, s.AsFloat())
}

func (k *storedEncoder) encodeOption(s value.Slot, t *value.Type, p *path) {
	switch {
	case s.IsNil():
		k.raw("null")
	case len(t.Args) == 0:
		k.encodeAny(s, p)
	case isWrapped(t.Args[0]):
		k.encloseIn("{}", p, func() {
			k.raw(`"some":`)
			k.encode(value.Unwrap(s), t.Args[0], p)
		})
	default:
		k.encode(s, t.Args[0], p)
	}
}

// encodePlain encodes a value whose JSON form loses nothing.
func (k *storedEncoder) encodePlain(s value.Slot) {
	k.dst = value.AppendJSONWithin(k.dst, s, &value.Bound{Pace: k.pace})
}

// encodeAny encodes an Any. Its JSON must be decoded to the same value.
func (k *storedEncoder) encodeAny(s value.Slot, p *path) {
	if k.err != nil {
		return
	}
	switch s.Kind() {
	case value.KindNil, value.KindInt, value.KindBool, value.KindString:
		k.encodePlain(s)
	case value.KindFloat:
		if f := s.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			k.fail(p, "%s cannot be stored as Any: it would be read back as a String", value.Text(s))
			return
		}
		k.dst = value.AppendFloat(k.dst, s.AsFloat())
	case value.KindArray:
		a := s.Array()
		k.encloseIn("[]", p, func() { k.encodeList(a.Len, a.At, func(int) *value.Type { return value.AnyType }, p) })
	case value.KindMap:
		k.encodeMap(s.Map(), value.AnyType, value.AnyType, p)
	default:
		k.fail(p, "%s cannot be stored as Any: its type would be lost", describe(s))
	}
}

func (k *storedEncoder) encodeList(n int, at func(int) value.Slot, typ func(int) *value.Type, p *path) {
	for i := 0; i < n && k.err == nil; i++ {
		k.pace.Step(2)
		k.writeComma(i)
		k.encode(at(i), typ(i), p.at(i))
	}
}

func (k *storedEncoder) encodeMap(m *value.Map, key, elem *value.Type, p *path) {
	k.encloseIn("{}", p, func() {
		n := 0
		m.Each(func(x, v value.Slot) bool {
			k.pace.Step(4)
			k.writeComma(n)
			n++
			if x.Kind() != value.KindString && key.Kind == value.TypeAny {
				k.fail(p, "a map's key of type %s cannot be stored as Any: it would be read back as a String", value.TypeName(x))
				return false
			}
			text := value.Text(x)
			k.dst = value.AppendString(k.dst, text)
			k.dst = append(k.dst, ':')
			k.encode(v, elem, p.in(text))
			return k.err == nil
		})
	})
}

func (k *storedEncoder) encodeFields(slots []value.Slot, fields []value.Field, p *path) {
	k.encloseIn("{}", p, func() {
		n := 0
		for i := range fields {
			f := &fields[i]
			if f.Optional && slots[i].IsNil() {
				continue
			}
			k.pace.Step(4)
			k.writeComma(n)
			n++
			k.dst = value.AppendString(k.dst, f.Name)
			k.dst = append(k.dst, ':')
			k.encode(slots[i], f.Type, p.in(f.Name))
		}
	})
}

// encodeEnum encodes a variant as "Name" or {"variant":"Name","data":…}.
func (k *storedEncoder) encodeEnum(slots []value.Slot, v *value.Variant, p *path) {
	if len(slots) == 0 {
		k.dst = value.AppendString(k.dst, v.Name)
		return
	}
	k.encloseIn("{}", p, func() {
		k.raw(`"variant":`)
		k.dst = value.AppendString(k.dst, v.Name)
		k.raw(`,"data":`)
		p = p.in("data")
		switch {
		case v.Named:
			k.encodeFields(slots, v.Fields, p)
		case len(slots) == 1:
			k.encode(slots[0], v.Fields[0].Type, p)
		default:
			k.encloseIn("[]", p, func() {
				k.encodeList(len(slots), func(i int) value.Slot { return slots[i] }, func(i int) *value.Type { return v.Fields[i].Type }, p)
			})
		}
	})
}
