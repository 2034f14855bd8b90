package optimize

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/ir"
)

// fold replaces an instruction with a known result. An instruction that would fault is not
// replaced, so that it faults at run time. A known operand becomes part of the instruction if the
// instruction set has such a form.
func (k *facts) fold(pc int, holds bitset) {
	in := k.u.code[pc]
	if in == nop {
		return
	}
	f := folder{k, holds}
	if out, ok := f.fold(in); ok && out != in {
		k.u.set(pc, out)
		return
	}
	if to, jumps, ok := f.jump(in); ok {
		switch {
		case to:
			k.u.set(pc, jumps)
		default:
			k.u.remove(pc)
		}
	}
}

type folder struct {
	k     *facts
	holds bitset
}

// int returns the Int that a register is known to contain.
func (f folder) int(r int) (n int64, ok bool) {
	f.k.findFact(r, f.holds, func(in ir.Instr) bool {
		switch in.Op {
		case ir.OpLoadInt:
			n, ok = int64(in.Imm), true
		case ir.OpLoadIntConst, ir.OpLoadConst:
			if c := f.k.u.p.Constants[in.Imm].Int; c != nil {
				n, ok = *c, true
			}
		}
		return ok
	})
	return n, ok
}

func (f folder) float(r int) (x float64, ok bool) {
	f.k.findFact(r, f.holds, func(in ir.Instr) bool {
		switch in.Op {
		case ir.OpLoadFloatConst, ir.OpLoadConst:
			if c := f.k.u.p.Constants[in.Imm].Float; c != nil {
				x, ok = *c, true
			}
		}
		return ok
	})
	return x, ok
}

// result returns the register with the payload, and the variant, of the Result that a register is
// known to contain.
func (f folder) result(r int) (s, variant int, ok bool) {
	for range 4 {
		in, found := f.k.findFact(r, f.holds, func(in ir.Instr) bool {
			return isResult(in.Op) || in.Op == ir.OpMove
		})
		switch {
		case !found:
			return 0, 0, false
		case in.Op == ir.OpMove:
			r = int(in.B)
		case in.Op == ir.OpNewOk:
			return int(in.B), 0, true
		default:
			return int(in.B), 1, true
		}
	}
	return 0, 0, false
}

func (f folder) bool(r int) (b, ok bool) {
	in, ok := f.k.findFact(r, f.holds, func(in ir.Instr) bool { return in.Op == ir.OpLoadBool })
	return in.Imm != 0, ok
}

// fold returns a cheaper instruction with the same effect as in, given the known values.
func (f folder) fold(in ir.Instr) (ir.Instr, bool) {
	d, b, c := in.A, int(in.B), int(in.C)
	switch in.Op {
	case ir.OpAddInt, ir.OpSubInt, ir.OpMulInt, ir.OpDivInt, ir.OpRemInt,
		ir.OpAndInt, ir.OpOrInt, ir.OpXorInt, ir.OpShlInt, ir.OpShrInt:
		return f.intOp(in)
	case ir.OpAndIntK, ir.OpShlIntK, ir.OpShrIntK, ir.OpAddIntK, ir.OpSubIntK, ir.OpMulIntK, ir.OpDivIntK, ir.OpRemIntK:
		if x, ok := f.int(b); ok {
			if n, ok := compute(in.Op, x, int64(in.Imm)); ok {
				return f.k.u.o.loadInt(d, n)
			}
		}
		return neutral(in)
	case ir.OpNegInt:
		if x, ok := f.int(b); ok {
			if n, ok := intmath.Neg(x); ok {
				return f.k.u.o.loadInt(d, n)
			}
		}
	case ir.OpAddFloat, ir.OpSubFloat, ir.OpMulFloat, ir.OpDivFloat:
		x, ok1 := f.float(b)
		y, ok2 := f.float(c)
		if ok1 && ok2 {
			return f.k.u.o.loadFloat(d, computeFloat(in.Op, x, y))
		}
	case ir.OpNegFloat:
		if x, ok := f.float(b); ok {
			return f.k.u.o.loadFloat(d, -x)
		}
	case ir.OpIntToFloat:
		if x, ok := f.int(b); ok {
			return f.k.u.o.loadFloat(d, float64(x))
		}
	case ir.OpEqInt, ir.OpLtInt, ir.OpLeInt:
		x, ok1 := f.int(b)
		y, ok2 := f.int(c)
		if ok1 && ok2 {
			return loadBool(d, in.Op == ir.OpEqInt && x == y || in.Op == ir.OpLtInt && x < y || in.Op == ir.OpLeInt && x <= y), true
		}
	case ir.OpNot:
		if x, ok := f.bool(b); ok {
			return loadBool(d, !x), true
		}
	case ir.OpBoxInt:
		if x, ok := f.int(b); ok {
			return ir.Instr{Op: ir.OpLoadConst, A: d, Imm: f.k.u.o.intConst(x)}, true
		}
	case ir.OpBoxFloat:
		if x, ok := f.float(b); ok {
			return ir.Instr{Op: ir.OpLoadConst, A: d, Imm: f.k.u.o.floatConst(x)}, true
		}
	case ir.OpField, ir.OpFieldInt, ir.OpFieldFloat, ir.OpFieldBool:
		// The value has just been put into an Ok or Err.
		if s, _, ok := f.result(b); ok && c == 0 && f.k.classes.Fits(s, ir.ShapeOf(in).Writes) {
			return ir.Instr{Op: moveOf[ir.ShapeOf(in).Writes], A: d, B: uint8(s)}, true
		}
	case ir.OpMoveInt:
		if x, ok := f.int(b); ok {
			return f.k.u.o.loadInt(d, x)
		}
	}
	return in, false
}

