package value

import (
	"hash/maphash"
	"unsafe"
)

// Recent keeps short Strings that were made lately, so that a text that is made
// again and again, such as the key of a map, is the same String: nothing is
// allocated, and its hash is known. It belongs to one goroutine.
//
// Looking costs a third of making a String. So it takes a rest when too few
// texts have been there, and then tries again.
type Recent struct {
	at     [1 << 12]*shortStr
	misses int // more than twice as many as there were hits
	rest   int // for so many texts
}

const (
	recentMisses = 1 << 12
	recentRest   = 1 << 16
)

// StringOf makes a String of a copy of text, as the function of that name does.
func (r *Recent) StringOf(text []byte) Slot {
	if r.rest > 0 {
		r.rest--
		return StringOf(text)
	}
	if len(text) < 2 || len(text) > ShortText {
		return StringOf(text)
	}
	hash := folded(maphash.Bytes(seed, text))
	at := &r.at[hash>>1%uint32(len(r.at))]
	if x := *at; x != nil && x.hash == hash && x.S == string(text) {
		r.misses = max(r.misses-2, 0)
		return Slot{0, unsafe.Pointer(x)}
	}
	if r.misses++; r.misses > recentMisses {
		r.misses, r.rest = 0, recentRest
	}
	x := newShort(text)
	x.hash = hash
	*at = x
	return Slot{0, unsafe.Pointer(x)}
}
