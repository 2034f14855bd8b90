package ir

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Extend returns base with additional functions of the program other. The two programs may differ
// only in their functions. own is the number of functions that base has itself; further functions
// of base were added by earlier calls. added reports which functions of other to add. where maps
// the number of each added function in other to its number in p. Extend does not change base. It
// returns an error if the programs have other differences.
func Extend(base *Program, own int, other *Program, added func(*Function) bool) (p *Program, where map[int]int, err error) {
	x := &extension{base: base, own: own, other: other, types: map[int]int{}, functions: map[int]int{}}
	copied := *base
	x.out = &copied
	x.out.Functions, x.out.Constants = slices.Clone(base.Functions), slices.Clone(base.Constants)
	x.out.Types, x.out.Natives = slices.Clone(base.Types), slices.Clone(base.Natives)
	if err := x.match(added); err != nil {
		return nil, nil, err
	}
	where = map[int]int{}
	for _, n := range x.added {
		where[n] = x.functions[n]
	}
	for _, n := range x.added {
		f, err := x.function(&other.Functions[n])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", other.Functions[n].Name, err)
		}
		x.out.Functions[x.functions[n]] = f
	}
	return x.out, where, nil
}

// extension is the state of Extend.
type extension struct {
	base, other, out *Program
	own              int
	added            []int
	functions, types map[int]int // from other's numbers to out's
	texts            map[string]int
	constants        map[string]int
}

// match finds the corresponding functions of the two programs: functions of a file that start on
// the same line correspond in their order. It also lists the functions to add: those that added
// selects, and functions of the library that base does not have.
func (x *extension) match(added func(*Function) bool) error {
	type line struct {
		file string
		line int
	}
	at := func(p *Program, f *Function) line {
		if f.File < 0 || f.File >= len(p.Files) {
			return line{}
		}
		return line{p.Files[f.File].Name, f.Line}
	}
	here := map[line][]int{}
	for n := range x.base.Functions[:x.own] {
		k := at(x.base, &x.base.Functions[n])
		here[k] = append(here[k], n)
	}
	for n := range x.other.Functions {
		f := &x.other.Functions[n]
		k := at(x.other, f)
		all := here[k]
		switch {
		case added(f) || len(all) == 0 && x.other.Files[f.File].Text == "":
			x.added = append(x.added, n)
		case len(all) == 0:
			return fmt.Errorf("what runs has no function %s", f.Name)
		default:
			x.functions[n], here[k] = all[0], all[1:]
		}
	}
	for _, n := range x.added {
		x.functions[n] = len(x.out.Functions)
		x.out.Functions = append(x.out.Functions, Function{})
	}
	return nil
}

// file returns the number in the extended program for file n of other.
func (x *extension) file(n int) int {
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

// function returns a copy of a function of other, with the numbers of the extended program.
func (x *extension) function(f *Function) (Function, error) {
	g := *f
	g.File = x.file(f.File)
	var err error
	if g.Block, err = x.block(f, &f.Block); err != nil {
		return g, err
	}
	g.Listens = slices.Clone(f.Listens)
	for i := range g.Listens {
		l := &g.Listens[i]
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

func (x *extension) block(f *Function, b *Block) (Block, error) {
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
			to, err := x.index(o.Role, at)
			if err != nil {
				return out, err
			}
			if !in.Set(o.Field, int64(to)) {
				return out, fmt.Errorf("there are too many of a kind: %d", to)
			}
		}
	}
	out.Inlined = slices.Clone(b.Inlined)
	for i := range out.Inlined {
		out.Inlined[i].Function = x.functions[out.Inlined[i].Function]
	}
	return out, nil
}

// index returns the number in the extended program for index n of other. role determines the table.
func (x *extension) index(role Role, n int) (int, error) {
	switch role {
	case RoleConstant:
		return x.constant(x.other.Constants[n]), nil
	case RoleFunction:
		return x.functions[n], nil
	case RoleType:
		return x.typ(n), nil
	case RoleNative:
		name := x.other.Natives[n]
		if at := slices.Index(x.out.Natives, name); at >= 0 {
			return at, nil
		}
		x.out.Natives = append(x.out.Natives, name)
		return len(x.out.Natives) - 1, nil
	}
	return n, nil // both programs have the same declarations
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

func (x *extension) constant(c Const) int {
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

// typ returns the number in the extended program for type n of other. It compares types by their
// text, which contains the name of a named type and the structure of any other type.
func (x *extension) typ(n int) int {
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

// info returns a type with the numbers of the extended program.
func (x *extension) info(t TypeInfo) TypeInfo {
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
