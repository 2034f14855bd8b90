package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// ins is an instruction of the VM. Its fields are those of the IR, except that imm is relative to
// the next instruction in a jump, and is the callee's entry in a call.
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
	opTrap       = uint8(len(ir.Table)) + iota // past the end of a function
	opFrameEnd                                 // the bottom frame has returned
	opEnter                                    // space for a frame of imm registers
	opSkipGiven                                // jumps if argument a was passed (tool stubs)
	opToolError                                // raises a as a ToolError (tool stubs)
	opToolResult                               // a = the value of a tool's result (tool stubs)
	opOwnAlways                                // Own with Config.AlwaysCopy, and its variants
	opOwnFieldAlways
	opOwnElemAlways
	opMulAddInt        // fused: MulInt, AddInt
	opSubIntKCall      // fused: SubIntK into w+1, Call
	opAddIntReturn     // fused: AddInt, ReturnInt
	opReturnLtIntK     // fused: JumpGeIntK over ReturnInt of the same register
	opRemIntR          // RemIntK by the reciprocal at constant imm
	opDivIntR          // DivIntK likewise
	opMulAddRemInt     // opMulAddInt followed by the opRemIntR of its sum
	opMulAddFloat      // fused: MulFloat, AddFloat
	opSubFieldsFloat   // fused: FieldFloat, FieldFloat, SubFloat
	opFieldAddMul      // fused: FieldFloat, MulFloat, AddFloat, SetFieldFloat of the same slot
	opFieldSubMul      // likewise with SubFloat
	opArrayGetGetFloat // fused: ArrayGet, ArrayGetFloat of its result
	opArrayGetGetInt   // likewise with ArrayGetInt
	opBoxIntReturn     // fused: BoxInt, Return
	opShareMove        // fused: Share, Move of the same register
	opLoopLtInt        // Loop to a JumpLtInt, which it includes
	opLoopLeInt        // likewise with JumpLeInt
	opCover            // the run has reached point imm
	opMark             // of a profile: the run's position
	opStep             // a line begins, for a Stepper
	opStop             // mark imm of a debugger, which is set
	opSwitchInt        // a run of JumpEqIntK, as a table of imm opCase
	opSwitchVariant    // a run of JumpVariant
	opSwitchText       // a run of JumpEqualK of Strings, as b and c opCase; imm is the table
	opCase             // an entry of a table: its target
	opCount            // counts the executions of the next instruction
	opNumber
)

// The first word of a frame is its link. The low bits hold the return address, as a byte offset in
// the code. The high bits hold the distance in bytes to the caller's frame, so that a return need
// not read the call instruction: fib takes 17 % less time on one processor, 3 % less on another.
const (
	linkBits   = 32
	frameShift = linkBits + 4 // of a number of slots
)

// returnTo and callerOf return the return address of a link, and the caller's frame.
func returnTo(code unsafe.Pointer, link uint64) unsafe.Pointer {
	return unsafe.Add(code, uintptr(uint32(link)))
}
func callerOf(fp unsafe.Pointer, link uint64) unsafe.Pointer {
	return unsafe.Add(fp, -int(link>>linkBits))
}

// caller returns the frame that called the one at fp, and the number of its call instruction, 0 at
// the bottom.
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

// fieldAt returns slot i of a block; the slots follow the block's head. fieldBitsAt returns the
// slot's bits.
func fieldAt(o unsafe.Pointer, i uint8) *value.Slot {
	return (*value.Slot)(unsafe.Add(o, uintptr(i)*slotSize+slotSize))
}
func fieldBitsAt(o unsafe.Pointer, i uint8) *uint64 {
	return (*uint64)(unsafe.Add(o, uintptr(i)*slotSize+slotSize))
}

// jump returns the instruction imm instructions after ip.
func jump(ip unsafe.Pointer, imm int32) unsafe.Pointer {
	return unsafe.Add(ip, int(imm)*int(insSize))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// short returns operand BC of an instruction.
func short(in *ins) int64 { return int64(int16(uint16(in.b) | uint16(in.c)<<8)) }
