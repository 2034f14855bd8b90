package value

import "unsafe"

// The functions in this file return the memory of values, which the memory limit of a run counts.

const (
	arraySize = int(unsafe.Sizeof(Array{}))
	mapSize   = int(unsafe.Sizeof(Map{}))
	entrySize = int(unsafe.Sizeof(entry{}))
	placeSize = int(unsafe.Sizeof(place(0)))
)

// Size returns the size in bytes of the object of s, without the objects to which it refers. A
// string that is a part of another one counts with its own length.
func Size(s Slot) int {
	switch s.Kind() {
	case KindString:
		return int(unsafe.Sizeof(Str{})) + len(s.AsString())
	case KindArray:
		a := (*Array)(s.Ref)
		return arraySize + a.Cap*elementSize(a.Sub)
	case KindMap:
		return (*Map)(s.Ref).size()
	case KindNil, KindInt, KindFloat, KindBool, KindHandle, KindTypeDesc:
		return 0
	}
	return int(1+(*Head)(s.Ref).N) * int(SlotSize)
}

// CopySize returns the number of bytes that Copy of s allocates.
func CopySize(s Slot) int {
	if a := s.Array(); a != nil {
		return a.Len * elementSize(a.Sub)
	}
	return Size(s)
}

func (m *Map) size() int {
	return mapSize + cap(m.entries)*entrySize + placeSize*len(m.index)
}

func elementSize(r Repr) int {
	switch r {
	case ReprInts, ReprFloats:
		return 8
	case ReprBools:
		return 1
	case ReprStrs:
		return int(StrSize)
	}
	return int(SlotSize)
}

// PushSize returns the number of bytes that Push of s allocates.
func (a *Array) PushSize(s Slot) int {
	repr := reprOf(s)
	switch {
	case a.Len == 0 && a.Sub != repr && a.Sub != ReprSlots:
		return 8 * elementSize(repr)
	case a.Sub != repr && a.Sub != ReprSlots: // all elements are converted to slots
		return max(a.Cap, a.Len+1) * int(SlotSize)
	}
	return a.ReserveSize(1)
}

// SetSize returns approximately the number of bytes that Set of a key allocates.
func (m *Map) SetSize(key Slot) int {
	n := cap(m.entries)
	if len(m.entries) < n || m.find(key) >= 0 {
		return 0
	}
	return roomAfter(n)*entrySize + 2*placeSize*len(m.index)
}

// ReserveSize returns the number of bytes that Reserve of n elements allocates.
func (a *Array) ReserveSize(n int) int {
	if a.Len+n <= a.Cap {
		return 0
	}
	return max(a.Len+n, 2*a.Cap, 8) * elementSize(a.Sub)
}
