package ir

import (
	"fmt"
	"strings"
)

//go:generate go run ./gen ../spec/bytecode.md opcodes.go

// Reference returns the text of spec/bytecode.md: every instruction with its operands and effect.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Bytecode

<!-- written from ir/ops.go by "make gen"; do not edit -->

This page lists the instructions of Concerto's IR, version ` + Version + `. [ir.md](ir.md) describes the
file format and the rules that the verifier checks.

An instruction is written as its name and its operands, separated by spaces, for example
` + "`AddInt r3 r1 r2`" + `. The letter before an operand's number is its kind:

| letter | operand |
| --- | --- |
| ` + "`r`" + ` | a register |
| ` + "`k`" + ` | a constant |
| ` + "`f`" + ` | a function |
| ` + "`n`" + ` | a native |
| ` + "`t`" + ` | a type |
| ` + "`l`" + ` | a listen of the function |
| ` + "`d`" + ` | a declaration: an agent, host, tool or store, depending on the instruction |
| ` + "`@`" + ` | an instruction of the same block |
| none | an immediate number |

After a register that is read is the class that it must have, and after a register that is written
(←) the class that it receives. A window (⧉) is the first of several consecutive registers.

| instruction | operands | effect |
| --- | --- | --- |
`)
	for i := range Table {
		info := &Table[i]
		effect := info.Doc
		if info.Traits.Has(Ends) {
			effect += " (does not continue with the next instruction)"
		}
		if info.Since > 0 {
			effect += fmt.Sprintf(" (since 1.%d)", info.Since)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", info.Name, operands(info), strings.ReplaceAll(effect, "|", `\|`))
	}
	return b.String()
}

// Opcodes returns the text of opcodes.go, which is not formatted: a constant and the shape for each
// row of the table, so that the start of a program computes neither.
func Opcodes() string {
	var b strings.Builder
	b.WriteString(`// Code generated from ops.go by "make gen"; DO NOT EDIT.

package ir

// The operations, by the names of their rows.
const (
`)
	typ := " Op = iota"
	for i := range Table {
		fmt.Fprintf(&b, "\tOp%s%s\n", Table[i].Name, typ)
		typ = ""
	}
	b.WriteString(`)

// opNamed returns the operation with a name.
func opNamed(name string) (op Op, ok bool) {
	switch name {
`)
	for i := range Table {
		fmt.Fprintf(&b, "case %q:\nreturn %d, true\n", Table[i].Name, i)
	}
	b.WriteString(`	}
	return 0, false
}

// Shapes contains the shape of each Op. The array has an entry for every value of an Op, so that
// indexing needs no bounds check.
var Shapes = [256]Shape{
`)
	for i := range Table {
		s := strings.ReplaceAll(fmt.Sprintf("%#v", shapeFor(&Table[i])), "[]ir.Read(nil)", "nil")
		fmt.Fprintf(&b, "%s,\n", strings.ReplaceAll(strings.TrimPrefix(s, "ir.Shape"), "ir.", ""))
	}
	b.WriteString("}\n")
	return b.String()
}

func operands(info *Info) string {
	words := make([]string, len(info.Operands))
	for i, o := range info.Operands {
		letter := roleLetter[o.Role]
		switch o.Role {
		case RoleRead:
			words[i] = fmt.Sprintf("`%s` %s %s", o.Name, letter, o.Class)
		case RoleWrite:
			words[i] = fmt.Sprintf("`%s` %s ←%s", o.Name, letter, o.Class)
		case RoleModify:
			words[i] = fmt.Sprintf("`%s` %s %s ←%s", o.Name, letter, o.Class, o.Class)
		case RoleWindow, RoleFrame:
			words[i] = fmt.Sprintf("`%s` %s ⧉", o.Name, letter)
		case RoleLiteral:
			words[i] = fmt.Sprintf("`%s`", o.Name)
		default:
			words[i] = fmt.Sprintf("`%s` %s", o.Name, letter)
		}
	}
	return strings.Join(words, ", ")
}
