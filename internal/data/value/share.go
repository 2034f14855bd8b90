package value

import "unsafe"

// Copy-on-write. An object is marked as shared if two places may refer to it. The mark is set when
// a second place receives a container. It is never removed, but a copy does not have it. Strings,
// scalars and references need no mark.

// isContainer reports whether values of a kind contain other values.
func isContainer(k Kind) bool { return k >= KindArray && k <= KindSome }

// Share marks the container in s as shared. It does nothing for other values.
func Share(s Slot) {
	if s.Ref == nil {
		return
	}
	// An object that is already marked is not written, because it may be static.
	if h := (*Head)(s.Ref); isContainer(h.Kind) && h.Flags&FlagShared == 0 {
		h.Flags |= FlagShared
	}
}

// IsShared reports whether s is a container that is marked as shared.
func IsShared(s Slot) bool {
	return s.Ref != nil && (*Head)(s.Ref).Flags&FlagShared != 0
}

// Own returns a container that only the caller refers to: s itself, or a shallow copy if s is
// shared. Other values are returned unchanged.
func Own(s Slot) Slot {
	if !IsShared(s) {
		return s
	}
	return Copy(s)
}

// Copy returns a shallow copy of the container in s, and marks the containers in it as shared.
// Other values are returned unchanged.
func Copy(s Slot) Slot {
	switch s.Kind() {
	case KindArray:
		a := s.Array()
		b := a.Slice(0, a.Len)
		return b.Slot()
	case KindMap:
		return (*Map)(s.Ref).clone().Slot()
	case KindTuple, KindStruct, KindEnum, KindSome:
		h := (*Head)(s.Ref)
		if h.N == 0 {
			return s // the value is immutable
		}
		ref := newBlock(h.Kind, h.Sub, int(h.N), (*block)(s.Ref).second)
		to := fields(ref)
		for i, f := range fields(s.Ref) {
			Share(f)
			to[i] = f
		}
		return Slot{0, unsafe.Pointer(ref)}
	}
	return s
}
