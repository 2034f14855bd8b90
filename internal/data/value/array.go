package value

import (
	"unsafe"
)

// Repr is the representation of an array's elements in memory. It is a property of the value and
// not of the static type. The first element determines it. An element of another kind converts the
// array to ReprSlots.
type Repr = uint16

// The representations. Head.Sub contains the representation of an array.
const (
	ReprEmpty  Repr = iota // no elements and no memory
	ReprInts               // int64
	ReprFloats             // float64
	ReprBools              // bool, one byte
	ReprSlots              // Slot
	ReprStrs               // the String objects themselves; see texts.go
)

// Array is an array. Data points to memory for Cap elements in the array's representation, of which
// the first Len are in use. An array created by Part may share the memory of another array. Its Cap
// is then the number of elements in that whole memory.
type Array struct {
	Head
	Data unsafe.Pointer
	Len  int
	Cap  int
}

// NewArray returns an empty array.
func NewArray() *Array { return &Array{Head: Head{Kind: KindArray}} }

// ArrayOf returns an array with copies of slots.
func ArrayOf(slots ...Slot) Slot {
	a := NewArray()
	a.fill(slots)
	return a.Slot()
}

// IntArray returns an array of Ints and takes ownership of v.
func IntArray(v []int64) Slot {
	a := NewArray()
	if len(v) > 0 {
		a.setInts(v)
	}
	return a.Slot()
}

// stringChunk is the number of Strings of an array that share one allocation. All of them stay in
// memory while one of them is in use.
const stringChunk = 64

// StringArray returns an array of Strings.
func StringArray(v []string) Slot {
	slots := make([]Slot, len(v))
	var c chunk
	for i, s := range v {
		slots[i] = c.newString(s, len(v)-i)
	}
	return newSlotArray(slots).Slot()
}

// filled is an array with its elements and the objects to which they refer, in one allocation
// instead of three.
type filled[S, T any] struct {
	Array
	slots   S
	objects T
}

// chunk is memory for the next Strings of an array.
type chunk []Str

// newString returns a String. left is the number of Strings that are still to be created, including
// this one.
func (c *chunk) newString(s string, left int) Slot {
	if len(s) < 2 {
		return String(s)
	}
	if len(*c) == 0 {
		*c = make(chunk, min(stringChunk, left))
	}
	x := &(*c)[0]
	x.Head.Kind, x.S = KindString, s
	*c = (*c)[1:]
	return Slot{0, unsafe.Pointer(x)}
}

// newSlotArray returns an array of slots that are not scalars, and takes ownership of v.
func newSlotArray(v []Slot) *Array {
	a := NewArray()
	if len(v) > 0 {
		a.setSlots(v)
	}
	return a
}

// SlotArray returns an array of values other than Int, Float or Bool, and takes ownership of v.
func SlotArray(v []Slot) Slot { return newSlotArray(v).Slot() }

// Slot returns the array as a value.
func (a *Array) Slot() Slot { return Slot{0, unsafe.Pointer(a)} }

// Array returns the array in s, or nil for other values. The representation of the result is never
// ReprStrs.
func (s Slot) Array() *Array {
	if s.Kind() != KindArray {
		return nil
	}
	a := (*Array)(s.Ref)
	if a.Sub == ReprStrs {
		a.unpack()
	}
	return a
}

// fill sets an empty array to copies of slots, in a representation that is valid for all of them.
func (a *Array) fill(slots []Slot) {
	if len(slots) == 0 {
		return
	}
	ref := slots[0].Ref
	for i := range slots {
		if slots[i].Ref != ref {
			ref = nil
			break
		}
	}
	switch ref {
	case unsafe.Pointer(&IntHead):
		v := make([]int64, len(slots))
		for i := range slots {
			v[i] = slots[i].AsInt()
		}
		a.setInts(v)
	case unsafe.Pointer(&FloatHead):
		v := make([]float64, len(slots))
		for i := range slots {
			v[i] = slots[i].AsFloat()
		}
		a.setFloats(v)
	case unsafe.Pointer(&BoolHead):
		v := make([]bool, len(slots))
		for i := range slots {
			v[i] = slots[i].AsBool()
		}
		a.setBools(v)
	default:
		v := make([]Slot, len(slots))
		copy(v, slots)
		a.setSlots(v)
	}
}

func (a *Array) setInts(v []int64) {
	a.Sub, a.Data, a.Len, a.Cap = ReprInts, unsafe.Pointer(unsafe.SliceData(v)), len(v), cap(v)
}

func (a *Array) setFloats(v []float64) {
	a.Sub, a.Data, a.Len, a.Cap = ReprFloats, unsafe.Pointer(unsafe.SliceData(v)), len(v), cap(v)
}

func (a *Array) setBools(v []bool) {
	a.Sub, a.Data, a.Len, a.Cap = ReprBools, unsafe.Pointer(unsafe.SliceData(v)), len(v), cap(v)
}

