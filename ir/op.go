// Package ir defines the compiler's output for the VM: typed register code as readable JSON, its
// instruction set, its verifier and its disassembler (spec/ir.md). Its API is not covered by the
// compatibility promise. A Program that Verify passes cannot break the VM.
package ir

// Op is an operation. Its row in the table of ops.go is its only definition.
type Op uint8

// Class is what is known of a register's content. An Int, Float or Bool register holds only bits;
// its ref may be stale. A Full register holds a self-describing slot. A Full register can also be a
// scalar operand: the checker guarantees that it holds that scalar.
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
	RoleWindow               // first register of a window of Count consecutive ones, which it reads
	RoleFrame                // first register of a call's frame, which receives the result; Count arguments follow it
	RoleLiteral              // a small number in place
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

// Count is the number of registers in a window or frame: a number, or one of the constants below if
// it depends on the instruction.
type Count int8

// Counts that depend on the instruction: its field B or C, the fields of the type or the payload of
// the variant that it names, or the parameters of its function.
const (
	countB Count = -1 - iota
	countC
	countTwiceC
	countFields
	countPayload
	countParams
	countCallee // the frame's first register, a closure, and B arguments
)

// Preserve specifies when a call leaves its first argument, the receiver that it may change,
// readable, also after an error.
type Preserve uint8

// When a receiver stays readable.
const (
	preserveNone    Preserve = iota
	preserveFirst            // whenever there is a first argument
	preserveMutSelf          // if the called function is mutself
	preserveByName           // if every method with the called name is mutself
)

// Operand is one operand of an op, in the order of its text.
type Operand struct {
	Name     string
	Role     Role
	Field    Field
	Class    Class
	Count    Count    // of a window or frame
	Preserve Preserve // of a frame
	rule     rule     // a further condition (rules.go), or nil
}

// Traits describe what an operation does besides reading and setting registers.
type Traits uint32

// The traits. Every row has at least one; Plain means that there is no other.
const (
	Plain   Traits = 1 << iota
	Ends           // control never continues at the next instruction
	Returns        // it returns to the caller
	Raises         // it raises an error for some values of its operands; full memory and a deep stack do not count
	Acts           // it runs other code or has external effects, so anything in memory may change
	Noted          // its position is recorded, so it is never removed
	Fact           // the result depends only on the registers and memory that it reads: the optimiser can reuse it
	New            // the result is a new object, which can be changed in place
	Cheap          // it costs no more than a move
	Flat           // the result is not a container: Share does not change it
)

// Memory is a kind of memory in the heap.
type Memory uint8

// The kinds of memory.
const (
	Elems     Memory = 1 << iota // the elements of arrays
	Lens                         // their lengths
	Fields                       // slots of blocks
	Entries                      // entries of maps
	Cells                        // contents of cells
	Marks                        // which containers are marked as shared
	AnyMemory = Elems | Lens | Fields | Entries | Cells | Marks
)

// These bits of Traits contain the memory that an operation reads and the memory that it changes.
const (
	readsShift   = 16
	changesShift = 24
)

func reads(m Memory) Traits   { return Traits(m) << readsShift }
func changes(m Memory) Traits { return Traits(m) << changesShift }

// Has reports whether t contains all traits of u.
func (t Traits) Has(u Traits) bool { return t&u == u }

// Reads returns the memory that the operation's result depends on.
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
	Since    int    // the format's minor version that added it
	Doc      string // effect and faults; d, a, b, c are the operands' names
}

// Instr is one instruction. The op's row defines the meaning of the fields. A jump's Imm is the
// index of its target in the same instruction list.
type Instr struct {
	Op      Op
	A, B, C uint8
	Imm     int32
}

// BC returns B and C as one signed number.
func (i Instr) BC() int16 { return int16(uint16(i.B) | uint16(i.C)<<8) }

// SetBC sets B and C to one signed number.
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

var byName = func() map[string]Op {
	m := make(map[string]Op, len(Table))
	for i := range Table {
		m[Table[i].Name] = Op(i)
	}
	return m
}()
