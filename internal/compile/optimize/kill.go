package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// The end of a fact: a change of a register that it concerns, or of the memory from which it was
// read.

type bitset []uint64

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) without(c bitset) {
	for i := range c {
		b[i] &^= c[i]
	}
}

// meet retains what is in both and reports whether that changed b.
func (b bitset) meet(c bitset) (changed bool) {
	for i := range b {
		if n := b[i] & c[i]; n != b[i] {
			b[i], changed = n, true
		}
	}
	return changed
}

// byRegister holds sets of facts by register.
type byRegister struct {
	words int // of a set
	// For a register, defs holds the facts whose result it holds, read these
	// and the facts that read it, and above the sets of read for it and all
	// later registers together.
	defs, read, above []uint64
	summed            bool // above has been filled in
}

func (b *byRegister) reset(words, registers int) {
	b.words, b.summed = words, false
	zeroed(&b.defs, registers*words)
	zeroed(&b.read, registers*words)
}

func (b *byRegister) part(sets []uint64, r int) bitset { return sets[r*b.words : (r+1)*b.words] }

// dest are the facts whose register is r.
func (b *byRegister) dest(r int) bitset { return b.part(b.defs, r) }

// about are the facts whose register is r, or that read it.
func (b *byRegister) about(r int) bitset { return b.part(b.read, r) }

// from are the facts about r or a later register.
func (b *byRegister) from(r int) bitset {
	if !b.summed {
		b.summed = true
		copy(room(&b.above, len(b.read)), b.read)
		for i := len(b.above) - b.words - 1; i >= 0; i-- {
			b.above[i] |= b.above[i+b.words]
		}
	}
	return b.part(b.above, r)
}

// byMemory holds the facts that a change of a kind of memory makes untrue.
type byMemory struct {
	words int
	sets  []uint64 // by kind
}

func (b *byMemory) reset(words int) {
	b.words = words
	zeroed(&b.sets, words*bits.Len8(uint8(ir.AnyMemory)))
}

// of are the facts of the first kind in m.
func (b *byMemory) of(m ir.Memory) bitset {
	n := bits.TrailingZeros8(uint8(m))
	return b.sets[n*b.words : (n+1)*b.words]
}
