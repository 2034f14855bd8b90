package vm

import (
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
)

func init() {
	slow[ir.OpLtString] = func(t *task, in *ins) status { return t.compareStrings(in, false) }
	slow[ir.OpLeString] = func(t *task, in *ins) status { return t.compareStrings(in, true) }
	slow[ir.OpEqual] = func(t *task, in *ins) status {
		*bitsAt(t.fp, in.a) = bit(value.EqualIn(&t.m.pace, *t.slot(in.b), *t.slot(in.c)))
		return running
	}
	slow[ir.OpJumpEqual] = func(t *task, in *ins) status { return t.jumpWhen(in, true) }
	slow[ir.OpJumpNotEqual] = func(t *task, in *ins) status { return t.jumpWhen(in, false) }
	slow[ir.OpJumpEqualK] = func(t *task, in *ins) status { return t.jumpWhenK(in, true) }
	slow[ir.OpJumpNotEqualK] = func(t *task, in *ins) status { return t.jumpWhenK(in, false) }
}

// compareStrings orders by code point, which for UTF-8 is the order of bytes.
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

// jumpWhenK compares with a constant.
func (t *task) jumpWhenK(in *ins, equal bool) status {
	if value.EqualIn(&t.m.pace, *t.slot(in.a), t.m.constants[short(in)]) == equal {
		t.ip = jump(t.ip, in.imm)
	}
	return running
}
