package ir

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file copies functions and types of one program to another, whose tables have other numbers.

// file returns the number in the grown program for file n of other.
func (x *grower) file(n int) int {
	if n < 0 || n >= len(x.other.Files) {
		return n
	}
	f := x.other.Files[n]
	at := slices.IndexFunc(x.out.Files, func(o File) bool { return o.Name == f.Name })
	if at < 0 {
		at = len(x.out.Files)
		x.out.Files = append(slices.Clone(x.out.Files), f)
	}
	return at
}

// function returns a copy of a function of other, with the numbers of the grown program.
func (x *grower) function(f *Function) (g Function, err error) {
	g = *f
	g.File = x.file(f.File)
	if g.Block, err = x.block(f, &f.Block); err != nil {
		return g, err
	}
	g.Listens = slices.Clone(f.Listens)
	for i := range g.Listens {
		l := &g.Listens[i]
		if l.Host >= 0 {
			l.Host = x.to[kindHost][l.Host]
		}
		l.Handlers = slices.Clone(l.Handlers)
		for j := range l.Handlers {
			h := &l.Handlers[j]
			if h.Block, err = x.block(f, &h.Block); err != nil {
				return g, err
			}
			if h.Schema >= 0 {
				h.Schema = x.typ(h.Schema)
			}
		}
	}
	return g, nil
}

func (x *grower) block(f *Function, b *Block) (Block, error) {
	out := *b
	out.Code = slices.Clone(b.Code)
	for i := range out.Code {
		in := &out.Code[i]
		info := Describe(in.Op)
		if info == nil {
			return out, fmt.Errorf("no operation %d", in.Op)
		}
		for _, o := range info.Operands {
			n, indexed := x.other.Indexed(o.Role, f)
			if !indexed {
				continue
			}
			at := in.Get(o.Field)
			if at < 0 || at >= n {
				return out, fmt.Errorf("index %d is out of bounds", at)
			}
			to := x.index(o.Role, at)
			if !in.Set(o.Field, int64(to)) {
				return out, fmt.Errorf("there are too many of a kind: %d", to)
			}
		}
	}
	out.Inlined = slices.Clone(b.Inlined)
	for i := range out.Inlined {
		out.Inlined[i].Function = x.to[kindFunction][out.Inlined[i].Function]
	}
	return out, nil
}

// index returns the number in the grown program for index n of other. role determines the table.
func (x *grower) index(role Role, n int) int {
	switch role {
	case RoleConstant:
		return x.constant(x.other.Constants[n])
	case RoleType:
		return x.typ(n)
	case RoleNative:
		name := x.other.Natives[n]
		if at := slices.Index(x.out.Natives, name); at >= 0 {
			return at
		}
		x.out.Natives = append(x.out.Natives, name)
		return len(x.out.Natives) - 1
	}
	if k, is := roleKinds[role]; is {
		return x.to[k][n]
	}
	return n // of a table of the function
}

func (c Const) key() string {
	switch {
	case c.Int != nil:
		return "i" + strconv.FormatInt(*c.Int, 10)
	case c.Float != nil:
		return "f" + strconv.FormatFloat(*c.Float, 'x', -1, 64)
	case c.String != nil:
		return "s" + *c.String
	}
	return ""
}

func (x *grower) constant(c Const) int {
	if x.constants == nil {
		x.constants = map[string]int{}
		for i, o := range x.out.Constants {
			x.constants[o.key()] = i
		}
	}
	n, ok := x.constants[c.key()]
	if !ok {
		n = len(x.out.Constants)
		x.out.Constants = append(x.out.Constants, c)
		x.constants[c.key()] = n
	}
	return n
}

// typ returns the number in the grown program for type n of other. It compares types by their
// text, which contains the name of a named type and the structure of any other type.
func (x *grower) typ(n int) int {
	if at, ok := x.types[n]; ok {
		return at
	}
	if x.texts == nil {
		x.texts = map[string]int{}
		for i := range x.out.Types {
			x.texts[typeText(x.out, i)] = i
		}
	}
	text := typeText(x.other, n)
	at, ok := x.texts[text]
	if !ok {
		at = len(x.out.Types)
		x.out.Types = append(x.out.Types, TypeInfo{})
		x.texts[text], x.types[n] = at, at
		x.out.Types[at] = x.info(x.other.Types[n])
	}
	x.types[n] = at
	return at
}

// info returns a type with the numbers of the grown program.
func (x *grower) info(t TypeInfo) TypeInfo {
	t.Args = slices.Clone(t.Args)
	for i := range t.Args {
		t.Args[i] = x.typ(t.Args[i])
	}
	fields := func(all []FieldInfo) []FieldInfo {
		all = slices.Clone(all)
		for i := range all {
			all[i].Type = x.typ(all[i].Type)
		}
		return all
	}
	t.Fields = fields(t.Fields)
	t.Variants = slices.Clone(t.Variants)
	for i := range t.Variants {
		t.Variants[i].Fields = fields(t.Variants[i].Fields)
	}
	return t
}

// typeText returns a text that identifies a type. The text is finite, because a type refers to
// itself only through a named type.
func typeText(p *Program, n int) string {
	var b strings.Builder
	writeType(&b, p, n, map[int]bool{})
	return b.String()
}

func writeType(b *strings.Builder, p *Program, n int, above map[int]bool) {
	t := &p.Types[n]
	fmt.Fprintf(b, "%s %s", t.Kind, t.Name)
	if above[n] {
		return
	}
	above = maps.Clone(above)
	above[n] = true
	fmt.Fprintf(b, "%q%v%v(", t.Values, t.Elements, t.Members)
	for _, a := range t.Args {
		writeType(b, p, a, above)
		b.WriteByte(',')
	}
	b.WriteByte(')')
	if t.Kind == "error" {
		return
	}
	for _, f := range t.Fields {
		fmt.Fprintf(b, "%s %v ", f.Name, f.Optional)
		writeType(b, p, f.Type, above)
		b.WriteByte(';')
	}
	for _, v := range t.Variants {
		fmt.Fprintf(b, "|%s %v", v.Name, v.Named)
		for _, f := range v.Fields {
			b.WriteString(f.Name + " ")
			writeType(b, p, f.Type, above)
		}
	}
}
