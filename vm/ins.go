package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// ins is an instruction of the VM. Its fields are those of the IR, with two exceptions: imm of a
// jump is relative to the next instruction, and imm of a call is the entry of the called function.
type ins struct {
	op, a, b, c uint8
	imm         int32
}

const (
	insSize  = unsafe.Sizeof(ins{})
	slotSize = value.SlotSize
)

// The VM's own operations follow those of the IR.
const (
	opTrap        = uint8(len(ir.Table)) + iota // the end of a function, which control must not reach
	opFrameEnd                                  // the bottom frame has returned
	opEnter                                     // reserves a frame of imm registers
	opSkipPresent                               // jumps if the caller passed argument a (tool stubs)
	opToolError                                 // raises a as a ToolError (tool stubs)
	opToolResult                                // a = the value of a tool's result (tool stubs)
	opOwnAlways                                 // Own with Config.AlwaysCopy, and its variants
	opOwnFieldAlways
	opOwnElemAlways
	opMulAddInt        // fused: MulInt, AddInt
	opSubIntKCall      // fused: SubIntK into w+1, Call
	opAddIntReturn     // fused: AddInt, ReturnInt
	opReturnLtIntK     // fused: JumpGeIntK over ReturnInt of the same register
	opRemIntR          // RemIntK by the reciprocal at constant imm
	opDivIntR          // DivIntK by the reciprocal at constant imm
	opMulAddRemInt     // opMulAddInt followed by the opRemIntR of its sum
	opMulAddFloat      // fused: MulFloat, AddFloat
	opSubFieldsFloat   // fused: FieldFloat, FieldFloat, SubFloat
	opFieldAddMul      // fused: FieldFloat, MulFloat, AddFloat, SetFieldFloat of the same slot
	opFieldSubMul      // fused: FieldFloat, MulFloat, SubFloat, SetFieldFloat of the same slot
	opArrayGetGetFloat // fused: ArrayGet, ArrayGetFloat of its result
	opArrayGetGetInt   // fused: ArrayGet, ArrayGetInt of its result
	opGetAddInt        // fused: ArrayGetInt, AddInt of its result
	opFieldGet         // fused: Field, ArrayGet of an element of it
	opShrXorInt        // fused: ShrIntK, XorInt
	opXorAndInt        // fused: XorInt, AndIntK
	opBoxIntReturn     // fused: BoxInt, Return
	opShareMove        // fused: Share, Move of the same register
	opLoopLtInt        // Loop to a JumpLtInt, which it includes
	opLoopLeInt        // Loop to a JumpLeInt, which it includes
	opCover            // marks coverage point imm as reached
	opSample           // records the run's position for a profile
	opStep             // calls the Stepper at the start of a line
	opStop             // stops at stop point imm of a debugger
	opCount            // counts the executions of the next instruction
	opNumber
)

// The first word of a frame is its link. The low bits hold the return address, as a byte offset in
// the code. The high bits hold the distance in bytes to the caller's frame, so that a return need
// not read the call instruction: fib takes 17 % less time on one processor, 3 % less on another.
const (
	linkBits   = 32
	frameShift = linkBits + 4 // shift of a distance in slots
)

// returnTo returns the return address of a link. callerOf returns the caller's frame.
func returnTo(code unsafe.Pointer, link uint64) unsafe.Pointer {
	return unsafe.Add(code, uintptr(uint32(link)))
}
func callerOf(fp unsafe.Pointer, link uint64) unsafe.Pointer {
	return unsafe.Add(fp, -int(link>>linkBits))
}

// caller returns the frame that called the frame at fp, and the number of its call instruction. The
// number is 0 for the bottom frame.
func (t *task) caller(fp unsafe.Pointer) (of unsafe.Pointer, pc int) {
	link := *(*uint64)(fp)
	return callerOf(fp, link), int(uint32(link)/uint32(insSize)) - 1
}

// The operands of an instruction: registers of the frame at fp, and jump
// targets relative to ip.