func (a *Array) setSlots(v []Slot) {
	a.Sub, a.Data, a.Len, a.Cap = ReprSlots, unsafe.Pointer(unsafe.SliceData(v)), len(v), cap(v)
}

// Ints returns the elements of an array of Ints without copying them. The representation must be
// ReprInts. Floats, Bools and Slots return the elements of other representations.
func (a *Array) Ints() []int64 { return unsafe.Slice((*int64)(a.Data), a.Len) }

// Floats returns the elements of an array of Floats.
func (a *Array) Floats() []float64 { return unsafe.Slice((*float64)(a.Data), a.Len) }

// Bools returns the elements of an array of Bools.
func (a *Array) Bools() []bool { return unsafe.Slice((*bool)(a.Data), a.Len) }

// Slots returns the elements of an array of slots.
func (a *Array) Slots() []Slot { return unsafe.Slice((*Slot)(a.Data), a.Len) }

// At returns element i, which must be in range.
func (a *Array) At(i int) Slot {
	if uint(i) >= uint(a.Len) {
		panic("value: array index out of range")
	}
	switch a.Sub {
	case ReprInts:
		return Slot{*(*uint64)(unsafe.Add(a.Data, i*8)), unsafe.Pointer(&IntHead)}
	case ReprFloats:
		return Slot{*(*uint64)(unsafe.Add(a.Data, i*8)), unsafe.Pointer(&FloatHead)}
	case ReprBools:
		return Bool(*(*bool)(unsafe.Add(a.Data, i)))
	}
	return *(*Slot)(unsafe.Add(a.Data, uintptr(i)*SlotSize))
}

// Set sets element i to s. i must be in range, and the caller must own the array.
func (a *Array) Set(i int, s Slot) {
	if uint(i) >= uint(a.Len) {
		panic("value: array index out of range")
	}
	a.convertFor(s)
	a.storeAt(i, s)
}

// Swap exchanges elements i and j. Both must be in range, and the caller must own the array.
func (a *Array) Swap(i, j int) {
	if a.Sub == ReprSlots {
		s := a.Slots()
		s[i], s[j] = s[j], s[i]
		return
	}
	at := a.At(i)
	a.Set(i, a.At(j))
	a.Set(j, at)
}

// storeAt stores s, which must be valid for the representation, at index i < Cap.
func (a *Array) storeAt(i int, s Slot) {
	switch a.Sub {
	case ReprInts, ReprFloats:
		*(*uint64)(unsafe.Add(a.Data, i*8)) = s.Bits
	case ReprBools:
		*(*bool)(unsafe.Add(a.Data, i)) = s.Bits != 0
	default:
		*(*Slot)(unsafe.Add(a.Data, uintptr(i)*SlotSize)) = s
	}
}

// reprOf returns the representation of an array whose first element is s.
func reprOf(s Slot) Repr {
	switch s.Ref {
	case unsafe.Pointer(&IntHead):
		return ReprInts
	case unsafe.Pointer(&FloatHead):
		return ReprFloats
	case unsafe.Pointer(&BoolHead):
		return ReprBools
	}
	return ReprSlots
}

// convertFor converts the array to a representation that is valid for s, if necessary.
func (a *Array) convertFor(s Slot) {
	switch want := reprOf(s); {
	case a.Sub == want || a.Sub == ReprSlots:
	case a.Len == 0:
		a.Sub, a.Data, a.Cap = want, nil, 0
	default:
		v := make([]Slot, a.Len, max(a.Cap, a.Len+1))
		for i := range v {
			v[i] = a.At(i)
		}
		a.setSlots(v)
	}
}

// Push appends s. The caller must own the array.
func (a *Array) Push(s Slot) {
	a.convertFor(s)
	if a.Len == a.Cap {
		a.Reserve(1)
	}
	a.storeAt(a.Len, s)
	a.Len++
}

// Reserve ensures capacity for n more elements in the current representation. It does nothing if
// the representation is ReprEmpty. The capacity at least doubles if it grows.
func (a *Array) Reserve(n int) {
	want := a.Len + n
	if want <= a.Cap {
		return
	}
	want = max(want, 2*a.Cap, 8)
	switch a.Sub {
	case ReprInts:
		v := make([]int64, a.Len, want)
		copy(v, a.Ints())
		a.setInts(v)
	case ReprFloats:
		v := make([]float64, a.Len, want)
		copy(v, a.Floats())
		a.setFloats(v)
	case ReprBools:
		v := make([]bool, a.Len, want)
		copy(v, a.Bools())
		a.setBools(v)
	case ReprSlots:
		v := make([]Slot, a.Len, want)
		copy(v, a.Slots())
		a.setSlots(v)
	}
}