// intOp folds an operation on two Ints.
func (f folder) intOp(in ir.Instr) (ir.Instr, bool) {
	x, ok1 := f.int(int(in.B))
	y, ok2 := f.int(int(in.C))
	if ok1 && ok2 {
		if n, ok := compute(in.Op, x, y); ok {
			return f.k.u.o.loadInt(in.A, n)
		}
		return in, false
	}
	if ok1 && (in.Op == ir.OpAddInt || in.Op == ir.OpMulInt || in.Op == ir.OpAndInt) {
		in.B, in.C, x, y, ok1, ok2 = in.C, in.B, y, x, ok2, ok1
	}
	if op, has := withK[in.Op]; has && ok2 && y == int64(int32(y)) && !faultsWith(op, y) {
		return neutral(ir.Instr{Op: op, A: in.A, B: in.B, Imm: int32(y)})
	}
	return in, false
}

// withK maps operations to their forms whose second operand is a number in the instruction.
var withK = map[ir.Op]ir.Op{
	ir.OpAddInt: ir.OpAddIntK, ir.OpSubInt: ir.OpSubIntK, ir.OpMulInt: ir.OpMulIntK,
	ir.OpDivInt: ir.OpDivIntK, ir.OpRemInt: ir.OpRemIntK,
	ir.OpAndInt: ir.OpAndIntK, ir.OpShlInt: ir.OpShlIntK, ir.OpShrInt: ir.OpShrIntK,
}

// faultsWith reports whether the operation always faults if its second operand is y.
func faultsWith(op ir.Op, y int64) bool {
	switch op {
	case ir.OpDivIntK, ir.OpRemIntK:
		return y == 0
	case ir.OpShlIntK, ir.OpShrIntK:
		return y < 0 || y > 63
	}
	return false
}

// neutral returns a move for an operation that returns one of its operands unchanged.
func neutral(in ir.Instr) (ir.Instr, bool) {
	switch {
	case in.Imm == 0 && (in.Op == ir.OpAddIntK || in.Op == ir.OpSubIntK), in.Imm == 1 && (in.Op == ir.OpMulIntK || in.Op == ir.OpDivIntK):
		return ir.Instr{Op: ir.OpMoveInt, A: in.A, B: in.B}, true
	}
	return in, true
}

