package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// index maps instructions to numbers. It is a hash table with open addressing that can be emptied
// without clearing its slots.
type index struct {
	slots []slot
	shift int
	round uint32 // number of the current use; slots with another number are free
}

type slot struct {
	key   ir.Instr
	round uint32
	n     int32
}

// reset empties the index and allocates slots for n instructions.
func (x *index) reset(n int) {
	size := 1 << bits.Len(uint(2*n))
	if size > cap(x.slots) {
		x.slots, x.round = make([]slot, size), 0
	}
	x.slots, x.shift = x.slots[:size], 65-bits.Len(uint(size))
	x.round++
	if x.round == 0 {
		clear(x.slots[:cap(x.slots)])
		x.round = 1
	}
}

// find returns a pointer to the number of an instruction, and whether the index contained the
// instruction before.
func (x *index) find(in ir.Instr) (n *int32, known bool) {
	s := x.slot(in)
	known = s.round == x.round
	if !known {
		s.key, s.round = in, x.round
	}
	return &s.n, known
}

// get returns the number of an instruction, or -1.
func (x *index) get(in ir.Instr) int {
	if s := x.slot(in); s.round == x.round {
		return int(s.n)
	}
	return -1
}

// slot returns the slot of an instruction, or the slot in which it would be stored.
func (x *index) slot(in ir.Instr) *slot {
	key := uint64(in.Op) | uint64(in.A)<<8 | uint64(in.B)<<16 | uint64(in.C)<<24 | uint64(uint32(in.Imm))<<32
	mask := len(x.slots) - 1
	for i := int(key * 0x9e3779b97f4a7c15 >> x.shift); ; i++ {
		if s := &x.slots[i&mask]; s.round != x.round || s.key == in {
			return s
		}
	}
}
