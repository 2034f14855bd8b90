// Package ir is what the compiler hands to the VM: typed register code as
// readable JSON, its instruction set, its verifier and its disassembler
// (spec/ir.md); its API promises nothing. A Program that Verify passes cannot break the VM.
package ir

// Op is an operation. Its row in the table of ops.go is its one definition.
type Op uint8

// Class says what is known of a register's content. An Int, Float or Bool
// register holds only bits; its ref may be stale. A Full register holds a
// self-describing slot. A Full register also serves where a scalar operand is
// wanted: the checker vouches that it holds that scalar.
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

// Role is what an operand does.
type Role uint8

// The roles.
const (
	RoleRead     Role = iota // reads the register, which must fit Class
	RoleWrite                // sets the register to Class
	RoleModify               // reads and sets a register of Class
	RoleWindow               // first register of a window of Count consecutive ones, which it reads
	RoleFrame                // first register of a call's frame: gets the result; Count arguments stand behind it
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
	RoleBack                 // index of any instruction of the same block: a loop's head
)

// Field says where in an Instr an operand stands.
type Field uint8

// The fields. BC is B and C together, a signed 16-bit number.
const (
	A Field = iota
	B
	C
	BC
	Imm
)

// Count says how many registers a window or frame has: a number, or one of the
// constants below when that depends on the instruction.
type Count int8

// Counts that depend on the instruction: its field B or C, the fields of the
// type or the payload of the variant that it names, or the parameters of its
// function.
const (
	countB Count = -1 - iota
	countC
	countTwiceC
	countFields
	countPayload
	countParams
	countCallee // the frame's first register, a closure, and B arguments
)

// Keeps says when a call leaves its first argument, the receiver that it may
// change, readable however the call ends.
type Keeps uint8

// The ways of keeping a receiver.
const (
	keepsNothing Keeps = iota
	keepsFirst         // whenever there is a first argument
	keepsMutSelf       // when the function called is mutself
	keepsByName        // when every method of the name called is mutself
)

// Operand is one operand of an op, in the order of its text.
type Operand struct {
	Name  string
	Role  Role
	Field Field
	Class Class
	Count Count // of a window or frame
	Keeps Keeps // of a frame
	rule  rule  // what else must hold of it (rules.go); nil without
}

// Traits are what an operation does besides reading and setting registers.
type Traits uint32

// The traits. Every row has one at least; Plain says that there is no other.
const (
	Plain   Traits = 1 << iota
	Ends           // control never goes on to the next instruction
	Returns        // it goes back to the caller
	Raises         // some values of its operands make it raise an error; full memory and a deep stack do not count
	Acts           // it runs other code or reaches the world, so anything in memory may change
	Noted          // where it ran is remembered, so that it is never left out
	Fact           // with the same registers and the memory that it reads it gives the same again: the optimiser remembers what it gave
	New            // it gives an object of its own, which may be changed in place
	Cheap          // it costs no more than a move
	Flat           // what it gives is no container: Share leaves it alone
)

// Memory is a kind of memory in the heap.
type Memory uint8

// The kinds of memory.
const (
	Elems     Memory = 1 << iota // which elements arrays hold
	Lens                         // how many
	Fields                       // slots of blocks
	Entries                      // of maps
	Cells                        // contents of cells
	Marks                        // which containers are marked as shared
	AnyMemory = Elems | Lens | Fields | Entries | Cells | Marks
)

// Traits hold, in these bits, the memory that an operation reads and the memory
// that it changes.
const (
	readsShift   = 16
	changesShift = 24
)

func reads(m Memory) Traits   { return Traits(m) << readsShift }
func changes(m Memory) Traits { return Traits(m) << changesShift }

// Has says whether all traits of u are among t.
func (t Traits) Has(u Traits) bool { return t&u == u }

// Reads is the memory that the operation's result depends on.
func (t Traits) Reads() Memory { return Memory(t >> readsShift) }

// Changes is the memory that the operation may change.
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
	Since    int    // the format's minor version that brought it
	Doc      string // effect, faults; d, a, b, c are the operands' names
}

// Instr is one instruction; the op's row says which fields mean what. A jump's
// Imm is the index of its target in the same instruction list.
type Instr struct {
	Op      Op
	A, B, C uint8
	Imm     int32
}

// BC gives B and C as one signed number.
func (i Instr) BC() int16 { return int16(uint16(i.B) | uint16(i.C)<<8) }

// SetBC sets B and C to one signed number.
func (i *Instr) SetBC(n int16) { i.B, i.C = uint8(uint16(n)), uint8(uint16(n)>>8) }

// Describe gives the row of op, or nil for a number that is no op.
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
