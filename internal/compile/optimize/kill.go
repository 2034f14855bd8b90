package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// This file determines when facts become invalid: when a register changes that the fact refers to,
// or the memory from which it was read.

type bitset []uint64

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitset) without(c bitset) {
	for i := range c {
		b[i] &^= c[i]
	}
}

// meet retains the elements that are in both sets. It reports whether b has changed.
func (b bitset) meet(c bitset) (changed bool) {
	for i := range b {
		if n := b[i] & c[i]; n != b[i] {
			b[i], changed = n, true
		}
	}
	return changed
}

// byRegister contains sets of facts by register.
type byRegister struct {
	words int // number of words in a set
	// For each register, defs contains the facts whose result is in the register, and read these
	// facts and the facts that read the register. above contains the union of read for this and all
	// later registers.
	defs, read, above []uint64
	summed            bool // above is filled in
}

func (b *byRegister) reset(words, registers int) {
	b.words, b.summed = words, false
	zeroed(&b.defs, registers*words)
	zeroed(&b.read, registers*words)
}

func (b *byRegister) part(sets []uint64, r int) bitset { return sets[r*b.words : (r+1)*b.words] }

// dest returns the facts whose result is in register r.
func (b *byRegister) dest(r int) bitset { return b.part(b.defs, r) }

// about returns the facts whose result is in register r, and the facts that read it.
func (b *byRegister) about(r int) bitset { return b.part(b.read, r) }

// from returns the facts about register r or a later register.
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

// byMemory contains the facts that become invalid when memory of a certain kind changes.
type byMemory struct {
	words int
	sets  []uint64 // set of each kind
}

func (b *byMemory) reset(words int) {
	b.words = words
	zeroed(&b.sets, words*bits.Len8(uint8(ir.AnyMemory)))
}

// of returns the facts of the first kind of memory in m.
func (b *byMemory) of(m ir.Memory) bitset {
	n := bits.TrailingZeros8(uint8(m))
	return b.sets[n*b.words : (n+1)*b.words]
}
