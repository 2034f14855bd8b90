package value

import "unsafe"

// Copy-on-write. The mark "shared" means that two places may hold the object: it is set when a
// second place receives a container, never cleared, and absent on a copy. Strings, scalars and
// references need no mark.

// isContainer reports whether values of a kind contain others.
func isContainer(k Kind) bool { return k >= KindArray && k <= KindSome }

// Share marks the container in s as perhaps held twice.
func Share(s Slot) {
	if s.Ref == nil {
		return
	}
	// A marked object is not written again, because it may be static.
	if h := (*Head)(s.Ref); isContainer(h.Kind) && h.Flags&FlagShared == 0 {
		h.Flags |= FlagShared
	}
}

// IsShared reports whether s is a container marked as perhaps held twice.
func IsShared(s Slot) bool {
	return s.Ref != nil && (*Head)(s.Ref).Flags&FlagShared != 0
}

// Own returns a container that only the caller holds: s itself, or a shallow copy when s is shared.
// Any other value is given back.
func Own(s Slot) Slot {
	if !IsShared(s) {
		return s
	}
	return Copy(s)
}

// Copy makes a shallow copy of the container in s and marks its children shared.
// Any other value is given back.
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
			return s // nothing in it can change
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
