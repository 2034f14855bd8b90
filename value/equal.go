package value

// Equal compares two values: deep and structural; references by identity; an
// Int and a Float by number. Some(v) equals v, so that an Option compares with
// its payload, but None is only equal to nil.
func Equal(a, b Slot) bool { return equal(a, b, 0) }

func equal(a, b Slot, depth int) bool {
	if depth > maxNesting {
		tooDeep()
	}
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return equalAcross(a, b, ka, kb, depth+1)
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
		return !holdsNaN(a, depth+1)
	}
	switch ka {
	case KindString:
		return a.AsString() == b.AsString()
	case KindArray:
		return equalArrays(a.Array(), b.Array(), depth+1)
	case KindMap:
		return equalMaps(a.Map(), b.Map(), depth+1)
	case KindTuple, KindSome, KindRange:
		return equalSlots(a.Fields(), b.Fields(), depth+1)
	case KindStruct:
		t := a.Type()
		if t != b.Type() {
			return false
		}
		n := len(t.Fields) // an error's source does not count
		return equalSlots(a.Fields()[:n], b.Fields()[:n], depth+1)
	case KindEnum:
		return a.Variant() == b.Variant() && sameEnum(a.Type(), b.Type()) && equalSlots(a.Fields(), b.Fields(), depth+1)
	case KindAgent, KindHost:
		return equalReferences(a, b, depth)
	}
	return false
}

// sameEnum says whether two enum types are one; all Results are.
func sameEnum(a, b *Type) bool { return a == b || a.Kind == TypeResult && b.Kind == TypeResult }

func equalAcross(a, b Slot, ka, kb Kind, depth int) bool {
	switch {
	case ka == KindSome:
		return kb != KindNil && equal(Unwrap(a), b, depth)
	case kb == KindSome:
		return ka != KindNil && equal(a, Unwrap(b), depth)
	case ka == KindInt && kb == KindFloat:
		return float64(a.AsInt()) == b.AsFloat()
	case ka == KindFloat && kb == KindInt:
		return a.AsFloat() == float64(b.AsInt())
	}
	return false
}

func equalArrays(a, b *Array, depth int) bool {
	if a.Len != b.Len {
		return false
	}
	for i := range a.Len {
		if !equal(a.At(i), b.At(i), depth) {
			return false
		}
	}
	return true
}

// equalMaps compares entries; their order does not count.
func equalMaps(a, b *Map, depth int) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.entries {
		e := &a.entries[i]
		if e.dead() {
			continue
		}
		j := b.find(e.key)
		if j < 0 || !equal(e.value, b.entries[j].value, depth) {
			return false
		}
	}
	return true
}

func equalSlots(a, b []Slot, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equal(a[i], b[i], depth) {
			return false
		}
	}
	return true
}

// equalReferences compares two agents or hosts: one declaration with the same
// added things is one reference.
func equalReferences(a, b Slot, depth int) bool {
	return a.Type() == b.Type() && equalSlots(a.Fields(), b.Fields(), depth+1)
}

// holdsNaN says whether a container holds a NaN, which makes it differ from
// itself. Only containers of floats are looked into; the common case is fast.
func holdsNaN(s Slot, depth int) bool {
	if depth > maxNesting {
		tooDeep()
	}
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
			if holdsNaN(a.At(i), depth+1) {
				return true
			}
		}
	case KindMap:
		found := false
		s.Map().Each(func(_, v Slot) bool { found = holdsNaN(v, depth+1); return !found })
		return found
	case KindTuple, KindStruct, KindEnum, KindSome:
		for _, f := range s.Fields() {
			if holdsNaN(f, depth+1) {
				return true
			}
		}
	}
	return false
}
