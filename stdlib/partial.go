package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonrepair"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// The part of a value that a model has written so far (spec/07-agents.md). It
// is shown as far as it fits its type: Strings grow, any other value appears
// when it is complete, objects are maps, and members that the type does not
// have are left out.

// partial is a value of which only a part has come. Containers that were shown
// are marked as shared, and copied before they change.
type partial struct {
	reader *jsonrepair.Partial
	typ    *value.Type
	// wrapped says that providers wrap the value in an object, as its member
	// `value`.
	wrapped bool

	root value.Slot
	open []holder
	news bool // something has come since it was last shown
	size int  // bytes since then

	fed []string // all that has come, for a snapshot
}

// holder is an object or array that is not closed. With skip it is left out and
// has no value.
type holder struct {
	typ   *value.Type // nil when unknown
	v     value.Slot  // a map or an array
	key   value.Slot  // of the member that is read
	n     int         // elements that have begun
	text  value.Slot  // the String that is read, nil for none
	skip  bool
	shell bool // the object that providers put around a value
}

// perPart is how many elements of open containers may be copied for each byte
// that has come. It bounds the total time of showing all parts.
const perPart = 4

func newPartial(t *value.Type) *partial {
	p := &partial{typ: t, wrapped: true, root: value.Nil}
	switch t.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeMap, value.TypeError:
		p.wrapped = false
	}
	p.reader = jsonrepair.NewPartial(p)
	return p
}

// feed takes more text. It gives the value so far when there is something new
// to show.
func (p *partial) feed(text string) (value.Slot, bool) {
	p.fed = append(p.fed, text)
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
	if cost > perPart*p.size && !p.reader.Over() {
		return value.Nil, false
	}
	p.news, p.size = false, 0
	for i := range p.open {
		value.Share(p.open[i].v)
	}
	value.Share(p.root)
	return p.root, true
}

// empty says that there is nothing yet to show.
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

// form is what a type is without Option.
func form(t *value.Type) *value.Type {
	for t != nil && t.Kind == value.TypeOption && len(t.Args) == 1 {
		t = t.Args[0]
	}
	return t
}

// next gives the type of the value that is read next; ok is false when that
// value is left out.
func (p *partial) next() (t *value.Type, ok bool) {
	if len(p.open) == 0 {
		return form(p.typ), true
	}
	h := &p.open[len(p.open)-1]
	switch {
	case h.skip:
		return nil, false
	case h.shell:
		return form(p.typ), h.key.AsString() == "value"
	case h.typ == nil:
		return nil, true
	}
	switch h.typ.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeError:
		i := h.typ.FieldIndex(h.key.AsString())
		if i < 0 {
			return nil, false
		}
		return form(h.typ.Fields[i].Type), true
	case value.TypeMap:
		return form(h.typ.Args[1]), true
	case value.TypeArray:
		return form(h.typ.Args[0]), true
	case value.TypeTuple:
		if h.n < len(h.typ.Args) {
			return form(h.typ.Args[h.n]), true
		}
		return nil, false
	}
	return nil, true
}

// Open begins an object or array. At the top it must be what the type wants.
func (p *partial) Open(array bool) bool {
	t, ok := p.next()
	h := holder{typ: t, text: value.Nil, skip: !ok || !mayBe(t, array)}
	switch top := len(p.open) == 0; {
	case top && p.wrapped && !array:
		h = holder{shell: true, text: value.Nil, v: value.Nil}
	case top && h.skip:
		return false
	case h.skip:
		h.v = value.Nil
	case array:
		h.v = value.NewArray().Slot()
		p.put(h.v)
	default:
		h.v = value.NewMap(0).Slot()
		p.put(h.v)
	}
	if t != nil && !h.skip && !h.shell && !container(t) {
		h.typ = nil // an enum's or other type's own form
	}
	p.open = append(p.open, h)
	return true
}

// container says whether the elements of a type's values have known types.
func container(t *value.Type) bool {
	switch t.Kind {
	case value.TypeStruct, value.TypeSchema, value.TypeError, value.TypeMap, value.TypeArray, value.TypeTuple:
		return !t.Elements
	}
	return false
}

// mayBe says whether a value of a type can be written as an object or array.
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

// Close ends the innermost object or array.
func (p *partial) Close() {
	p.open = p.open[:len(p.open)-1]
	p.count()
}

// Key names the member that follows. When the object that may be the providers'
// wrapper begins with a member other than `value`, it is the value itself.
func (p *partial) Key(name string) {
	h := &p.open[len(p.open)-1]
	if h.key = value.String(name); h.shell && name != "value" && p.root.IsNil() {
		t := form(p.typ)
		*h = holder{typ: t, key: h.key, text: value.Nil, v: value.Nil, skip: !mayBe(t, false)}
		if !h.skip {
			h.v = value.NewMap(0).Slot()
			p.root, p.news = h.v, true
			if !container(t) {
				h.typ = nil
			}
		}
	}
}

// Text begins a String, or adds to it.
func (p *partial) Text(more string, done bool) {
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
	switch {
	case !ok:
	case t == nil || t.Kind == value.TypeString || t.Kind == value.TypeAny:
		if begun {
			p.change(text)
		} else {
			p.put(text)
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

// Scalar is a number, true, false or null.
func (p *partial) Scalar(raw string) {
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

// scalar puts what fits its type, read as the whole will be.
func (p *partial) scalar(raw []byte, t *value.Type) {
	if r := schema.Read(raw, t); len(r.Errors) == 0 && (t.Kind == value.TypeAny || !r.Value.IsNil()) {
		p.put(r.Value)
	}
	p.count()
}

// count says that an element is complete.
func (p *partial) count() {
	if n := len(p.open); n > 0 {
		p.open[n-1].n++
	}
}

// put is the next value of the innermost container.
func (p *partial) put(v value.Slot) { p.place(v, func(a *value.Array) { a.Push(v) }) }

// change replaces the value that was put last.
func (p *partial) change(v value.Slot) { p.place(v, func(a *value.Array) { a.Set(a.Len-1, v) }) }

// place puts v into the innermost open container; in does so for an array.
func (p *partial) place(v value.Slot, in func(*value.Array)) {
	p.news = true
	h := p.hold()
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

// hold gives the innermost open container, ready to be changed: open containers
// that were shown are copied. It is nil at the top.
func (p *partial) hold() *holder {
	var in *holder
	for i := range p.open {
		h := &p.open[i]
		if h.shell {
			continue
		}
		if old := h.v; value.Shared(old) {
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

func (*partial) KeptAs() string { return "partial" }

// Keep keeps a part of a value as the texts that it was read from.
func (p *partial) Keep(k *vm.Keeper) {
	k.Type(&p.typ)
	n := k.Count(len(p.fed))
	if k.Reading() {
		if p.typ == nil {
			k.Fail("a partial value has no type")
			return
		}
		*p = *newPartial(p.typ)
		p.reader = jsonrepair.NewPartial(p)
	}
	for i := range n {
		text := ""
		if !k.Reading() {
			text = p.fed[i]
		}
		if k.Text(&text); k.Reading() {
			p.feed(text)
		}
	}
}
