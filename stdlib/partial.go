package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// This file computes the value of a text that a model has written only in part (spec/07-agents.md).
// The value contains the parts that fit the type. A String grows with the text, and any other
// scalar appears when it is complete. Objects are maps. Members that the type does not have are
// omitted.

// partial is a value whose text has arrived in part. Containers that were returned to the program
// are marked as shared, and are copied before they change.
type partial struct {
	reader *jsonrepair.Partial
	typ    *value.Type
	// wrapped is set if the provider may wrap the value in an object with the single member
	// `value`.
	wrapped bool

	root value.Slot
	open []holder
	news bool // the value has changed since it was last returned
	size int  // number of bytes received since the value was last returned

}

// holder is an open object or array. If skip is set, it is omitted and has no value.
type holder struct {
	typ   *value.Type // type of the value; nil if unknown
	v     value.Slot  // the map or array; nil if it is omitted
	key   value.Slot  // key of the current member
	n     int         // number of elements that have begun
	text  value.Slot  // String that is being read; nil if there is none
	skip  bool
	shell bool // the object may be the provider's wrapper

	// entries means that the array contains the entries of v, a map. Each is an object with `key`
	// and `value`, whose holder has entry set, and keyed as soon as the key is known.
	entries, entry, keyed bool
}

// perPart is the number of elements in open containers that may be copied for each received byte.
// It limits the total time for computing all parts.
const perPart = 4

func newPartial(t *value.Type) *partial {
	p := &partial{typ: t, wrapped: true, root: value.Nil}
	switch t.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeError:
		p.wrapped = false
	}
	p.reader = jsonrepair.NewPartial(p)
	return p
}

// feed adds text. It returns the value so far. The bool is false if the program need not receive
// the value, because it has not changed enough.
func (p *partial) feed(text string) (value.Slot, bool) {
	p.reader.Write(text)
	if p.size += len(text); !p.news || empty(p.root) {
		return value.Nil, false
	}
	cost := 0
	for _, h := range p.open {
		if a := h.v.Array(); a != nil {
			cost += a.Len
		} else if m := h.v.Map(); m != nil {
			cost += m.Len()
		}
	}
	if cost > perPart*p.size && !p.reader.Done() {
		return value.Nil, false
	}
	p.news, p.size = false, 0
	for i := range p.open {
		value.Share(p.open[i].v)
	}
	value.Share(p.root)
	return p.root, true
}

// empty reports whether s contains nothing that the program needs to receive.
func empty(s value.Slot) bool {
	switch s.Kind() {
	case value.KindNil:
		return true
	case value.KindArray:
		return s.Array().Len == 0
	case value.KindMap:
		return s.Map().Len() == 0
	case value.KindString:
		return s.AsString() == ""
	}
	return false
}

// withoutOption returns the type inside of all Options.
func withoutOption(t *value.Type) *value.Type {
	for t != nil && t.Kind == value.TypeOption && len(t.Args) == 1 {
		t = t.Args[0]
	}
	return t
}

// next returns the type of the next value. ok is false if the value is omitted.
func (p *partial) next() (t *value.Type, ok bool) {
	if len(p.open) == 0 {
		return withoutOption(p.typ), true
	}
	h := &p.open[len(p.open)-1]
	switch {
	case h.skip, h.entries:
		return nil, false
	case h.entry:
		return withoutOption(p.open[len(p.open)-2].typ.Args[1]), h.keyed && h.key.AsString() == "value"
	case h.shell:
		return withoutOption(p.typ), h.key.AsString() == "value"
	case h.typ == nil:
		return nil, true
	}
	switch h.typ.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeError:
		i := h.typ.FieldIndex(h.key.AsString())
		if i < 0 {
			return nil, false
		}
		return withoutOption(h.typ.Fields[i].Type), true
	case value.TypeMap:
		return withoutOption(h.typ.Args[1]), true
	case value.TypeArray:
		return withoutOption(h.typ.Args[0]), true
	case value.TypeTuple:
		if h.n < len(h.typ.Args) {
			return withoutOption(h.typ.Args[h.n]), true
		}
		return nil, false
	}
	return nil, true
}

// Open begins an object or an array. It returns false at the top level if the expected type does
// not allow it.
func (p *partial) Open(array bool) bool {
	p.resolveShell(array)
	top := len(p.open) == 0
	if !top && p.open[len(p.open)-1].entries {
		p.open = append(p.open, holder{entry: !array, skip: array, text: value.Nil, v: value.Nil})
		return true
	}
	t, ok := p.next()
	h := holder{typ: t, text: value.Nil, entries: ok && array && !top && t != nil && t.Kind == value.TypeMap}
	h.skip = !ok || !mayBe(t, array) && !h.entries
	switch {
	case top && p.wrapped && !array:
		h = holder{shell: true, text: value.Nil, v: value.Nil}
	case top && h.skip:
		return false
	case h.skip:
		h.v = value.Nil
	case array && !h.entries:
		h.v = value.NewArray().Slot()
		p.add(h.v)
	default:
		h.v = value.NewMap(0).Slot()
		p.add(h.v)
	}
	if t != nil && !h.skip && !h.shell && !container(t) {
		h.typ = nil // the text has the JSON form of an enum or of another type without known element types
	}
	p.open = append(p.open, h)
	return true
}

// container reports whether the elements of values of type t have known types.
func container(t *value.Type) bool {
	switch t.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeError, value.TypeMap, value.TypeArray, value.TypeTuple:
		return !t.Elements
	}
	return false
}

