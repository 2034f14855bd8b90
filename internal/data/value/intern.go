package value

import (
	"strconv"
	"unsafe"
)

// InternCache holds recently created short Strings. A repeated text, such as a map's key, then
// needs no allocation, and its hash is known. A cache belongs to one goroutine.
//
// A lookup takes a third of the time of creating a String. Therefore after too many misses the
// cache creates Strings without lookup for a while, and then tries again.
type InternCache struct {
	at     [1 << 10]bucket
	misses int // more than twice as many as there were hits
	rest   int // for so many texts
}

// A bucket holds the most recent Strings with the same low hash bits, newest first. With four
// entries instead of two, about a thousand words rarely displace each other.
type bucket struct {
	hashes [4]uint32 // 0 where there is no String
	strs   [4]*shortStr
}

const (
	internMisses = 1 << 12
	internRest   = 1 << 16
)

// StringOf makes a String of a copy of text, as the function of that name does.
func (r *InternCache) StringOf(text []byte) Slot {
	if len(text) > ShortText {
		return StringOf(text)
	}
	var p padded
	return r.Short(&p, copy(p[:], text))
}

// Short is StringOf for the text of n bytes in p, followed by zeros.
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

// holdsText reports whether x is the text of n bytes in p. It compares words of eight bytes, which
// is quicker than comparing strings.
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

// Joined makes a String of the text of n bytes that ShortJoin has written.
func (r *InternCache) Joined(text *[JoinedText]byte, n int) Slot {
	if n > ShortText {
		return StringOf(text[:n])
	}
	return r.Short((*[ShortText]byte)(text[:ShortText]), n)
}

// ShortJoin writes the texts of Strings and Ints to dst, which must be all zeros, and returns their
// length in bytes. ok is false for other values, or if they do not fit. It is a fast path of
// AppendText for typical keys and messages: with hashShort, the workload words takes 0.88 of its
// time.
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
				for i := range len(x) { // less than a call
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

// putDigits writes an Int in decimal at n, where maxDigits bytes must be free, and returns the end.
// For small numbers it is faster than strconv.AppendInt.
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
