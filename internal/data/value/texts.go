package value

import (
	"unsafe"
)

// Split returns an array with the representation ReprStrs. Its elements are the String objects
// themselves in consecutive memory; a short array contains them in its own allocation. This saves
// the slots, and one object instead of many is allocated.
//
// Only the VM's loop reads such an array directly. All other code calls Slot.Array, which converts
// the array to ReprSlots.

// StrSize is the size in bytes of an element of a ReprStrs array.
const StrSize = unsafe.Sizeof(Str{})

// withStrs is an array with its Strings in the same allocation.
type withStrs[T any] struct {
	Array
	strs T
}

// mostPacked is the maximum number of Strings that share one allocation. All of them stay in memory
// while one of them is in use.
const mostPacked = stringChunk

// Split returns an array of the n parts of s between occurrences of sep, which must not be empty.
func Split(s, sep string, n int, p *Pace) Slot {
	if n > mostPacked {
		return splitLong(s, sep, n, p)
	}
	a, strs := roomForStrs(n)
	for i := range strs {
		at := len(s)
		if i < n-1 {
			at = IndexIn(p, s, sep)
		}
		x := &strs[i]
		x.Kind, x.S = KindString, s[:at]
		if i < n-1 {
			s = s[at+len(sep):]
		}
	}
	a.Kind, a.Sub, a.Data, a.Len, a.Cap = KindArray, ReprStrs, unsafe.Pointer(unsafe.SliceData(strs)), n, n
	return a.Slot()
}

// splitLong is Split for so many parts that each chunk of them is a separate allocation.
func splitLong(s, sep string, n int, p *Pace) Slot {
	slots := make([]Slot, n)
	var c chunk
	for i := range n - 1 {
		at := IndexIn(p, s, sep)
		slots[i] = c.newString(s[:at], n-i)
		s = s[at+len(sep):]
	}
	slots[n-1] = c.newString(s, 1)
	return newSlotArray(slots).Slot()
}

// roomForStrs allocates an array for n Strings, where n > 0.
func roomForStrs(n int) (*Array, []Str) {
	switch {
	case n > 8:
		return new(Array), make([]Str, n)
	case n > 7:
		x := new(withStrs[[8]Str])
		return &x.Array, x.strs[:]
	case n > 6:
		x := new(withStrs[[7]Str])
		return &x.Array, x.strs[:]
	case n > 5:
		x := new(withStrs[[6]Str])
		return &x.Array, x.strs[:]
	case n > 4:
		x := new(withStrs[[5]Str])
		return &x.Array, x.strs[:]
	case n > 3:
		x := new(withStrs[[4]Str])
		return &x.Array, x.strs[:]
	case n > 2:
		x := new(withStrs[[3]Str])
		return &x.Array, x.strs[:]
	}
	x := new(withStrs[[2]Str])
	return &x.Array, x.strs[:n]
}

// unpack converts an array from ReprStrs to ReprSlots. The array may be shared, because its
// elements do not change.
func (a *Array) unpack() {
	strs := unsafe.Slice((*Str)(a.Data), a.Len)
	slots := make([]Slot, len(strs))
	for i := range strs {
		slots[i] = Slot{0, unsafe.Pointer(&strs[i])}
	}
	a.setSlots(slots)
}
