package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Superinstructions: one instruction of the VM for several of the IR. A superinstruction never
// contains a jump target after its first part, and never crosses the edge of a region. An error in
// it has the place of the part that raised the error.

// fusable reports for each instruction of a block whether it can be fused with the preceding one:
// control reaches it only from the preceding instruction, and it is not at the edge of a region.
func fusable(b *ir.Block) []bool {
	inside := make([]bool, len(b.Code)+1)
	for i := range inside {
		inside[i] = true
	}
	for _, in := range b.Code {
		if jumps(uint8(in.Op)) && in.Imm >= 0 && int(in.Imm) < len(inside) {
			inside[in.Imm] = false
		}
	}
	for _, r := range b.Regions {
		for _, at := range []int{r.From, r.To, r.Target} {
			if at >= 0 && at < len(inside) {
				inside[at] = false
			}
		}
	}
	return inside
}

// fuse returns one instruction that replaces the n instructions from index i on. n is 0 if no
// fusion applies. inside is the result of fusable.
func fuse(code []ir.Instr, i int, inside []bool) (in ins, n int) {
	if i+1 >= len(code) || !inside[i+1] {
		return in, 0
	}
	x, y := code[i], code[i+1]
	if in, n := fuseMore(code, i, inside); n > 0 {
		return in, n
	}
	switch {
	case x.Op == ir.OpSubIntK && y.Op == ir.OpCall && x.A == y.A+1 && 0 <= x.Imm && x.Imm < 256:
		// fib(n - 1): the argument and the call.
		return ins{opSubIntKCall, y.A, x.B, uint8(x.Imm), y.Imm}, 2
	case x.Op == ir.OpAddInt && y.Op == ir.OpReturnInt && x.A == y.A:
		return ins{opAddIntReturn, x.A, x.B, x.C, 0}, 2
	case x.Op == ir.OpJumpGeIntK && y.Op == ir.OpReturnInt && x.A == y.A && int(x.Imm) == i+2:
		// if n < 2 { return n }
		return ins{opReturnLtIntK, x.A, x.B, x.C, 0}, 2
	case x.Op == ir.OpBoxInt && y.Op == ir.OpReturn && x.A == y.A:
		// The return of a method that was called through a trait or an Any. This fusion and the
		// next one together save 8 % of the time of such a call.
		return ins{opBoxIntReturn, x.B, 0, 0, 0}, 2
	case x.Op == ir.OpShare && y.Op == ir.OpMove && x.A == y.B:
		// an argument that the caller still uses after the call
		return ins{opShareMove, y.A, x.A, 0, 0}, 2
	case x.Op == ir.OpMulInt && y.Op == ir.OpAddInt && (y.B == x.A) != (y.C == x.A):
		// a + b * c: imm holds the registers of the product and of the other term
		other := y.B
		if other == x.A {
			other = y.C
		}
		op := opMulAddInt
		if i+2 < len(code) && inside[i+2] && code[i+2].Op == ir.OpRemIntK && byReciprocal(code[i+2]) && code[i+2].B == y.A {
			op = opMulAddRemInt
		}
		return ins{op, y.A, x.B, x.C, int32(x.A) | int32(other)<<8}, 2
	case x.Op == ir.OpMulFloat && y.Op == ir.OpAddFloat && (y.B == x.A) != (y.C == x.A):
		// a + b * c: together with m[i][j] below, the benchmark matrix takes 0.84 of its time.
		other := y.B
		if other == x.A {
			other = y.C
		}
		return ins{opMulAddFloat, y.A, x.B, x.C, int32(x.A) | int32(other)<<8}, 2
	case x.Op == ir.OpArrayGetInt && y.Op == ir.OpAddInt && (y.B == x.A) != (y.C == x.A):
		other := y.B
		if other == x.A {
			other = y.C
		}
		return ins{opGetAddInt, y.A, x.B, x.C, int32(x.A) | int32(other)<<8}, 2
	case x.Op == ir.OpField && y.Op == ir.OpArrayGet && y.B == x.A && y.C != x.A:
		return ins{opFieldGet, y.A, x.B, y.C, int32(x.A) | int32(x.C)<<8}, 2
	case x.Op == ir.OpShrIntK && y.Op == ir.OpXorInt && (y.B == x.A) != (y.C == x.A):
		// x ^ y >> 8: together with the next fusion, the benchmark crc takes 0.82 of its time.
		other := y.B
		if other == x.A {
			other = y.C
		}
		return ins{opShrXorInt, y.A, x.B, other, int32(x.A) | x.Imm<<8}, 2
	case x.Op == ir.OpXorInt && y.Op == ir.OpAndIntK && y.B == x.A && 0 <= y.Imm && y.Imm < 1<<16:
		return ins{opXorAndInt, y.A, x.B, x.C, int32(x.A) | y.Imm<<8}, 2
	case x.Op == ir.OpArrayGet && (y.Op == ir.OpArrayGetFloat || y.Op == ir.OpArrayGetInt) && y.B == x.A && x.A != y.C:
		// m[i][j]
		op := opArrayGetGetFloat
		if y.Op == ir.OpArrayGetInt {
			op = opArrayGetGetInt
		}
		return ins{op, y.A, x.B, x.C, int32(x.A) | int32(y.C)<<8}, 2
	}
	return in, 0
}

