// Package ir is what the compiler hands to the VM: typed register code as
// readable JSON, its instruction set, its verifier and its disassembler
// (spec/ir.md); its API promises nothing. A Program that Verify passes cannot break the VM.
package ir

// Op is an operation. Its row in the table of ops.go is its one definition.
type Op uint8

// Class is what is known of a register's content. An Int, Float or Bool
// register holds only bits, its ref may be stale; a Full one is a
// self-describing slot. Where a scalar operand is wanted a Full register also
// serves: the checker vouches that it holds that scalar.
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
	RoleWindow               // first register of a window of consecutive ones
	RoleLiteral              // a small number in place
	RoleConstant             // index into Program.Constants
	RoleFunction             // index into Program.Functions
	RoleNative               // index into Program.Natives
	RoleType                 // index into Program.Types
	RoleListen               // index into the function's Listens
	RoleDeclared             // index into Program.Agents, Hosts, Tools or Stores, by the op
	RoleTarget               // index of an instruction of the same block
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

// Operand is one operand of an op, in the order of its text.
type Operand struct {
	Name  string
	Role  Role
	Field Field
	Class Class
}

// Info is one row of the instruction set.
type Info struct {
	Op       Op
	Name     string
	Operands []Operand
	Doc      string // effect, faults; d, a, b, c are the operands' names
	Ends     bool   // control never goes on to the next instruction
}

// Instr is one instruction; which fields mean what stands in the op's row. A
// jump's Imm is the index of its target in the same instruction list.
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
		m[Table[i].Name] = Table[i].Op
	}
	return m
}()