// mayBe reports whether JSON represents a value of type t as an array or, if array is false, as an
// object.
func mayBe(t *value.Type, array bool) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case value.TypeAny, value.TypeEnum:
		return true
	case value.TypeArray, value.TypeTuple:
		return array
	case value.TypeStruct, value.TypeSchema, value.TypeError:
		return array == t.Elements
	case value.TypeMap:
		return !array
	}
	return false
}

// Close ends the innermost open object or array.
func (p *partial) Close() {
	p.open = p.open[:len(p.open)-1]
	p.count()
}

// Key sets the name of the next member. If the first member of a possible wrapper is not `value`,
// the object is no wrapper but the value.
func (p *partial) Key(name string) {
	h := &p.open[len(p.open)-1]
	if h.key = value.String(name); h.shell && name != "value" && p.root.IsNil() {
		p.unshell(h)
	}
}

// unshell makes the value of an object that was a possible wrapper.
func (p *partial) unshell(h *holder) {
	t := withoutOption(p.typ)
	*h = holder{typ: t, key: h.key, text: value.Nil, v: value.Nil, skip: !mayBe(t, false)}
	if !h.skip {
		h.v = value.NewMap(0).Slot()
		p.root, p.news = h.v, true
		if !container(t) {
			h.typ = nil
		}
	}
}

// resolveShell decides whether an object whose first member is `value` is a wrapper, before this
// member begins, if the value is a map. A map in a wrapper is an array of entries.
func (p *partial) resolveShell(array bool) {
	t := withoutOption(p.typ)
	if len(p.open) != 1 || !p.open[0].shell || t == nil || t.Kind != value.TypeMap || !p.root.IsNil() {
		return
	}
	if !array || mayBe(withoutOption(t.Args[1]), true) {
		p.unshell(&p.open[0])
	}
}

// Text begins a String or adds to it.
func (p *partial) Text(more string, done bool) {
	p.resolveShell(false)
	h := &p.open[len(p.open)-1]
	t, ok := p.next()
	begun := !h.text.IsNil()
	if !begun {
		h.text = value.String("")
	}
	h.text, _ = h.text.Str().Append(more)
	text := h.text
	if done {
		h.text = value.Nil
	}
	if h.entry && h.key.AsString() == "key" && done {
		p.open[len(p.open)-2].key, h.keyed = text, true
	}
	switch {
	case !ok:
	case t == nil || t.Kind == value.TypeString || t.Kind == value.TypeAny:
		if begun {
			p.replaceLast(text)
		} else {
			p.add(text)
		}
		if done {
			p.count()
		}
		return
	case done:
		p.scalar(value.AppendString(nil, text.AsString()), t)
		return
	}
	if done {
		p.count()
	}
}

// Scalar handles a number, true, false or null.
func (p *partial) Scalar(raw string) {
	p.resolveShell(false)
	t, ok := p.next()
	if !ok {
		p.count()
		return
	}
	if t == nil {
		t = value.AnyType
	}
	p.scalar([]byte(raw), t)
}

// scalar adds a scalar if it fits its type. It converts the scalar in the same way as a complete
// value.
func (p *partial) scalar(raw []byte, t *value.Type) {
	if r := schema.Read(raw, t); len(r.Errors) == 0 && (t.Kind == value.TypeAny || !r.Value.IsNil()) {
		p.add(r.Value)
	}
	p.count()
}

// count increments the number of complete elements.
func (p *partial) count() {
	if n := len(p.open); n > 0 {
		p.open[n-1].n++
	}
}

// add adds the next value to the innermost open container.
func (p *partial) add(v value.Slot) { p.update(v, func(a *value.Array) { a.Push(v) }) }

// replaceLast replaces the value that was added last.
func (p *partial) replaceLast(v value.Slot) { p.update(v, func(a *value.Array) { a.Set(a.Len-1, v) }) }

// update stores v in the innermost open container. For an array it calls in, and for a map it sets
// the current member.
func (p *partial) update(v value.Slot, in func(*value.Array)) {
	p.news = true
	h := p.writableContainer()
	if h == nil {
		p.root = v
		return
	}
	if a := h.v.Array(); a != nil {
		in(a)
		return
	}
	h.v.Map().Set(h.key, v)
}

// writableContainer returns the innermost open container after it has copied the open containers
// that are shared. It returns nil at the top level.
func (p *partial) writableContainer() *holder {
	var in *holder
	for i := range p.open {
		h := &p.open[i]
		if h.shell || h.entry {
			continue
		}
		if old := h.v; value.IsShared(old) {
			if h.v = value.Own(old); in == nil {
				p.root = h.v
			} else if a := in.v.Array(); a != nil {
				a.Set(a.Len-1, h.v)
			} else {
				in.v.Map().Set(in.key, h.v)
			}
		}
		in = h
	}
	return in
}

var partialNatives = native.Table{
	{"partial.new", func(a *vm.Args) (value.Slot, error) {
		return value.NewHandle("Partial", "", newPartial(a.Type(0))), nil
	}},
	{"partial.feed", func(a *vm.Args) (value.Slot, error) {
		text := a.String(1)
		a.Room(len(text))
		a.Pace().Bytes(len(text))
		v, ok := object[*partial](a, "a Partial").feed(text)
		if !ok {
			return value.Nil, nil
		}
		return value.Tuple(v, value.Nil), nil
	}},
}