// compute returns x op y. ok is false if the operation faults.
func compute(op ir.Op, x, y int64) (n int64, ok bool) {
	switch op {
	case ir.OpAddInt, ir.OpAddIntK:
		return intmath.Add(x, y)
	case ir.OpSubInt, ir.OpSubIntK:
		return intmath.Sub(x, y)
	case ir.OpMulInt, ir.OpMulIntK:
		return intmath.Mul(x, y)
	case ir.OpDivInt, ir.OpDivIntK:
		return intmath.Div(x, y)
	case ir.OpAndInt, ir.OpAndIntK:
		return x & y, true
	case ir.OpOrInt:
		return x | y, true
	case ir.OpXorInt:
		return x ^ y, true
	case ir.OpShlInt, ir.OpShlIntK:
		return x << (uint64(y) & 63), 0 <= y && y <= 63
	case ir.OpShrInt, ir.OpShrIntK:
		return x >> (uint64(y) & 63), 0 <= y && y <= 63
	}
	return intmath.Rem(x, y)
}

func computeFloat(op ir.Op, x, y float64) float64 {
	switch op {
	case ir.OpAddFloat:
		return x + y
	case ir.OpSubFloat:
		return x - y
	case ir.OpMulFloat:
		return x * y
	}
	return x / y
}

func loadBool(d uint8, b bool) ir.Instr {
	if b {
		return ir.Instr{Op: ir.OpLoadBool, A: d, Imm: 1}
	}
	return ir.Instr{Op: ir.OpLoadBool, A: d}
}

func (o *optimizer) loadInt(d uint8, n int64) (ir.Instr, bool) {
	if n == int64(int32(n)) {
		return ir.Instr{Op: ir.OpLoadInt, A: d, Imm: int32(n)}, true
	}
	return ir.Instr{Op: ir.OpLoadIntConst, A: d, Imm: o.intConst(n)}, true
}

func (o *optimizer) loadFloat(d uint8, x float64) (ir.Instr, bool) {
	return ir.Instr{Op: ir.OpLoadFloatConst, A: d, Imm: o.floatConst(x)}, true
}

// intConst returns the index of a constant. It adds the constant if necessary.
func (o *optimizer) intConst(n int64) int32 {
	o.constants()
	i, ok := o.ints[n]
	if !ok {
		i = int32(len(o.p.Constants))
		o.ints[n] = i
		o.p.Constants = append(o.p.Constants, ir.Const{Int: &n})
	}
	return i
}

func (o *optimizer) floatConst(x float64) int32 {
	o.constants()
	i, ok := o.floats[math.Float64bits(x)]
	if !ok {
		i = int32(len(o.p.Constants))
		o.floats[math.Float64bits(x)] = i
		o.p.Constants = append(o.p.Constants, ir.Const{Float: &x})
	}
	return i
}

// constants builds the index of the numbers in the constant pool, once.
func (o *optimizer) constants() {
	if o.ints != nil {
		return
	}
	o.ints, o.floats = map[int64]int32{}, map[uint64]int32{}
	for i, c := range o.p.Constants {
		switch {
		case c.Int != nil:
			o.ints[*c.Int] = int32(i)
		case c.Float != nil:
			o.floats[math.Float64bits(*c.Float)] = int32(i)
		}
	}
}

