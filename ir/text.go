package ir

import (
	"bytes"
	"fmt"
	"strconv"
)

// roleLetter contains the letter before the number of an operand in the text form. The letter
// identifies the table that the operand indexes. An instruction has the same text in files and in
// listings: the operation's name and its operands, separated by single spaces.
var roleLetter = [...]string{
	RoleRead: "r", RoleWrite: "r", RoleModify: "r", RoleWindow: "r", RoleFrame: "r",
	RoleLiteral:  "",
	RoleConstant: "k", RoleFunction: "f", RoleNative: "n", RoleType: "t", RoleListen: "l",
	RoleAgent: "d", RoleHost: "d", RoleTool: "d", RoleStore: "d", RoleTarget: "@", RoleBack: "@",
}

// Get returns field f of an instruction.
func (i Instr) Get(f Field) int {
	switch f {
	case A:
		return int(i.A)
	case B:
		return int(i.B)
	case C:
		return int(i.C)
	case BC:
		return int(i.BC())
	}
	return int(i.Imm)
}

// Set sets field f. ok is false if n does not fit into the field.
func (i *Instr) Set(f Field, n int64) (ok bool) {
	switch f {
	case A:
		i.A = uint8(n)
		return n == int64(i.A)
	case B:
		i.B = uint8(n)
		return n == int64(i.B)
	case C:
		i.C = uint8(n)
		return n == int64(i.C)
	case BC:
		i.SetBC(int16(n))
		return n == int64(int16(n))
	}
	i.Imm = int32(n)
	return n == int64(i.Imm)
}

// String returns the instruction's text.
func (i Instr) String() string { return string(i.appendText(nil)) }

func (i Instr) appendText(b []byte) []byte {
	info := Describe(i.Op)
	if info == nil {
		return fmt.Appendf(b, "Invalid %d", i.Op)
	}
	b = append(b, info.Name...)
	for _, o := range info.Operands {
		b = append(b, ' ')
		b = append(b, roleLetter[o.Role]...)
		b = strconv.AppendInt(b, int64(i.Get(o.Field)), 10)
	}
	return b
}

// ParseInstr parses the text of an instruction. It accepts exactly the texts that String returns.
func ParseInstr(text string) (Instr, error) { return parseInstr([]byte(text)) }

func parseInstr(text []byte) (Instr, error) {
	name, rest := word(text)
	op, ok := opNamed(string(name))
	if !ok {
		return Instr{}, fmt.Errorf("unknown instruction %q", name)
	}
	in := Instr{Op: op}
	for _, o := range Table[op].Operands {
		var w []byte
		if len(rest) > 0 && rest[0] == ' ' {
			w, rest = word(rest[1:])
		}
		letter := roleLetter[o.Role]
		if len(w) <= len(letter) || string(w[:len(letter)]) != letter {
			return Instr{}, fmt.Errorf("%q: operand %s should be written %s<number>, found %q", text, o.Name, letter, w)
		}
		n, ok := number(w[len(letter):])
		if !ok || !in.Set(o.Field, n) {
			return Instr{}, fmt.Errorf("%q: operand %s is out of range or not written as it should be", text, o.Name)
		}
	}
	if len(rest) > 0 {
		return Instr{}, fmt.Errorf("%q is not the text of a %s instruction", text, name)
	}
	return in, nil
}

// word splits b at the first space. rest begins with that space.
func word(b []byte) (word, rest []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// number parses a number of at most ten digits in its canonical form.
func number(b []byte) (n int64, ok bool) {
	negative := b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 10 || b[0] == '0' && (len(b) > 1 || negative) {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}
