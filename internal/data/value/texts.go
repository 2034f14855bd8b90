package value

import (
	"unsafe"
)

// A text is split into an array of ReprStrs: its elements are the Strings
// themselves, one after the other, and a few of them are in the array's own
// allocation. This saves the slots, and makes one object instead of many; the
// workload strings takes 0.9 of its time.
//
// Only the VM's loop reads such an array as it is. All other code uses
// Slot.Array, which converts the array to ReprSlots.

// StrSize is the distance between the Strings of a ReprStrs array.
const StrSize = unsafe.Sizeof(Str{})

// withStrs is an array with its Strings in the same allocation.
type withStrs[T any] struct {
	Array
	strs T
}

// mostPacked is the largest number of Strings that share one allocation. All of
// them stay in memory as long as one of them is used.
const mostPacked = stringChunk

// Split makes an array of the n parts of s between sep, which is not empty.
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

// splitLong is Split into so many parts that they share allocations by chunks.
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

// roomForStrs makes room for an array of n Strings, n > 0.
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

// unpack converts an array of ReprStrs to ReprSlots. The array may be shared, because its elements
// remain the same.
func (a *Array) unpack() {
	strs := unsafe.Slice((*Str)(a.Data), a.Len)
	slots := make([]Slot, len(strs))
	for i := range strs {
		slots[i] = Slot{0, unsafe.Pointer(&strs[i])}
	}
	a.setSlots(slots)
}
