package value

// Equal reports whether two values are equal. It compares containers by their contents at any
// depth, references by identity, and an Int and a Float as numbers. Some(v) equals v, so an Option
// can be compared with its payload. None equals only nil.
func Equal(a, b Slot) bool { return EqualIn(nil, a, b) }

// EqualIn is like Equal, and a Pace can interrupt it.
func EqualIn(p *Pace, a, b Slot) bool { return walk{p, 0}.equal(a, b) }

// walk contains the depth and the pace of a comparison.
type walk struct {
	pace  *Pace
	depth int
}

func (w walk) in() walk { return walk{w.pace, w.depth + 1} }

// enter counts a visited value as a step.
func (w walk) enter() {
	if w.depth > maxNesting {
		panicTooDeep()
	}
	w.pace.Step(1)
}

func (w walk) equal(a, b Slot) bool {
	w.enter()
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return w.in().equalAcross(a, b, ka, kb)
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
		return !w.in().containsNaN(a)
	}
	switch ka {
	case KindString:
		return w.sameText(a.AsString(), b.AsString())
	case KindArray:
		return w.in().equalArrays(a.Array(), b.Array())
	case KindMap:
		return w.in().equalMaps(a.Map(), b.Map())
	case KindTuple, KindSome, KindRange:
		return w.in().equalSlots(a.Fields(), b.Fields())
	case KindStruct:
		t := a.Type()
		if t != b.Type() {
			return false
		}
		n := len(t.Fields) // the source of an error is not compared
		return w.in().equalSlots(a.Fields()[:n], b.Fields()[:n])
	case KindEnum:
		return a.Variant() == b.Variant() && sameEnum(a.Type(), b.Type()) && w.in().equalSlots(a.Fields(), b.Fields())
	case KindAgent, KindHost:
		return w.equalReferences(a, b)
	}
	return false
}

// sameText compares two texts and counts the steps.
func (w walk) sameText(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	w.pace.Bytes(len(a) >> 2) // comparing texts is faster than other work on texts
	return a == b
}

// sameEnum reports whether two enum types are equal. All Result types are equal.
func sameEnum(a, b *Type) bool { return a == b || a.Kind == TypeResult && b.Kind == TypeResult }

func (w walk) equalAcross(a, b Slot, ka, kb Kind) bool {
	switch {
	case ka == KindSome:
		return kb != KindNil && w.equal(Unwrap(a), b)
	case kb == KindSome:
		return ka != KindNil && w.equal(a, Unwrap(b))
	case ka == KindInt && kb == KindFloat:
		return float64(a.AsInt()) == b.AsFloat()
	case ka == KindFloat && kb == KindInt:
		return a.AsFloat() == float64(b.AsInt())
	}
	return false
}

func (w walk) equalArrays(a, b *Array) bool {
	if a.Len != b.Len {
		return false
	}
	for i := range a.Len {
		if !w.equal(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

// equalMaps compares the entries of two maps, ignoring their order.
func (w walk) equalMaps(a, b *Map) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.entries {
		e := &a.entries[i]
		if e.dead() {
			continue
		}
		j := b.find(e.key)
		if j < 0 || !w.equal(e.value, b.entries[j].value) {
			return false
		}
	}
	return true
}

func (w walk) equalSlots(a, b []Slot) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !w.equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// equalReferences compares two agents or hosts. They are equal if they have the same declaration
// and builders have added the same values.
func (w walk) equalReferences(a, b Slot) bool {
	return a.Type() == b.Type() && w.in().equalSlots(a.Fields(), b.Fields())
}

// containsNaN reports whether a container contains a NaN, so that it is not equal to itself. An
// array that cannot contain Floats is not searched.
func (w walk) containsNaN(s Slot) bool {
	w.enter()
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
			if w.in().containsNaN(a.At(i)) {
				return true
			}
		}
	case KindMap:
		found := false
		s.Map().Each(func(_, v Slot) bool { found = w.in().containsNaN(v); return !found })
		return found
	case KindTuple, KindStruct, KindEnum, KindSome:
		for _, f := range s.Fields() {
			if w.in().containsNaN(f) {
				return true
			}
		}
	}
	return false
}
