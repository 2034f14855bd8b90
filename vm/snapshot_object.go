package vm

import (
	"math"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Encoding of the heads and the contents of objects.

func (k *StateCodec) stringHead(p unsafe.Pointer) unsafe.Pointer {
	text := ""
	if p != nil {
		text = value.Slot{Ref: p}.AsString()
	}
	if k.Text(&text); !k.reading {
		return p
	}
	return value.String(text).Ref
}

func (k *StateCodec) arrayHead(p unsafe.Pointer) unsafe.Pointer {
	var repr value.Repr
	shared, n := false, 0
	if p != nil {
		s := value.Slot{Ref: p}
		a := s.Array()
		repr, shared, n = a.Sub, value.IsShared(s), a.Len
	}
	below(k, &repr, int(value.ReprSlots)+1, "an array is of no kind")
	k.Bool(&shared)
	n = k.Count(n)
	if !k.reading {
		return p
	}
	s := value.MakeArray(repr, n).Slot()
	k.mark(s, shared)
	return s.Ref
}

// mark marks a value as shared if shared is set.
func (k *StateCodec) mark(s value.Slot, shared bool) {
	if shared {
		value.Share(s)
	}
}

func (k *StateCodec) arrayBody(p unsafe.Pointer) {
	a := (*value.Array)(p)
	switch a.Sub {
	case value.ReprInts:
		for i := range a.Ints() {
			k.Int(&a.Ints()[i])
		}
	case value.ReprFloats:
		for i := range a.Floats() {
			w := math.Float64bits(a.Floats()[i])
			k.uint64(&w)
			a.Floats()[i] = math.Float64frombits(w)
		}
	case value.ReprBools:
		for i := range a.Bools() {
			k.Bool(&a.Bools()[i])
		}
	case value.ReprSlots:
		k.slots(a.Slots())
	}
}

func (k *StateCodec) mapHead(p unsafe.Pointer) unsafe.Pointer {
	shared, n := false, 0
	if p != nil {
		shared, n = value.IsShared(value.Slot{Ref: p}), (*value.Map)(p).Len()
	}
	k.Bool(&shared)
	n = k.Count(n)
	if !k.reading {
		return p
	}
	s := value.NewMap(n).Slot()
	k.mark(s, shared)
	return s.Ref
}

func (k *StateCodec) mapBody(p unsafe.Pointer) {
	m := (*value.Map)(p)
	n := k.Count(m.Len())
	if !k.reading {
		m.Each(func(key, v value.Slot) bool {
			k.writeSlot(key)
			k.writeSlot(v)
			return true
		})
		return
	}
	for range n {
		key, v := k.readSlot(), k.readSlot()
		if !k.require(value.Hashable(key), "the key of a map is none") {
			return
		}
		m.Set(key, v)
	}
}

// blockHead creates an object that consists of slots.
func (k *StateCodec) blockHead(p unsafe.Pointer) unsafe.Pointer {
	var kind value.Kind
	var variant uint16
	var t *value.Type
	shared, n := false, 0
	if p != nil {
		s := value.Slot{Ref: p}
		kind, t, shared, n = s.Kind(), s.Type(), value.IsShared(s), len(s.Fields())
		if kind == value.KindEnum {
			variant = uint16(s.Variant())
		}
	}
	number(k, &kind)
	number(k, &variant)
	k.Bool(&shared)
	party := kind == value.KindAgent || kind == value.KindHost
	if party && p != nil {
		n = partySlots(k.format, n)
	}
	n = k.Count(n)
	if party {
		return k.partyHead(p, kind, n)
	}
	k.typ(&t)
	if !k.reading {
		return p
	}
	if !k.require(fits(kind, int(variant), t, n), "a value does not fit its type") {
		return nil
	}
	s := value.New(kind, variant, t, make([]value.Slot, n)...)
	k.mark(s, shared)
	return s.Ref
}

// partyHead creates an agent or a host to which the program has added options.
func (k *StateCodec) partyHead(p unsafe.Pointer, kind value.Kind, n int) unsafe.Pointer {
	all, index := k.m.declared.agents, 0
	if kind == value.KindHost {
		all = k.m.declared.hosts
	}
	if p != nil {
		index = value.Slot{Ref: p}.Party().Index()
	}
	if !below(k, &index, len(all), "an agent or a host is declared nowhere") || !k.reading {
		return p
	}
	if !k.require(n == partySlots(k.format, len(all[index].Fields())), "an agent or a host is incomplete") {
		return nil
	}
	return value.New(kind, 0, all[index].Type(), all[index].Fields()...).Ref
}

// partySlots returns the number of slots that the format stores for an agent or a host with n
// slots.
func partySlots(format, n int) int {
	switch {
	case format < 4:
		return min(n, value.PartyFiles)
	case format < 5:
		return min(n, value.PartyWorkspace)
	}
	return n
}

// fits reports whether a block with n slots can be a value of type t.
func fits(kind value.Kind, variant int, t *value.Type, n int) bool {
	switch kind {
	case value.KindTuple:
		return t == nil && variant == 0
	case value.KindSome, value.KindCell:
		return t == nil && variant == 0 && n == 1
	case value.KindRange:
		return t == nil && variant == 0 && (n == 2 || n == 3)
	case value.KindStruct:
		if t == nil || variant != 0 {
			return false
		}
		switch t.Kind {
		case value.TypeStruct, value.TypeSchema:
			return n == len(t.Fields) || n == len(t.Fields)+1 // with an origin
		case value.TypeError:
			return t.Name != "" && n == len(t.Fields)+1
		}
	case value.KindEnum:
		return t != nil && (t.Kind == value.TypeEnum || t.Kind == value.TypeResult) && variant < len(t.Variants) && n == len(t.Variants[variant].Fields) && n > 0
	}
	return false
}

func (k *StateCodec) blockBody(p unsafe.Pointer) {
	s := value.Slot{Ref: p}
	f := s.Fields()
	first := 0
	if s.Party() != nil {
		first = 1 // the head contains the first slot
		f = f[:partySlots(k.format, len(f))]
	}
	k.slots(f[first:])
	if k.reading && s.Kind() == value.KindRange {
		for i := range f {
			want := value.KindInt
			if i == 2 {
				want = value.KindBool
			}
			k.require(f[i].Kind() == want, "a range has no bounds")
		}
	}
}

func (k *StateCodec) closureHead(p unsafe.Pointer) unsafe.Pointer {
	n := 0
	if p != nil {
		n = functionOf(value.Slot{Ref: p}).number
	}
	if !below(k, &n, len(k.m.image.functions), "there is no such function") || !k.reading {
		return p
	}
	f := &k.m.image.functions[n]
	return value.NewClosure(&f.Function, make([]value.Slot, f.info.Captures)...).Ref
}
