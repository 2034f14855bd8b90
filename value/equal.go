package value

// Equal compares two values: deep and structural; references by identity; an
// Int and a Float by number. Some(v) equals v, so that an Option compares with
// its payload, but None is only equal to nil.
func Equal(a, b Slot) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return equalAcross(a, b, ka, kb)
	}
	switch ka {
	case KindNil:
		return true
	case KindInt, KindBool:
		return a.Bits == b.Bits
	case KindFloat:
		return a.AsFloat() == b.AsFloat()
	}
	if a.Ref == b.Ref {
		return !holdsNaN(a)
	}
	switch ka {
	case KindString:
		return a.AsString() == b.AsString()
	case KindArray:
		return equalArrays(a.Array(), b.Array())
	case KindMap:
		return equalMaps(a.Map(), b.Map())
	case KindTuple, KindSome, KindRange:
		return equalSlots(a.Fields(), b.Fields())
	case KindStruct:
		t := a.Type()
		if t != b.Type() {
			return false
		}
		n := len(t.Fields) // an error's source does not count
		return equalSlots(a.Fields()[:n], b.Fields()[:n])
	case KindEnum:
		return a.Variant() == b.Variant() && sameEnum(a.Type(), b.Type()) && equalSlots(a.Fields(), b.Fields())
	case KindAgent, KindHost:
		return equalReferences(a, b)
	}
	return false
}

// sameEnum says whether two enum types are one; all Results are.
func sameEnum(a, b *Type) bool { return a == b || a.Kind == TypeResult && b.Kind == TypeResult }

func equalAcross(a, b Slot, ka, kb Kind) bool {
	switch {
	case ka == KindSome:
		return kb != KindNil && Equal(Unwrap(a), b)
	case kb == KindSome:
		return ka != KindNil && Equal(a, Unwrap(b))
	case ka == KindInt && kb == KindFloat:
		return float64(a.AsInt()) == b.AsFloat()
	case ka == KindFloat && kb == KindInt:
		return a.AsFloat() == float64(b.AsInt())
	}
	return false
}

func equalArrays(a, b *Array) bool {
	if a.Len != b.Len {
		return false
	}
	for i := range a.Len {
		if !Equal(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

// equalMaps compares entries; their order does not count.
func equalMaps(a, b *Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.entries {
		e := &a.entries[i]
		if e.dead {
			continue
		}
		j := b.find(e.key, e.hash)
		if j < 0 || !Equal(e.value, b.entries[j].value) {
			return false
		}
	}
	return true
}

func equalSlots(a, b []Slot) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalReferences compares two agents or hosts: one declaration with the same
// added things is one reference.
func equalReferences(a, b Slot) bool {
	return a.Type() == b.Type() && equalSlots(a.Fields(), b.Fields())
}

// holdsNaN says whether a container holds a NaN, which makes it differ from
// itself. Only containers of floats are looked into; the common case is fast.
func holdsNaN(s Slot) bool {
	switch s.Kind() {
	case KindFloat:
		f := s.AsFloat()
		return f != f
	case KindArray:
		a := s.Array()
		if a.Sub != ReprFloats && a.Sub != ReprSlots {
			return false
		}
		for i := range a.Len {
			if holdsNaN(a.At(i)) {
				return true
			}
		}
	case KindMap:
		found := false
		s.Map().Each(func(_, v Slot) bool { found = holdsNaN(v); return !found })
		return found
	case KindTuple, KindStruct, KindEnum, KindSome:
		for _, f := range s.Fields() {
			if holdsNaN(f) {
				return true
			}
		}
	}
	return false
}
