package ast

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Dump writes a file's tree as text: one node per line, with its children indented below it. A line
// contains the name of the field that holds the node, the node's kind, its data, and its span as
// lines and columns. The text depends only on the tree. `build --emit ast` prints it.
func Dump(w io.Writer, file *File) error {
	d := dumper{w: bufio.NewWriter(w), file: file.Source}
	for _, decl := range file.Decls {
		d.node("", reflect.ValueOf(decl), 0)
	}
	for i := range file.Flaws {
		d.flaw(&file.Flaws[i])
	}
	return d.w.Flush()
}

// flaw writes the line of one flaw.
func (d *dumper) flaw(f *Flaw) {
	fmt.Fprintf(d.w, "Flaw %s", f.Kind)
	if f.Node != nil {
		fmt.Fprintf(d.w, " of %s", reflect.TypeOf(f.Node).Elem().Name())
	}
	for i, n := range f.Names {
		fmt.Fprintf(d.w, "%s%s", map[bool]string{true: " with ", false: ","}[i == 0], n.Name)
	}
	fmt.Fprintf(d.w, " @%s-%s\n", d.file.Position(f.Span.Start), d.file.Position(f.Span.End))
}

// DumpNode writes the tree below one node of f in the format of Dump.
func DumpNode(w io.Writer, f *source.File, n Node) error {
	d := dumper{w: bufio.NewWriter(w), file: f}
	d.node("", reflect.ValueOf(n), 0)
	return d.w.Flush()
}

type dumper struct {
	w    *bufio.Writer
	file *source.File
}

var (
	nodeType  = reflect.TypeFor[Node]()
	identType = reflect.TypeFor[*Ident]()
	spanType  = reflect.TypeFor[source.Span]()
	stringer  = reflect.TypeFor[fmt.Stringer]()
)

// node writes the node that v points to: a line with the node's data, then its children. The type
// of a field decides whether the field is data or a child.
func (d *dumper) node(label string, v reflect.Value, depth int) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	n := v.Interface().(Node)
	s := v.Elem()
	fmt.Fprintf(d.w, "%*s", 2*depth, "")
	if label != "" {
		fmt.Fprintf(d.w, "%s: ", label)
	}
	d.w.WriteString(s.Type().Name())
	d.data(s, n)
	sp := n.Span()
	fmt.Fprintf(d.w, " @%s-%s\n", d.file.Position(sp.Start), d.file.Position(sp.End))
	d.below(s, n, depth+1)
}

// data writes the fields that are neither nodes nor zero. A flag is written as its name, any other
// field as name=value. Names (Ident) count as data.
func (d *dumper) data(s reflect.Value, n Node) {
	for i := range s.NumField() {
		f, v := s.Type().Field(i), s.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			if f.Type == reflect.TypeFor[DeclHead]() {
				d.data(v, n)
			}
		case f.Type == spanType, isDefault(n, f.Name, v):
		case f.Type == identType:
			fmt.Fprintf(d.w, " %s=%s", f.Name, v.Interface().(*Ident).Name)
		case f.Type == reflect.SliceOf(identType):
			var names []string
			for _, id := range v.Interface().([]*Ident) {
				names = append(names, id.Name)
			}
			fmt.Fprintf(d.w, " %s=%s", f.Name, strings.Join(names, ","))
		case isNodes(f.Type):
		case f.Type.Kind() == reflect.Bool && f.Name != "Value":
			fmt.Fprintf(d.w, " %s", f.Name)
		case f.Type.Implements(stringer):
			fmt.Fprintf(d.w, " %s=%s", f.Name, v.Interface())
		case f.Type.Kind() == reflect.String, f.Type.Kind() == reflect.Slice:
			fmt.Fprintf(d.w, " %s=%q", f.Name, v.Interface())
		default:
			fmt.Fprintf(d.w, " %s=%v", f.Name, v.Interface())
		}
	}
}

// isDefault reports whether Dump omits a field because it has its default value: zero, or -1 for an
// index that is absent. The values of literals are never omitted.
func isDefault(n Node, name string, v reflect.Value) bool {
	switch n := n.(type) {
	case *IntLit, *FloatLit, *StringLit, *LitType, *TupleIndex:
		return name != "Value" && name != "Index" && v.IsZero()
	case *BoolLit:
		return false
	case *StoreDecl:
		return name != "Kind" && v.IsZero()
	case *PathExpr:
		if name == "ArgsAt" {
			return v.Int() < 0 || int(v.Int()) == len(n.Segments)-1
		}
		return v.IsZero()
	case *ArrayPat:
		return name == "Rest" && v.Int() < 0 || name != "Rest" && v.IsZero()
	}
	return v.IsZero()
}

func isNodes(t reflect.Type) bool {
	return t.Implements(nodeType) || t.Kind() == reflect.Slice && t.Elem().Implements(nodeType)
}

// below writes the child nodes, field by field.
func (d *dumper) below(s reflect.Value, n Node, depth int) {
	for i := range s.NumField() {
		f, v := s.Type().Field(i), s.Field(i)
		switch {
		case f.Anonymous && f.Type == reflect.TypeFor[DeclHead]():
			d.below(v, n, depth)
		case f.Anonymous, f.Type == identType, f.Type == reflect.SliceOf(identType), !isNodes(f.Type), v.IsZero():
		case isSecond(n, f.Name):
		case f.Type.Kind() == reflect.Slice:
			for j := range v.Len() {
				d.node(f.Name, v.Index(j), depth)
			}
		default:
			d.node(f.Name, v, depth)
		}
	}
}

// isSecond reports whether another field of n already shows the node in this field.
func isSecond(n Node, field string) bool {
	_, pipe := n.(*Pipe)
	return pipe && field == "Call"
}
