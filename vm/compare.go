package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
)

func opLtString(t *task, in *ins) status { return t.compareStrings(in, false) }

func opLeString(t *task, in *ins) status { return t.compareStrings(in, true) }

func opEqual(t *task, in *ins) status {
	*bitsAt(t.fp, in.a) = bit(value.EqualIn(&t.m.pace, *t.slot(in.b), *t.slot(in.c)))
	return running
}

func opJumpEqual(t *task, in *ins) status { return t.jumpWhen(in, true) }

func opJumpNotEqual(t *task, in *ins) status { return t.jumpWhen(in, false) }

func opJumpEqualK(t *task, in *ins) status { return t.jumpWhenK(in, true) }

func opJumpNotEqualK(t *task, in *ins) status { return t.jumpWhenK(in, false) }

// compareStrings orders two Strings by code points. In UTF-8 that is the order of their bytes.
func (t *task) compareStrings(in *ins, orEqual bool) status {
	a, b := t.slot(in.b).Str(), t.slot(in.c).Str()
	if a == nil || b == nil {
		return t.badOperand(in)
	}
	*bitsAt(t.fp, in.a) = bit(a.S < b.S || orEqual && a.S == b.S)
	return running
}

func (t *task) jumpWhen(in *ins, equal bool) status {
	if value.EqualIn(&t.m.pace, *t.slot(in.a), *t.slot(in.b)) == equal {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}

// jumpWhenK compares a register with a constant and jumps if their equality is equal.
func (t *task) jumpWhenK(in *ins, equal bool) status {
	if value.EqualIn(&t.m.pace, *t.slot(in.a), t.m.image.constants[short(in)]) == equal {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}
