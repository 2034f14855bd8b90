package value

import (
	"hash/maphash"
	"strconv"
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
	i := hash >> 1 % uint32(len(r.at))
	x := r.at[i]
	if x == nil || x.hash != hash || x.S != string(text) {
		// A second place: with one, more than a fifth of a thousand words are in
		// each other's.
		x = r.at[i^1]
	}
	if x != nil && x.hash == hash && x.S == string(text) {
		r.misses = max(r.misses-2, 0)
		return Slot{0, unsafe.Pointer(x)}
	}
	if r.misses++; r.misses > recentMisses {
		r.misses, r.rest = 0, recentRest
	}
	x = newShort(text)
	x.hash = hash
	if r.at[i] != nil {
		r.at[i^1] = r.at[i]
	}
	r.at[i] = x
	return Slot{0, unsafe.Pointer(x)}
}

// ShortJoin appends the texts of Strings and Ints to dst, which has room for
// ShortText bytes; ok is false when there is anything else, or more text. It is
// AppendText for what most keys and messages are made of (counting words takes
// 0.85 of the time).
func ShortJoin(dst []byte, parts []Slot) (text []byte, ok bool) {
	for _, s := range parts {
		switch s.Kind() {
		case KindString:
			x := s.AsString()
			if len(dst)+len(x) > ShortText {
				return nil, false
			}
			dst = append(dst, x...)
		case KindInt:
			if len(dst) > ShortText-maxDigits {
				return nil, false
			}
			dst = appendDigits(dst, s.AsInt())
		default:
			return nil, false
		}
	}
	return dst, true
}

// maxDigits is the length of the longest Int in decimal.
const maxDigits = 20

// appendDigits is strconv.AppendInt for base 10, quicker for small numbers.
func appendDigits(dst []byte, n int64) []byte {
	if n < 0 || n > 99_999 {
		return strconv.AppendInt(dst, n, 10)
	}
	var d [5]byte
	i, x := len(d), uint32(n)
	for {
		i--
		d[i] = byte('0' + x%10)
		if x /= 10; x == 0 {
			return append(dst, d[i:]...)
		}
	}
}
