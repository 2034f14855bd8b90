// Package ir defines the compiler's output for the VM: typed register code as readable JSON, the
// instruction set, a verifier and a disassembler (spec/ir.md). A Program that Verify accepts cannot
// corrupt the VM.
package ir

// Op is an operation. Its row in the table of ops.go is its only definition.
type Op uint8

// Class is what the verifier knows about a register's content. An Int, Float or Bool register
// contains only bits; its ref may be stale. A Full register contains a slot that identifies its
// kind. A Full register may also be the operand of an operation on scalars: the checker guarantees
// that it contains a scalar of that type.
type Class uint8

// The classes.
const (
	Unset Class = iota
	Int
	Float
	Bool
	Full
)

func (c Class) String() string { return [...]string{"Unset", "Int", "Float", "Bool", "Full"}[c] }

// Role is the role of an operand.
type Role uint8

// The roles.
const (
	RoleRead     Role = iota // reads the register, which must fit Class
	RoleWrite                // sets the register to Class
	RoleModify               // reads and sets a register of Class
	RoleWindow               // first register of a window of Count consecutive registers, which the instruction reads
	RoleFrame                // first register of a call's frame; the call stores its result there, and Count arguments follow it
	RoleLiteral              // a small number in the instruction itself
	RoleConstant             // index into Program.Constants
	RoleFunction             // index into Program.Functions
	RoleNative               // index into Program.Natives
	RoleType                 // index into Program.Types
	RoleListen               // index into the function's Listens
	RoleAgent                // index into Program.Agents
	RoleHost                 // index into Program.Hosts
	RoleTool                 // index into Program.Tools
	RoleStore                // index into Program.Stores
	RoleTarget               // index of a later instruction of the same block
	RoleBack                 // index of any instruction of the same block: the head of a loop
)

// Field is the position of an operand in an Instr.
type Field uint8

// The fields. BC is B and C together, a signed 16-bit number.
const (
	A Field = iota
	B
	C
	BC
	Imm
)

// Count is the number of registers in a window or frame. It is one of the constants below if it
// depends on the instruction.
type Count int8

// Counts that depend on the instruction: its field B or C, the number of fields of the type that it
// names, the size of the payload of the variant that it names, or the number of parameters of the
// function that it calls.
const (
	countB Count = -1 - iota
	countC
	countTwiceC
	countFields
	countPayload
	countParams
	countCallee // the closure in the frame's first register, and B arguments
)

// Preserve specifies whether a call preserves its first argument, the receiver, which the call may
// change. A preserved receiver can be read after the call, even if the call raises an error.
type Preserve uint8

// Conditions under which a call preserves the receiver.
const (
	preserveNone    Preserve = iota
	preserveFirst            // if there is a first argument
	preserveMutSelf          // if the called function is mutself
	preserveByName           // if every method with the called name is mutself
)

// Operand is one operand of an operation. The operands are listed in the order of the text form.
type Operand struct {
	Name     string
	Role     Role
	Field    Field
	Class    Class
	Count    Count    // number of registers of a window or frame
	Preserve Preserve // condition for preserving the receiver of a call
	rule     rule     // additional condition (rules.go); nil if there is none
}

// Traits describe the effects of an operation other than reading and setting registers.
type Traits uint32

// The traits. Every row has at least one; Plain means that there is no other.
const (
	Plain   Traits = 1 << iota
	Ends           // control never continues at the next instruction
	Returns        // control returns to the caller
	Raises         // the operation raises an error for some values of its operands; exhausted memory and stack do not count
	Acts           // the operation runs other code or has external effects, so that anything in memory may change
	Noted          // the position of the instruction is recorded, so that the optimiser never removes it
	Fact           // the result depends only on the registers and the memory that the operation reads, so that the optimiser can reuse it
	New            // the result is a new object, which may be modified without a copy
	Cheap          // the operation costs no more than a move
	Flat           // the result is not a container, so that Share has no effect on it
)

// Memory is a set of the kinds of memory in the heap.
type Memory uint8

// The kinds of memory.
const (
	Elems     Memory = 1 << iota // the elements of arrays
	Lens                         // the lengths of arrays
	Fields                       // the slots of blocks
	Entries                      // the entries of maps
	Cells                        // the contents of cells
	Marks                        // the marks of containers that are possibly shared
	AnyMemory = Elems | Lens | Fields | Entries | Cells | Marks
)

// Positions of the two sets of Memory in Traits: memory that an operation reads, and memory that it
// changes.
const (
	readsShift   = 16
	changesShift = 24
)

func reads(m Memory) Traits   { return Traits(m) << readsShift }
func changes(m Memory) Traits { return Traits(m) << changesShift }

// Has reports whether t contains all traits of u.
func (t Traits) Has(u Traits) bool { return t&u == u }

// Reads returns the memory on which the operation's result depends.
func (t Traits) Reads() Memory { return Memory(t >> readsShift) }

// Changes returns the memory that the operation may change.
func (t Traits) Changes() Memory {
	if t.Has(Acts) {
		return AnyMemory
	}
	return Memory(t >> changesShift)
}

// Info is one row of the instruction set.
type Info struct {
	Name     string
	Operands []Operand
	Traits   Traits
	Since    int    // minor version of the format that added the operation
	Doc      string // effect and faults; d, a, b, c are the names of the operands
}

// Instr is one instruction. The row of its operation defines the meaning of the fields. Imm of a
// jump is the index of the target in the same list of instructions.
type Instr struct {
	Op      Op
	A, B, C uint8
	Imm     int32
}

// BC returns B and C as one signed 16-bit number.
func (i Instr) BC() int16 { return int16(uint16(i.B) | uint16(i.C)<<8) }

// SetBC sets B and C to one signed 16-bit number.
func (i *Instr) SetBC(n int16) { i.B, i.C = uint8(uint16(n)), uint8(uint16(n)>>8) }

// Describe returns the row of op, or nil if there is none.
func Describe(op Op) *Info {
	if int(op) >= len(Table) {
		return nil
	}
	return &Table[op]
}

func (o Op) String() string {
	if i := Describe(o); i != nil {
		return i.Name
	}
	return "Invalid"
}
