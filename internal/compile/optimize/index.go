package optimize

import (
	"math/bits"

	"github.com/concerto-lang/concerto/ir"
)

// index maps instructions to numbers. It is a table with open addressing that
// can be emptied without clearing its entries.
type index struct {
	slots []slot
	shift int
	round uint32 // slots of other rounds are free
}

type slot struct {
	key   ir.Instr
	round uint32
	n     int32
}

// reset empties the index and makes room for n instructions.
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

// find returns the place of an instruction's number, and whether it had one.
func (x *index) find(in ir.Instr) (n *int32, known bool) {
	s := x.slot(in)
	known = s.round == x.round
	if !known {
		s.key, s.round = in, x.round
	}
	return &s.n, known
}

// get returns the number of an instruction, -1 for none.
func (x *index) get(in ir.Instr) int {
	if s := x.slot(in); s.round == x.round {
		return int(s.n)
	}
	return -1
}

// slot is the place where an instruction is, or would be.
func (x *index) slot(in ir.Instr) *slot {
	key := uint64(in.Op) | uint64(in.A)<<8 | uint64(in.B)<<16 | uint64(in.C)<<24 | uint64(uint32(in.Imm))<<32
	mask := len(x.slots) - 1
	for i := int(key * 0x9e3779b97f4a7c15 >> x.shift); ; i++ {
		if s := &x.slots[i&mask]; s.round != x.round || s.key == in {
			return s
		}
	}
}