// jump handles a conditional jump whose result is known, and a jump to such a jump. to reports
// whether it jumps, and taken is then the jump. If the jump compares with a small known number,
// jump returns the form that contains the number.
func (f folder) jump(in ir.Instr) (to bool, taken ir.Instr, ok bool) {
	always := ir.Instr{Op: ir.OpJump, Imm: in.Imm}
	switch in.Op {
	case ir.OpJumpVariant, ir.OpJumpNotVariant:
		if _, v, ok := f.result(int(in.A)); ok {
			return (v == int(in.B)) == (in.Op == ir.OpJumpVariant), always, true
		}
	case ir.OpJump:
		// The jump leads to a test whose result is known only on this path.
		test := f.k.u.code[f.k.u.finalTarget(int(in.Imm))]
		if test == nop || test.Op != ir.OpJumpVariant && test.Op != ir.OpJumpNotVariant {
			break
		}
		if _, v, ok := f.result(int(test.A)); ok {
			if (v == int(test.B)) == (test.Op == ir.OpJumpVariant) {
				return true, ir.Instr{Op: ir.OpJump, Imm: test.Imm}, true
			}
			return true, ir.Instr{Op: ir.OpJump, Imm: int32(f.k.u.after(f.k.u.finalTarget(int(in.Imm))))}, true
		}
	case ir.OpJumpIf, ir.OpJumpIfNot:
		if b, ok := f.bool(int(in.A)); ok {
			return b == (in.Op == ir.OpJumpIf), always, true
		}
		return f.test(in)
	case ir.OpJumpEqInt, ir.OpJumpNeInt, ir.OpJumpLtInt, ir.OpJumpLeInt:
		x, ok1 := f.int(int(in.A))
		y, ok2 := f.int(int(in.B))
		switch {
		case ok1 && ok2:
			return holdsInt(in.Op, x, y), always, true
		case ok2 && y == int64(int16(y)):
			out := ir.Instr{Op: jumpK[in.Op], A: in.A, Imm: in.Imm}
			out.SetBC(int16(y))
			return true, out, true
		case ok1 && x == int64(int16(x)):
			out := ir.Instr{Op: jumpKMirrored[in.Op], A: in.B, Imm: in.Imm}
			out.SetBC(int16(x))
			return true, out, true
		}
	case ir.OpJumpEqIntK, ir.OpJumpNeIntK, ir.OpJumpLtIntK, ir.OpJumpLeIntK, ir.OpJumpGtIntK, ir.OpJumpGeIntK:
		if x, ok := f.int(int(in.A)); ok {
			return holdsInt(in.Op, x, int64(in.BC())), always, true
		}
	}
	return false, in, false
}

// jumpsIf maps an operation that sets a Bool to the jump that jumps if this Bool is true. It maps
// other operations to OpMove, the zero value.
var jumpsIf = [256]ir.Op{ir.OpEqInt: ir.OpJumpEqInt, ir.OpLtInt: ir.OpJumpLtInt, ir.OpLeInt: ir.OpJumpLeInt,
	ir.OpLtFloat: ir.OpJumpLtFloat, ir.OpLeFloat: ir.OpJumpLeFloat, ir.OpNot: ir.OpJumpIfNot, ir.OpIsNil: ir.OpJumpNil}

// test replaces a comparison and the jump that depends on it with one instruction.
func (f folder) test(in ir.Instr) (to bool, taken ir.Instr, ok bool) {
	x, ok := f.k.findFact(int(in.A), f.holds, func(x ir.Instr) bool { return jumpsIf[x.Op] != ir.OpMove })
	if !ok {
		return false, in, false
	}
	for _, o := range ir.ShapeOf(x).Reads {
		if !f.k.classes.Fits(x.Get(o.Field), o.Class) {
			return false, in, false
		}
	}
	out := ir.Instr{Op: jumpsIf[x.Op], A: x.B, B: x.C, Imm: in.Imm}
	if in.Op == ir.OpJumpIfNot {
		out, _ = opposite(out)
	}
	return true, out, true
}

var jumpK = map[ir.Op]ir.Op{ir.OpJumpEqInt: ir.OpJumpEqIntK, ir.OpJumpNeInt: ir.OpJumpNeIntK, ir.OpJumpLtInt: ir.OpJumpLtIntK,
	ir.OpJumpLeInt: ir.OpJumpLeIntK}

// jumpKMirrored maps jumps to their forms for a known left operand: k < x means x > k.
var jumpKMirrored = map[ir.Op]ir.Op{ir.OpJumpEqInt: ir.OpJumpEqIntK, ir.OpJumpNeInt: ir.OpJumpNeIntK, ir.OpJumpLtInt: ir.OpJumpGtIntK,
	ir.OpJumpLeInt: ir.OpJumpGeIntK}

func holdsInt(op ir.Op, x, y int64) bool {
	switch op {
	case ir.OpJumpEqInt, ir.OpJumpEqIntK:
		return x == y
	case ir.OpJumpNeInt, ir.OpJumpNeIntK:
		return x != y
	case ir.OpJumpLtInt, ir.OpJumpLtIntK:
		return x < y
	case ir.OpJumpLeInt, ir.OpJumpLeIntK:
		return x <= y
	case ir.OpJumpGtIntK:
		return x > y
	}
	return x >= y
}