func bitsAt(fp unsafe.Pointer, i uint8) *uint64 {
	return (*uint64)(unsafe.Add(fp, uintptr(i)*slotSize))
}
func intAt(fp unsafe.Pointer, i uint8) *int64 { return (*int64)(unsafe.Add(fp, uintptr(i)*slotSize)) }
func floatAt(fp unsafe.Pointer, i uint8) *float64 {
	return (*float64)(unsafe.Add(fp, uintptr(i)*slotSize))
}
func refAt(fp unsafe.Pointer, i uint8) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Add(fp, uintptr(i)*slotSize+8))
}
func slotAt(fp unsafe.Pointer, i uint8) *value.Slot {
	return (*value.Slot)(unsafe.Add(fp, uintptr(i)*slotSize))
}

// elemAt and wordAt return element i of an array of slots, or of words of 8 bytes.
func elemAt(data unsafe.Pointer, i uint64) *value.Slot {
	return (*value.Slot)(unsafe.Add(data, i*uint64(slotSize)))
}
func wordAt(data unsafe.Pointer, i uint64) *uint64 { return (*uint64)(unsafe.Add(data, i*8)) }

// holds reports whether a is an array in a representation that has an element i.
func holds(a *value.Array, repr value.Repr, i uint64) bool {
	return a.Kind == value.KindArray && a.Sub == repr && i < uint64(a.Len)
}

// fieldAt returns slot i of a block of memory. The slots follow the block's header. fieldBitsAt
// returns the slot's bits.
func fieldAt(o unsafe.Pointer, i uint8) *value.Slot {
	return (*value.Slot)(unsafe.Add(o, uintptr(i)*slotSize+slotSize))
}
func fieldBitsAt(o unsafe.Pointer, i uint8) *uint64 {
	return (*uint64)(unsafe.Add(o, uintptr(i)*slotSize+slotSize))
}

