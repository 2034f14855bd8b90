package value

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// Hashes of texts. The seed is random in each process, so that an attacker cannot choose keys that
// collide.

var seed = maphash.MakeSeed()

// seeds are used for short texts.
var seeds = [...]uint64{maphash.String(seed, "0"), maphash.String(seed, "1"), maphash.String(seed, "2"), maphash.String(seed, "3")}

// padded contains a short text and zeros after it.
type padded = [ShortText]byte

// hashText returns the hash of a text.
func hashText(s string) uint32 {
	if len(s) > ShortText {
		return foldHash(maphash.String(seed, s))
	}
	var p padded
	copy(p[:], s)
	return hashShort(&p, len(s))
}

// hashShort returns the hash of the first n bytes of p. It needs one or two multiplications, and is
// faster than the functions of maphash.
func hashShort(p *padded, n int) uint32 {
	high, low := bits.Mul64(loadWord(p, 0)^seeds[0], loadWord(p, 1)^seeds[1]^uint64(n))
	if n > 16 {
		high, low = bits.Mul64(loadWord(p, 2)^seeds[2]^high, loadWord(p, 3)^seeds[3]^low)
	}
	return foldHash(high ^ low)
}

// loadWord returns bytes 8*i to 8*i+7 of a text as an integer.
func loadWord(p *padded, i int) uint64 { return binary.LittleEndian.Uint64(p[8*i:]) }

// foldHash reduces a hash to 32 bits that are not all 0.
func foldHash(h uint64) uint32 { return uint32(h) ^ uint32(h>>32) | 1 }
