package value

import (
	"strconv"
	"unsafe"
)

// InternCache contains recently created short Strings. For a repeated text, such as the key of a
// map, it returns the existing String, whose hash is known, without an allocation. A cache is used
// by one goroutine.
//
// A lookup takes a third of the time of creating a String. After too many misses, the cache
// therefore creates Strings without a lookup for a while.
type InternCache struct {
	at     [1 << 10]bucket
	misses int // number of misses minus twice the number of hits
	rest   int // number of texts to create without a lookup
}

// bucket contains the last Strings with the same low bits of the hash, newest first. With four
// entries instead of two, about a thousand different words rarely displace each other.
type bucket struct {
	hashes [4]uint32 // hashes of the Strings; 0 for no String
	strs   [4]*shortStr
}

const (
	internMisses = 1 << 12
	internRest   = 1 << 16
)

// StringOf returns a String with a copy of text, like the function StringOf.
func (r *InternCache) StringOf(text []byte) Slot {
	if len(text) > ShortText {
		return StringOf(text)
	}
	var p padded
	return r.Short(&p, copy(p[:], text))
}

// Short is like StringOf for the first n bytes of p; the bytes after them must be 0.
func (r *InternCache) Short(p *[ShortText]byte, n int) Slot {
	if r.rest > 0 {
		r.rest--
		return StringOf(p[:n])
	}
	if n < 2 {
		return StringOf(p[:n])
	}
	hash := hashShort(p, n)
	b := &r.at[hash>>1%uint32(len(r.at))]
	for i := range b.hashes {
		if b.hashes[i] == hash && holdsText(b.strs[i], p, n) {
			r.misses = max(r.misses-2, 0)
			return Slot{0, unsafe.Pointer(b.strs[i])}
		}
	}
	if r.misses++; r.misses > internMisses {
		r.misses, r.rest = 0, internRest
	}
	x := newShort(p[:n])
	x.hash = hash
	copy(b.hashes[1:], b.hashes[:])
	copy(b.strs[1:], b.strs[:])
	b.hashes[0], b.strs[0] = hash, x
	return Slot{0, unsafe.Pointer(x)}
}

// holdsText reports whether x contains the first n bytes of p. It compares eight bytes at a time,
// which is faster than comparing strings.
func holdsText(x *shortStr, p *padded, n int) bool {
	if len(x.S) != n || loadWord(p, 0) != loadWord(&x.text, 0) {
		return false
	}
	if n <= 8 {
		return true
	}
	return loadWord(p, 1) == loadWord(&x.text, 1) && loadWord(p, 2) == loadWord(&x.text, 2) && loadWord(p, 3) == loadWord(&x.text, 3)
}

// JoinedText is the maximum length of the text that ShortJoin writes, in bytes.
const JoinedText = longerText

// Joined returns a String with the first n bytes of text, which ShortJoin has written.
func (r *InternCache) Joined(text *[JoinedText]byte, n int) Slot {
	if n > ShortText {
		return StringOf(text[:n])
	}
	return r.Short((*[ShortText]byte)(text[:ShortText]), n)
}

// ShortJoin writes the texts of Strings and Ints to dst, which must be all zeros, and returns their
// length in bytes. ok is false if there is another value, or if the texts are too long. It is a
// fast path of AppendText for typical keys and messages.
func ShortJoin(dst *[JoinedText]byte, parts []Slot) (n int, ok bool) {
	for i := range parts {
		s := &parts[i]
		switch s.Kind() {
		case KindString:
			x := s.AsString()
			if len(x) > len(dst)-n {
				return n, false
			}
			if len(x) > 4 {
				copy(dst[n:], x)
			} else {
				for i := range len(x) { // a loop is faster than a call for short texts
					dst[n+i] = x[i]
				}
			}
			n += len(x)
		case KindInt:
			if n > len(dst)-maxDigits {
				return n, false
			}
			n = putDigits(dst, n, s.AsInt())
		default:
			return n, false
		}
	}
	return n, true
}

// maxDigits is the length of the longest Int in decimal.
const maxDigits = 20

// putDigits writes an Int in decimal at offset n, where maxDigits bytes must be free. It returns
// the end offset. For small numbers it is faster than strconv.AppendInt.
func putDigits(dst *[JoinedText]byte, n int, i int64) int {
	if uint64(i) > 99_999 {
		return len(strconv.AppendInt(dst[:n], i, 10))
	}
	x := uint32(i)
	end := n + 1
	for limit := uint32(10); x >= limit; limit *= 10 {
		end++
	}
	for at := end - 1; at > n; at-- {
		dst[at&(len(dst)-1)] = byte('0' + x%10)
		x /= 10
	}
	dst[n&(len(dst)-1)] = byte('0' + x)
	return end
}