// Pop removes and returns the last element. ok is false if there is none. The caller must own the
// array.
func (a *Array) Pop() (s Slot, ok bool) {
	if a.Len == 0 {
		return Nil, false
	}
	s = a.At(a.Len - 1)
	a.Truncate(a.Len - 1)
	return s, true
}

// Truncate removes all elements after the first n, where 0 <= n <= Len. The caller must own the
// array.
func (a *Array) Truncate(n int) {
	if a.Sub == ReprSlots {
		clear(a.Slots()[n:]) // lets the garbage collector free the removed elements
	}
	a.Len = n
}

// Insert inserts s before element i, where 0 <= i <= Len. The caller must own the array.
func (a *Array) Insert(i int, s Slot) {
	a.Push(s)
	last := a.At(a.Len - 1)
	a.move(i+1, i, a.Len-1)
	a.storeAt(i, last)
}

// Remove removes and returns element i, which must be in range. The caller must own the array.
// Removing the first element does not move the others, so an array can be used as a queue.
func (a *Array) Remove(i int) Slot {
	s := a.At(i)
	if i == 0 && a.Len > 1 {
		a.dropFirst()
		return s
	}
	a.move(i, i+1, a.Len)
	a.Truncate(a.Len - 1)
	return s
}

// dropFirst removes the first element by moving Data to the second. There must be a second element,
// because Data must not point past the end of its memory.
func (a *Array) dropFirst() {
	size := unsafe.Sizeof(int64(0))
	switch a.Sub {
	case ReprBools:
		size = unsafe.Sizeof(false)
	case ReprSlots:
		size = unsafe.Sizeof(Slot{})
		a.Slots()[0] = Nil // lets the garbage collector free the removed element
	}
	a.Data = unsafe.Add(a.Data, size)
	a.Len--
	a.Cap--
}

// move copies the elements [from, end) to the elements from at on.
func (a *Array) move(at, from, end int) {
	switch a.Sub {
	case ReprInts:
		copy(a.Ints()[at:], a.Ints()[from:end])
	case ReprFloats:
		copy(a.Floats()[at:], a.Floats()[from:end])
	case ReprBools:
		copy(a.Bools()[at:], a.Bools()[from:end])
	case ReprSlots:
		copy(a.Slots()[at:], a.Slots()[from:end])
	}
}

// minPart is the minimum number of elements of a part that shares memory. Fewer elements are copied
// as quickly.
const minPart = 32

// Part returns the elements from lo to hi (exclusive), which must be in range. If the part is at
// least half of a's memory, it shares that memory, and both arrays are marked as shared. A smaller
// part is copied. So a later write to one of the arrays copies at most twice the bytes that sharing
// has saved, and a part uses at most twice its own memory.
func (a *Array) Part(lo, hi int) *Array {
	n := hi - lo
	if n < minPart || 2*n < a.Cap {
		return a.Slice(lo, hi)
	}
	Share(a.Slot())
	if n == a.Len {
		return a
	}
	return &Array{Head: Head{Kind: KindArray, Flags: FlagShared, Sub: a.Sub}, Data: unsafe.Add(a.Data, lo*elementSize(a.Sub)), Len: n, Cap: a.Cap}
}

// Slice returns a copy of the elements from lo to hi (exclusive), which must be in range. It marks
// containers among the elements as shared.
func (a *Array) Slice(lo, hi int) *Array {
	b := NewArray()
	if lo == hi {
		return b
	}
	switch a.Sub {
	case ReprInts:
		b.setInts(append([]int64(nil), a.Ints()[lo:hi]...))
	case ReprFloats:
		b.setFloats(append([]float64(nil), a.Floats()[lo:hi]...))
	case ReprBools:
		b.setBools(append([]bool(nil), a.Bools()[lo:hi]...))
	case ReprSlots:
		v := append([]Slot(nil), a.Slots()[lo:hi]...)
		for i := range v {
			Share(v[i])
		}
		b.setSlots(v)
	}
	return b
}

// Extend appends the elements of b and marks containers among them as shared. The caller must own
// a; b may be a itself.
func (a *Array) Extend(b *Array) {
	n := b.Len
	if n == 0 {
		return
	}
	if a.Sub == b.Sub || a.Len == 0 && a.Sub != ReprSlots {
		if a.Sub != b.Sub {
			a.Sub, a.Data, a.Cap = b.Sub, nil, 0
		}
		a.Reserve(n)
		at := a.Len
		a.Len += n
		switch a.Sub {
		case ReprInts:
			copy(a.Ints()[at:], b.Ints()[:n])
		case ReprFloats:
			copy(a.Floats()[at:], b.Floats()[:n])
		case ReprBools:
			copy(a.Bools()[at:], b.Bools()[:n])
		case ReprSlots:
			for i, s := range b.Slots()[:n] {
				Share(s)
				a.storeAt(at+i, s)
			}
		}
		return
	}
	for i := 0; i < n; i++ {
		s := b.At(i)
		Share(s)
		a.Push(s)
	}
}
