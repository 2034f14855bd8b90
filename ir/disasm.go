package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// Disassemble returns the program's code as text, which is the output of `build --emit asm`. For
// each function the text contains the header, the instructions with their positions and the meaning
// of their indices, and the regions. The same follows for each handler of the function. If the
// program does not pass Verify, the text is as complete as possible.
func Disassemble(p *Program) string {
	d := &disassembler{p: p}
	for i := range p.Functions {
		if i > 0 {
			d.b.WriteByte('\n')
		}
		d.function(i)
	}
	return d.b.String()
}

// DisassembleFunction returns the text of function n alone.
func DisassembleFunction(p *Program, n int) string {
	d := &disassembler{p: p}
	d.function(n)
	return d.b.String()
}

type disassembler struct {
	p *Program
	b strings.Builder
}

func (d *disassembler) function(n int) {
	f := &d.p.Functions[n]
	params := make([]string, len(f.Params))
	for i, c := range f.Params {
		params[i] = fmt.Sprintf("r%d %s", i+1, c)
	}
	fmt.Fprintf(&d.b, "f%d %s(%s) -> %s, %s", n, f.Name, strings.Join(params, ", "), f.Result, f.ABI)
	if f.MutSelf {
		d.b.WriteString(", mutself")
	}
	if f.Body {
		d.b.WriteString(", body")
	}
	if f.Captures > 0 {
		fmt.Fprintf(&d.b, ", %d captures", f.Captures)
	}
	fmt.Fprintf(&d.b, ", %d registers", f.Registers)
	if in(f.File, len(d.p.Files)) && f.Line > 0 {
		fmt.Fprintf(&d.b, ", %s:%d", d.p.Files[f.File].Name, f.Line)
	}
	d.b.WriteByte('\n')
	d.block(&f.Block, "  ")
	for i := range f.Listens {
		l := &f.Listens[i]
		for j := range l.Handlers {
			d.handler(i, l, &l.Handlers[j])
		}
	}
}

func (d *disassembler) handler(n int, l *ListenInfo, h *Handler) {
	fmt.Fprintf(&d.b, "  l%d on %q => r%d", n, h.Type, h.Param)
	if h.Schema >= 0 {
		fmt.Fprintf(&d.b, ": %s", d.typeName(h.Schema))
	}
	if l.Host >= 0 && l.Host < len(d.p.Hosts) {
		fmt.Fprintf(&d.b, ", host %s", d.p.Hosts[l.Host].Name)
	}
	if l.Execute {
		d.b.WriteString(", execute")
	}
	if h.Implicit {
		d.b.WriteString(", implicit")
	}
	d.b.WriteByte('\n')
	d.block(&h.Block, "    ")
}

func (d *disassembler) block(b *Block, indent string) {
	next := 0
	for pc, i := range b.Code {
		place := ""
		if next < len(b.Positions) && b.Positions[next].PC == pc {
			place = fmt.Sprintf("%d:%d", b.Positions[next].Line, b.Positions[next].Column)
			next++
		}
		line := fmt.Sprintf("%s%3d  %-7s %s", indent, pc, place, i)
		if note := d.note(i); note != "" {
			line = fmt.Sprintf("%-46s ; %s", line, note)
		}
		d.b.WriteString(strings.TrimRight(line, " "))
		d.b.WriteByte('\n')
	}
	for _, r := range b.Regions {
		fmt.Fprintf(&d.b, "%scatch [@%d, @%d) to @%d, error in r%d\n", indent, r.From, r.To, r.Target, r.Register)
	}
	for _, r := range b.Inlined {
		name := "?"
		if in(r.Function, len(d.p.Functions)) {
			name = d.p.Functions[r.Function].Name
		}
		fmt.Fprintf(&d.b, "%sinlined [@%d, @%d) f%d at %d:%d ; %s\n", indent, r.From, r.To, r.Function, r.Line, r.Column, name)
	}
}

// note returns the meaning of the indices in an instruction.
func (d *disassembler) note(i Instr) string {
	info := Describe(i.Op)
	if info == nil {
		return ""
	}
	p := d.p
	for _, o := range info.Operands {
		n := i.Get(o.Field)
		switch {
		case o.Role == RoleConstant && in(n, len(p.Constants)):
			return p.Constants[n].text()
		case o.Role == RoleFunction && in(n, len(p.Functions)):
			return p.Functions[n].Name
		case o.Role == RoleNative && in(n, len(p.Natives)):
			return p.Natives[n]
		case o.Role == RoleType && in(n, len(p.Types)):
			if t := &p.Types[n]; i.Op == OpNewVariant && in(int(i.C), len(t.Variants)) {
				return t.Name + "::" + t.Variants[i.C].Name
			}
			return d.typeName(n)
		default:
			if name := d.declared(o.Role, n); name != "" {
				return name
			}
		}
	}
	return ""
}

// declared returns the name of the declaration with index n, for an operand with the given role.
func (d *disassembler) declared(role Role, n int) string {
	p := d.p
	switch {
	case role == RoleAgent && in(n, len(p.Agents)):
		return p.Agents[n].Name
	case role == RoleHost && in(n, len(p.Hosts)):
		return p.Hosts[n].Name
	case role == RoleTool && in(n, len(p.Tools)):
		return p.Tools[n].Name
	case role == RoleStore && in(n, len(p.Stores)):
		return p.Stores[n].Name
	}
	return ""
}

func (d *disassembler) typeName(n int) string {
	return d.typeText(n, 8)
}

func (d *disassembler) typeText(n, depth int) string {
	if !in(n, len(d.p.Types)) || depth == 0 {
		return "…"
	}
	t := &d.p.Types[n]
	args := make([]string, len(t.Args))
	for i, a := range t.Args {
		args[i] = d.typeText(a, depth-1)
	}
	switch {
	case t.Name != "":
		return t.Name
	case t.Kind == "tuple":
		return "(" + strings.Join(args, ", ") + ")"
	case t.Kind == "union":
		return fmt.Sprintf("%q", t.Values)
	case len(args) > 0:
		return t.Kind + "<" + strings.Join(args, ", ") + ">"
	}
	return t.Kind
}

// text returns a constant for a note, shortened and on one line.
func (k Const) text() string {
	switch {
	case k.Int != nil:
		return strconv.FormatInt(*k.Int, 10)
	case k.Float != nil:
		return string(appendFloat(nil, *k.Float))
	case k.String != nil:
		if r := []rune(*k.String); len(r) > 40 {
			return strconv.Quote(string(r[:40])) + "…"
		}
		return strconv.Quote(*k.String)
	}
	return ""
}