// jump returns the instruction that is imm instructions after ip.
func jump(ip unsafe.Pointer, imm int32) unsafe.Pointer {
	return unsafe.Add(ip, int(imm)*int(insSize))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// short returns the 16-bit operand that an instruction stores in b and c.
func short(in *ins) int64 { return int64(int16(uint16(in.b) | uint16(in.c)<<8)) }

// Parts of operations. They are functions because Go inlines less into a function that has more
// nodes than run has now (README.md).

func ints(fp unsafe.Pointer, in *ins) (x, y int64)    { return *intAt(fp, in.b), *intAt(fp, in.c) }
func intAndK(fp unsafe.Pointer, in *ins) (x, k int64) { return *intAt(fp, in.b), int64(in.imm) }

func addFloat(fp unsafe.Pointer, in *ins) {
	*floatAt(fp, in.a) = *floatAt(fp, in.b) + *floatAt(fp, in.c)
}
func subFloat(fp unsafe.Pointer, in *ins) {
	*floatAt(fp, in.a) = *floatAt(fp, in.b) - *floatAt(fp, in.c)
}
func mulFloat(fp unsafe.Pointer, in *ins) {
	*floatAt(fp, in.a) = *floatAt(fp, in.b) * *floatAt(fp, in.c)
}
func divFloat(fp unsafe.Pointer, in *ins) {
	*floatAt(fp, in.a) = *floatAt(fp, in.b) / *floatAt(fp, in.c)
}

// mulAddFloat executes opMulAddFloat. It rounds the product before the addition: the two operations
// must not be combined into one.
func mulAddFloat(fp unsafe.Pointer, in *ins) {
	p := float64(*floatAt(fp, in.b) * *floatAt(fp, in.c))
	*floatAt(fp, uint8(in.imm)) = p
	*floatAt(fp, in.a) = *floatAt(fp, uint8(in.imm>>8)) + p
}

// subFields executes opSubFieldsFloat with the addresses of its fields.
func subFields(fp unsafe.Pointer, in *ins, p, q unsafe.Pointer) {
	x, y := *(*float64)(p), *(*float64)(q)
	*floatAt(fp, uint8(in.imm)) = x
	*floatAt(fp, uint8(in.imm>>8)) = y
	*floatAt(fp, in.a) = x - y
}

// fieldAndProduct executes the first two parts of opFieldAddMul and opFieldSubMul, with the address
// of the field. It negates the product of the latter.
func fieldAndProduct(fp unsafe.Pointer, in *ins, at *float64) (x, p float64) {
	x, p = *at, float64(*floatAt(fp, in.b)**floatAt(fp, in.c))
	*floatAt(fp, uint8(in.imm>>8)) = x
	*floatAt(fp, uint8(in.imm>>16)) = p
	if in.op == opFieldSubMul {
		p = -p
	}
	return
}

func eqInt(fp unsafe.Pointer, in *ins) { *bitsAt(fp, in.a) = bit(*intAt(fp, in.b) == *intAt(fp, in.c)) }
func ltInt(fp unsafe.Pointer, in *ins) { *bitsAt(fp, in.a) = bit(*intAt(fp, in.b) < *intAt(fp, in.c)) }
func leInt(fp unsafe.Pointer, in *ins) { *bitsAt(fp, in.a) = bit(*intAt(fp, in.b) <= *intAt(fp, in.c)) }
func eqFloat(fp unsafe.Pointer, in *ins) {
	*bitsAt(fp, in.a) = bit(*floatAt(fp, in.b) == *floatAt(fp, in.c))
}
func ltFloat(fp unsafe.Pointer, in *ins) {
	*bitsAt(fp, in.a) = bit(*floatAt(fp, in.b) < *floatAt(fp, in.c))
}
func leFloat(fp unsafe.Pointer, in *ins) {
	*bitsAt(fp, in.a) = bit(*floatAt(fp, in.b) <= *floatAt(fp, in.c))
}

func xorInt(fp unsafe.Pointer, in *ins)  { *intAt(fp, in.a) = *intAt(fp, in.b) ^ *intAt(fp, in.c) }
func andIntK(fp unsafe.Pointer, in *ins) { *intAt(fp, in.a) = *intAt(fp, in.b) & int64(in.imm) }

func andOrInt(fp unsafe.Pointer, in *ins) {
	x, y := ints(fp, in)
	if ir.Op(in.op) == ir.OpAndInt {
		*intAt(fp, in.a) = x & y
	} else {
		*intAt(fp, in.a) = x | y
	}
}

// shiftInt shifts by n, which is 0 to 63.
func shiftInt(fp unsafe.Pointer, in *ins, n uint32) {
	if op := ir.Op(in.op); op == ir.OpShlInt || op == ir.OpShlIntK {
		*intAt(fp, in.a) = *intAt(fp, in.b) << (n & 63)
	} else {
		*intAt(fp, in.a) = *intAt(fp, in.b) >> (n & 63)
	}
}

// shiftAndXor executes opShrXorInt: imm holds the register of the shifted Int and the distance.
func shiftAndXor(fp unsafe.Pointer, in *ins) {
	s := *intAt(fp, in.b) >> (uint32(in.imm) >> 8 & 63)
	x := *intAt(fp, in.c) ^ s
	*intAt(fp, uint8(in.imm)) = s
	*intAt(fp, in.a) = x
}

// xorAndMask executes opXorAndInt: imm holds the register of the first result and the mask.
func xorAndMask(fp unsafe.Pointer, in *ins) {
	x := *intAt(fp, in.b) ^ *intAt(fp, in.c)
	*intAt(fp, uint8(in.imm)) = x
	*intAt(fp, in.a) = x & int64(in.imm>>8)
}

// The results of compareTexts.
const (
	unknownTexts = iota
	equalTexts
	differentTexts
)

// compareTexts compares two Strings in the cases that need no loop: both are one object, their
// lengths differ, or each has one byte. It returns unknownTexts in other cases and for other
// values.
func compareTexts(a, b unsafe.Pointer) int {
	x, y := (*value.Str)(a), (*value.Str)(b)
	if x == nil || y == nil || x.Kind != value.KindString || y.Kind != value.KindString {
		return unknownTexts
	}
	if x == y {
		return equalTexts
	}
	if len(x.S) != len(y.S) || len(x.S) == 1 && x.S[0] != y.S[0] {
		return differentTexts
	}
	if len(x.S) == 1 {
		return equalTexts
	}
	return unknownTexts
}
