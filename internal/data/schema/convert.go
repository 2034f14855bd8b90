// Package schema converts JSON and other data to values of a run-time type, with an error for every
// part that does not have the type. It also writes the JSON Schema of a type. It depends only on
// package value, and serves the VM, models and tools.
package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// FieldError describes a part of the data that does not have its type. Path identifies the part
// ("items[3].price"); "" is the whole data.
type FieldError struct {
	Path    string
	Message string
}

func (e FieldError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// Join joins all errors in one line.
func Join(errs []FieldError) string {
	var s strings.Builder
	for i, e := range errs {
		if i > 0 {
			s.WriteString("; ")
		}
		s.WriteString(e.Error())
	}
	return s.String()
}

// Decode converts JSON to a value of type t (spec/11-emit.md). An Int is accepted for a Float, but
// not vice versa. null counts as absent for an optional field. Members that t does not declare are
// ignored. The value is only valid if there are no errors.
func Decode(raw []byte, t *value.Type) (value.Slot, []FieldError) { return DecodeIn(nil, raw, t) }

// DecodeIn is like Decode, and a Pace can interrupt it.
func DecodeIn(p *value.Pace, raw []byte, t *value.Type) (value.Slot, []FieldError) {
	s, err := value.ParseIn(raw, nil, p)
	if err != nil {
		return value.Nil, []FieldError{{"", "not valid JSON: " + err.Error()}}
	}
	c := converter{pace: p, fresh: true}
	return c.convert(s, t, nil), c.errs
}

// DecodeExact is like Decode, and a member that t does not declare is an error. unknown returns the
// message for such a member of an object with the given fields.
func DecodeExact(raw []byte, t *value.Type, unknown func(name string, fields []value.Field) string) (value.Slot, []FieldError) {
	s, err := value.ParseIn(raw, nil, nil)
	if err != nil {
		return value.Nil, []FieldError{{"", "not valid JSON: " + err.Error()}}
	}
	c := converter{fresh: true, exact: unknown}
	return c.convert(s, t, nil), c.errs
}

// Convert is like Decode for data that is already a value, also of a type that is known only at run
// time. A value of type t is returned unchanged. Containers that the result shares with s are
// marked as shared.
func Convert(s value.Slot, t *value.Type) (value.Slot, []FieldError) { return ConvertIn(nil, s, t) }

// ConvertIn is like Convert, and a Pace can interrupt it.
func ConvertIn(p *value.Pace, s value.Slot, t *value.Type) (value.Slot, []FieldError) {
	c := converter{pace: p}
	return c.convert(value.Flatten(s), t, nil), c.errs
}

// converter converts a value to a type and collects the errors.
type converter struct {
	pace    *value.Pace
	fresh   bool // nothing else refers to the data
	stored  bool // the data was written by EncodeStored
	depth   int
	errs    []FieldError
	lenient *leniency // nil means that nothing is repaired
	// exact returns the message for an undeclared member; nil ignores such members
	exact func(name string, fields []value.Field) string
}

// path is the path from the whole data to a part. The innermost step is first.
type path struct {
	up    *path
	name  string // name of a member; "" for an element
	index int    // index of an element; -1 for a member
}

// at returns the path to an element.
func (p *path) at(i int) *path { return &path{up: p, index: i} }

// in returns the path to a member.
func (p *path) in(name string) *path { return &path{up: p, name: name, index: -1} }

func (p *path) String() string {
	if p == nil {
		return ""
	}
	up := p.up.String()
	switch {
	case p.index >= 0:
		return up + "[" + strconv.Itoa(p.index) + "]"
	case !isWord(p.name):
		return up + "[" + string(value.AppendString(nil, p.name)) + "]"
	case up == "":
		return p.name
	}
	return up + "." + p.name
}

// elements formats the length of an array for an error.
func elements(n int) string {
	if n == 1 {
		return "an array of 1 element"
	}
	return "an array of " + strconv.Itoa(n) + " elements"
}

func isWord(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (c *converter) fail(p *path, format string, args ...any) value.Slot {
	c.errs = append(c.errs, FieldError{p.String(), fmt.Sprintf(format, args...)})
	return value.Nil
}

func (c *converter) mismatch(p *path, t *value.Type, s value.Slot) value.Slot {
	return c.fail(p, "expected %s, got %s", t, describeData(s))
}

// describeData describes a value for an error: scalars by their value, others by their form.
func describeData(s value.Slot) string {
	switch s.Kind() {
	case value.KindNil:
		return "null"
	case value.KindInt, value.KindFloat, value.KindBool:
		return value.Text(s)
	case value.KindString:
		text := s.AsString()
		if head := []rune(text[:utf8cut.Before(text, 4*40)]); len(head) > 40 || len(text) > 4*40 {
			return string(value.AppendString(nil, string(head[:40]))) + "…"
		}
		return string(value.AppendString(nil, text))
	case value.KindArray:
		return "an array"
	case value.KindMap:
		return "an object"
	case value.KindTuple:
		return "a tuple"
	}
	return "a value of type " + value.TypeName(s)
}

// shareResult returns s as a part of the result, and marks it as shared if necessary.
func (c *converter) shareResult(s value.Slot) value.Slot {
	if !c.fresh {
		value.Share(s)
	}
	return s
}

// kinds maps each type to the value kind that proves it.
var kinds = map[value.TypeKind]value.Kind{value.TypeInt: value.KindInt, value.TypeString: value.KindString, value.TypeBool: value.KindBool,
	value.TypeNil: value.KindNil, value.TypeFunction: value.KindClosure, value.TypeRange: value.KindRange, value.TypeAgent: value.KindAgent,
	value.TypeHost: value.KindHost, value.TypeTool: value.KindTool}

// maxDepth limits the nesting of data, as in JSON text.
const maxDepth = value.MaxDepth

func (c *converter) convert(s value.Slot, t *value.Type, p *path) value.Slot {
	if c.depth++; c.depth > maxDepth {
		c.depth--
		return c.fail(p, "nested too deeply")
	}
	defer func() { c.depth-- }()
	c.pace.Step(2)
	if k, ok := kinds[t.Kind]; ok {
		if s.Kind() == k {
			return s
		}
		if out, ok := c.repair(s, t, p); ok {
			return out
		}
		return c.mismatch(p, t, s)
	}
	switch t.Kind {
	case value.TypeAny:
		return c.shareResult(s)
	case value.TypeFloat:
		if s.Kind() == value.KindInt {
			return value.Float(float64(s.AsInt()))
		} else if s.Kind() == value.KindFloat {
			return s
		} else if out, ok := c.repair(s, t, p); ok {
			return out
		}
		if f, ok := storedFloat(s); ok && c.stored {
			return f
		}
	case value.TypeUnion:
		return c.convertUnion(s, t, p)
	case value.TypeOption:
		if c.stored && len(t.Args) > 0 && isWrapped(t.Args[0]) {
			return c.storedOption(s, t, p)
		}
		if s.IsNil() {
			return s
		}
		if len(t.Args) == 0 {
			return c.shareResult(s)
		}
		return value.Some(c.convert(s, t.Args[0], p))
	case value.TypeArray:
		if a := s.Array(); a != nil {
			return c.convertArray(a, t, p)
		}
	case value.TypeMap:
		if m := s.Map(); m != nil {
			return c.convertMap(m, t, p)
		}
		if a := s.Array(); a != nil && c.lenient != nil {
			return c.convertEntries(a, t, p)
		}
	case value.TypeTuple:
		return c.convertTuple(s, t, p)
	case value.TypeStruct, value.TypeSchema:
		if s.Kind() == value.KindStruct && s.Type() == t {
			return c.shareResult(s)
		}
		if m := s.Map(); m != nil {
			return c.convertFields(m, t, p)
		}
	case value.TypeError:
		if t.Name == "" || value.IsError(s) && s.Type() == t {
			return c.shareResult(s)
		}
	case value.TypeEnum:
		return c.convertEnum(s, t, p)
	case value.TypeResult:
		return c.convertResult(s, t, p)
	case value.TypeMemory, value.TypeHashMap, value.TypeLedger, value.TypeQueue, value.TypeTask:
		if h := s.Handle(); h != nil && h.Type == t.String() {
			return s
		}
	}
	return c.mismatch(p, t, s)
}

func (c *converter) convertUnion(s value.Slot, t *value.Type, p *path) value.Slot {
	if s.Kind() == value.KindString {
		for _, v := range t.Values {
			if v == s.AsString() {
				return s
			}
		}
		if out, ok := c.repair(s, t, p); ok {
			return out
		}
	}
	return c.fail(p, "expected one of %s, got %s", t, describeData(s))
}

// convertArray converts elements. An array without changed elements is returned unchanged.
func (c *converter) convertArray(a *value.Array, t *value.Type, p *path) value.Slot {
	if len(t.Args) == 0 || a.Len == 0 || provesType(a.Sub, t.Args[0].Kind) {
		return c.shareResult(a.Slot())
	}
	out := value.NewArray()
	for i := range a.Len {
		out.Push(c.convert(a.At(i), t.Args[0], p.at(i)))
	}
	return out.Slot()
}

// provesType reports whether all elements of a representation have a type.
func provesType(r value.Repr, k value.TypeKind) bool {
	return r == value.ReprInts && k == value.TypeInt || r == value.ReprFloats && k == value.TypeFloat ||
		r == value.ReprBools && k == value.TypeBool || k == value.TypeAny
}

func (c *converter) convertMap(m *value.Map, t *value.Type, p *path) value.Slot {
	if len(t.Args) < 2 || m.Len() == 0 || t.Args[1].Kind == value.TypeAny && t.Args[0].Kind == value.TypeAny {
		return c.shareResult(m.Slot())
	}
	out := value.NewMap(m.Len())
	m.Each(func(k, v value.Slot) bool {
		at := p.in(value.Text(k))
		out.Set(c.convertKey(k, t.Args[0], at), c.convert(v, t.Args[1], at))
		return true
	})
	return out.Slot()
}

// convertEntries converts an array of objects with `key` and `value`, the form in which Adapt
// requests a map.
func (c *converter) convertEntries(a *value.Array, t *value.Type, p *path) value.Slot {
	m := value.NewMap(a.Len)
	for i := range a.Len {
		entry := a.At(i).Map()
		if entry == nil || entry.Len() != 2 {
			return c.mismatch(p, t, a.Slot())
		}
		k, hasKey := entry.GetString("key")
		v, hasValue := entry.GetString("value")
		if !hasKey || !hasValue || k.Kind() != value.KindString {
			return c.mismatch(p, t, a.Slot())
		}
		if _, isTwice := m.Get(k); isTwice {
			return c.fail(p.at(i), "the key %q occurs twice", k.AsString())
		}
		m.Set(k, v)
	}
	return c.convertMap(m, t, p)
}

// convertKey converts the key of a map. An Int or Bool is a string in JSON.
func (c *converter) convertKey(k value.Slot, t *value.Type, p *path) value.Slot {
	if k.Kind() == value.KindString {
		switch t.Kind {
		case value.TypeInt:
			if n, err := strconv.ParseInt(k.AsString(), 10, 64); err == nil {
				return value.Int(n)
			}
		case value.TypeBool:
			if s := k.AsString(); s == "true" || s == "false" {
				return value.Bool(s == "true")
			}
		}
	}
	n := len(c.errs)
	out := c.convert(k, t, p)
	if len(c.errs) > n { // the result is not used, but must be a valid key
		return k
	}
	return out
}

func (c *converter) convertTuple(s value.Slot, t *value.Type, p *path) value.Slot {
	var parts []value.Slot
	if a := s.Array(); a != nil {
		for i := range a.Len {
			parts = append(parts, a.At(i))
		}
	} else if s.Kind() == value.KindTuple {
		parts = s.Fields()
	} else {
		return c.mismatch(p, t, s)
	}
	if len(parts) != len(t.Args) {
		return c.fail(p, "expected %s, got %s", t, elements(len(parts)))
	}
	out := make([]value.Slot, len(parts))
	for i := range parts {
		out[i] = c.convert(parts[i], t.Args[i], p.at(i))
	}
	return value.Tuple(out...)
}

// isOptional reports whether a field without a default may be absent.
func isOptional(f *value.Field) bool { return f.Optional || f.Type.Kind == value.TypeOption }

func (c *converter) convertFields(m *value.Map, t *value.Type, p *path) value.Slot {
	return t.Struct(c.convertMembers(m, t.Fields, p)...)
}

// convertMembers converts the members of an object to the declared fields.
func (c *converter) convertMembers(m *value.Map, fields []value.Field, p *path) []value.Slot {
	out := make([]value.Slot, len(fields))
	c.noteUnknownMembers(m, fields, p)
	if c.exact != nil {
		c.rejectUnknownMembers(m, fields, p)
	}
	left := m.Len() // members that no field has used; most objects have fewer members than fields
	for i := range fields {
		f := &fields[i]
		if left == 0 && isOptional(f) && !f.HasDefault {
			continue
		}
		at := p.in(f.Name)
		v, ok := m.GetString(f.Name)
		if ok {
			left--
		}
		switch {
		case ok && !(v.IsNil() && c.isAbsent(f)):
			out[i] = c.convert(v, f.Type, at)
		case f.HasDefault:
			out[i] = f.Default
		case isOptional(f):
		case f.Type.Kind == value.TypeAny && ok, f.Type.Kind == value.TypeNil:
		case c.exact != nil:
			c.fail(p, "missing field %q (%s)", f.Name, f.Type)
		default:
			c.fail(at, "missing, expected %s", f.Type)
		}
	}
	return out
}

// rejectUnknownMembers reports the members that no field declares.
func (c *converter) rejectUnknownMembers(m *value.Map, fields []value.Field, p *path) {
	m.Each(func(k, _ value.Slot) bool {
		name := value.Text(k)
		if !slices.ContainsFunc(fields, func(f value.Field) bool { return f.Name == name }) {
			c.errs = append(c.errs, FieldError{p.String(), c.exact(name, fields)})
		}
		return true
	})
}

// isAbsent reports whether null means that the field is absent. In data of EncodeStored, that is
// only the case for a field declared as `name?`.
func (c *converter) isAbsent(f *value.Field) bool {
	if c.stored {
		return f.Optional
	}
	return isOptional(f) || f.HasDefault && f.Type.Kind != value.TypeNil && f.Type.Kind != value.TypeAny
}

// convertEnum converts "Name" to a variant without a payload, and {"variant":"Name","data":…} to
// others.
func (c *converter) convertEnum(s value.Slot, t *value.Type, p *path) value.Slot {
	if s.Kind() == value.KindEnum && s.Type() == t {
		return c.shareResult(s)
	}
	name, data := s, value.Nil
	m := s.Map()
	if m != nil {
		name, _ = m.GetString("variant")
		data, _ = m.GetString("data")
	}
	if name.Kind() == value.KindString {
		for i := range t.Variants {
			if v := &t.Variants[i]; v.Name == name.AsString() && (len(v.Fields) == 0 || m != nil) {
				return t.Enum(i, c.convertPayload(data, v, p.in("data"))...)
			}
		}
		if i := findChoice(strings.TrimSpace(name.AsString()), len(t.Variants), func(i int) string { return t.Variants[i].Name }); i >= 0 && c.lenient != nil {
			if v := &t.Variants[i]; len(v.Fields) == 0 || m != nil {
				c.lenient.note(p, "read "+describeData(name)+" as "+v.Name)
				return t.Enum(i, c.convertPayload(data, v, p.in("data"))...)
			}
		}
	}
	return c.fail(p, "expected a variant of %s (%s), got %s", t, variants(t), describeData(s))
}

func variants(t *value.Type) string {
	s := ""
	for i := range t.Variants {
		if i > 0 {
			s += ", "
		}
		s += t.Variants[i].Name
	}
	return s
}

// convertPayload converts the data of a variant: a single value, an array, or an object.
func (c *converter) convertPayload(data value.Slot, v *value.Variant, p *path) []value.Slot {
	out := make([]value.Slot, len(v.Fields))
	switch {
	case len(v.Fields) == 0:
	case v.Named:
		m := data.Map()
		if m == nil {
			c.fail(p, "expected an object, got %s", describeData(data))
			return out
		}
		return c.convertMembers(m, v.Fields, p)
	case len(v.Fields) == 1:
		out[0] = c.convert(data, v.Fields[0].Type, p)
	default:
		a := data.Array()
		if a == nil {
			c.fail(p, "expected %s, got %s", elements(len(v.Fields)), describeData(data))
			return out
		}
		if a.Len != len(v.Fields) {
			c.fail(p, "expected %s, got %s", elements(len(v.Fields)), elements(a.Len))
			return out
		}
		for i := range out {
			out[i] = c.convert(a.At(i), v.Fields[i].Type, p.at(i))
		}
	}
	return out
}

// convertResult converts {"ok":…} or {"err":…} to a Result.
func (c *converter) convertResult(s value.Slot, t *value.Type, p *path) value.Slot {
	part := func(i int) *value.Type {
		if i < len(t.Args) {
			return t.Args[i]
		}
		return value.AnyType
	}
	if s.IsResult() {
		i := s.Variant()
		v := c.convert(s.Fields()[0], part(i), p)
		return value.New(value.KindEnum, uint16(i), value.ResultType, v)
	}
	if m := s.Map(); m != nil && m.Len() == 1 {
		for i, name := range []string{"ok", "err"} {
			if v, ok := m.GetString(name); ok {
				v = c.convert(v, part(i), p.in(name))
				return value.New(value.KindEnum, uint16(i), value.ResultType, v)
			}
		}
	}
	return c.mismatch(p, t, s)
}