// fuseMore fuses sequences of more than two instructions: `a.x - b.x` and `a.v += b * c` of the
// benchmark n-body, which takes 1.3 times as long without them.
func fuseMore(code []ir.Instr, i int, inside []bool) (in ins, n int) {
	if i+2 >= len(code) || !inside[i+2] || code[i].Op != ir.OpFieldFloat {
		return in, 0
	}
	x, y, z := code[i], code[i+1], code[i+2]
	if y.Op == ir.OpFieldFloat && z.Op == ir.OpSubFloat && z.B == x.A && z.C == y.A && x.A != y.A && x.A != y.B {
		return ins{opSubFieldsFloat, z.A, x.B, y.B, int32(x.A) | int32(y.A)<<8 | int32(x.C)<<16 | int32(uint32(y.C)<<24)}, 3
	}
	if i+3 >= len(code) || !inside[i+3] || y.Op != ir.OpMulFloat || y.B == x.A || y.C == x.A || y.A == x.A || y.A == x.B || x.A == x.B {
		return in, 0
	}
	w := code[i+3]
	if z.B != x.A || z.C != y.A || z.A == x.B || w.Op != ir.OpSetFieldFloat || w.A != x.B || w.B != x.C || w.C != z.A {
		return in, 0
	}
	imm := int32(x.C) | int32(x.A)<<8 | int32(y.A)<<16 | int32(uint32(z.A)<<24)
	switch z.Op {
	case ir.OpAddFloat:
		return ins{opFieldAddMul, x.B, y.B, y.C, imm}, 4
	case ir.OpSubFloat:
		return ins{opFieldSubMul, x.B, y.B, y.C, imm}, 4
	}
	return in, 0
}

// fuseLoops replaces each Loop, and the test to which it jumps, by one instruction.
func fuseLoops(code []ins) {
	for pc := range code {
		in := &code[pc]
		to := pc + 1 + int(in.imm)
		if ir.Op(in.op) != ir.OpLoop || to < 0 || to >= len(code) {
			continue
		}
		switch ir.Op(code[to].op) {
		case ir.OpJumpLtInt:
			in.op = opLoopLtInt
		case ir.OpJumpLeInt:
			in.op = opLoopLeInt
		}
	}
}

// The parts of a fused instruction, executed one after the other in the cases that the dispatch
// loop does not handle.

func doSubIntKCall(t *task, in *ins) status {
	n, st := t.intArith(ir.AnySub, *intAt(t.fp, in.b), int64(in.c))
	if st != running {
		return st
	}
	if !t.need(int(in.a), headroom) {
		t.state.part = 1
		return t.tooDeep()
	}
	*intAt(t.fp, in.a+1) = n.AsInt()
	return t.enter(in.a, int(in.imm), nil)
}

func doShareMove(t *task, in *ins) status {
	value.Share(*t.slot(in.b))
	*t.slot(in.a) = *t.slot(in.b)
	return running
}

func doAddIntReturn(t *task, in *ins) status { return t.fault("integer overflow") }

// mulAdd multiplies and adds in the cases that the dispatch loop does not handle.
func mulAdd(t *task, in *ins) status {
	n, st := t.intArith(ir.AnyMul, *intAt(t.fp, in.b), *intAt(t.fp, in.c))
	if st != running {
		return st
	}
	*intAt(t.fp, uint8(in.imm)) = n.AsInt()
	n, st = t.intArith(ir.AnyAdd, n.AsInt(), *intAt(t.fp, uint8(in.imm>>8)))
	if st != running {
		t.state.part = 1
		return st
	}
	*intAt(t.fp, in.a) = n.AsInt()
	return running
}

// opArrayGetGet reads an element of an element in the cases that the dispatch loop does not handle.
func opArrayGetGet(t *task, in *ins) status {
	if st := t.arrayGet(&ins{a: uint8(in.imm), b: in.b, c: in.c, op: uint8(ir.OpArrayGet)}, true); st != running {
		return st
	}
	st := t.arrayGet(&ins{a: in.a, b: uint8(in.imm), c: uint8(in.imm >> 8), op: uint8(ir.OpArrayGetFloat)}, false)
	if st != running {
		t.state.part = 1
	}
	return st
}

// doGetAddInt reads an element and adds it to an Int in the cases that the dispatch loop does not
// handle.
func doGetAddInt(t *task, in *ins) status {
	if st := t.arrayGet(&ins{a: uint8(in.imm), b: in.b, c: in.c, op: uint8(ir.OpArrayGetInt)}, false); st != running {
		return st
	}
	n, st := t.intArith(ir.AnyAdd, *intAt(t.fp, uint8(in.imm)), *intAt(t.fp, uint8(in.imm>>8)))
	if st != running {
		t.state.part = 1
		return st
	}
	*intAt(t.fp, in.a) = n.AsInt()
	return running
}

// doFieldGet reads an element of a field in the cases that the dispatch loop does not handle.
func doFieldGet(t *task, in *ins) status {
	f := t.slot(in.b).Fields()
	n := int(uint8(in.imm >> 8))
	if n >= len(f) {
		return t.badOperand(&ins{op: uint8(ir.OpField)})
	}
	*t.slot(uint8(in.imm)) = f[n]
	st := t.arrayGet(&ins{a: in.a, b: uint8(in.imm), c: in.c, op: uint8(ir.OpArrayGet)}, true)
	if st != running {
		t.state.part = 1
	}
	return st
}
