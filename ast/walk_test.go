package ast

import (
	goast "go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

func name(s string) *Ident    { return &Ident{Name: s} }
func path(s string) *PathExpr { return &PathExpr{Segments: []*Ident{name(s)}, ArgsAt: -1} }
func span(a, b int) Base      { return Base{Sp: source.Span{Start: source.Pos(a), End: source.Pos(b)}} }

// order returns the visited nodes in the order in which Inspect visits them. Names are shown as
// text.
func order(n Node, deeper func(Node) bool) string {
	var seen []string
	Inspect(n, func(n Node) bool {
		if id, ok := n.(*Ident); ok {
			seen = append(seen, id.Name)
		} else {
			seen = append(seen, reflect.TypeOf(n).Elem().Name())
		}
		return deeper == nil || deeper(n)
	})
	return strings.Join(seen, " ")
}

func TestInspect(t *testing.T) {
	n := &IfExpr{
		Cond: &Binary{Op: OpLt, X: path("a"), Y: path("b")},
		Then: &Block{Stmts: []Stmt{&ExprStmt{X: path("c")}}, Tail: path("d")},
	}
	if got, want := order(n, nil), "IfExpr Binary PathExpr a PathExpr b Block ExprStmt PathExpr c PathExpr d"; got != want {
		t.Errorf("nodes visited:\ngot  %s\nwant %s", got, want)
	}
	skip := func(n Node) bool { _, ok := n.(*Binary); return !ok }
	if got, want := order(n, skip), "IfExpr Binary Block ExprStmt PathExpr c PathExpr d"; got != want {
		t.Errorf("nodes visited:\ngot  %s\nwant %s", got, want)
	}
}

// TestChildrenInTextOrder tests two kinds of nodes: those whose fields are not declared in the
// order of the text, and those with two fields that refer to the same node.
func TestChildrenInTextOrder(t *testing.T) {
	short, call := path("x"), &Call{Fn: path("f")}
	for want, n := range map[string]Node{
		"ArrayPat NamePat a NamePat rest NamePat z": &ArrayPat{
			Elems: []Pattern{&NamePat{Name: name("a")}, &NamePat{Name: name("z")}}, Rest: 1, RestName: &NamePat{Name: name("rest")}},
		"PathExpr m NamedType T new": &PathExpr{
			Segments: []*Ident{name("m"), name("new")}, ArgsAt: 0, TypeArgs: []Type{&NamedType{Segments: []*Ident{name("T")}}}},
		"FieldInit PathExpr x":            &FieldInit{Name: short.Segments[0], Value: short, Short: true},
		"FieldPat NamePat x":              &FieldPat{Name: name("x"), Pattern: &NamePat{Name: name("x")}, Short: true},
		"Pipe PathExpr x Call PathExpr f": &Pipe{X: short, Right: call, Call: call},
	} {
		if got := order(n, nil); got != want {
			t.Errorf("nodes visited:\ngot  %s\nwant %s", got, want)
		}
	}
}

// TestChildrenAreComplete sets each field of each kind of node alone, and checks that Children
// visits it.
func TestChildrenAreComplete(t *testing.T) {
	fill := map[reflect.Type]Node{
		reflect.TypeFor[Expr](): path("e"), reflect.TypeFor[Type](): &LitType{}, reflect.TypeFor[Pattern](): &WildPat{},
		reflect.TypeFor[Stmt](): &BadStmt{}, reflect.TypeFor[Decl](): &BadDecl{},
	}
	for _, n := range every {
		typ := reflect.TypeOf(n).Elem()
		var check func(v reflect.Value, t0 reflect.Type)
		check = func(v reflect.Value, t0 reflect.Type) {
			for i := range t0.NumField() {
				f := t0.Field(i)
				if f.Type == reflect.TypeFor[DeclHead]() {
					check(v.Field(i), f.Type)
					continue
				}
				elem := f.Type
				if elem.Kind() == reflect.Slice {
					elem = elem.Elem()
				}
				if f.Anonymous || !elem.Implements(nodeType) || elsewhere[typ.Name()+"."+f.Name] {
					continue
				}
				child, ok := fill[elem]
				if !ok {
					child = reflect.New(elem.Elem()).Interface().(Node)
				}
				value := reflect.ValueOf(child)
				if f.Type.Kind() == reflect.Slice {
					value = reflect.Append(reflect.MakeSlice(f.Type, 0, 1), value)
				}
				v.Field(i).Set(value)
				seen := false
				Children(n, func(c Node) { seen = seen || c == child })
				if !seen {
					t.Errorf("Children(%s) does not visit the field %s", typ.Name(), f.Name)
				}
				v.Field(i).SetZero()
			}
		}
		check(reflect.ValueOf(n).Elem(), typ)
	}
}

// elsewhere lists the fields that TestChildrenAreComplete cannot test, because they refer to the
// node of another field or are visited only together with other fields. TestChildrenInTextOrder
// tests these fields.
var elsewhere = map[string]bool{"Pipe.Call": true, "PathExpr.TypeArgs": true}

// every contains one node of each kind. Some nodes have values that Children needs to visit all
// fields.
var every = []Node{
	&Decorator{}, &TypeParam{}, &Param{}, &FnDecl{}, &FieldDecl{}, &StructDecl{}, &SchemaDecl{}, &Variant{}, &EnumDecl{},
	&TraitDecl{}, &ImplDecl{}, &TypeDecl{}, &ConstDecl{}, &ModDecl{}, &UseTree{}, &UseDecl{}, &ConfigField{}, &AgentDecl{},
	&HostDecl{}, &ToolDecl{}, &McpDecl{}, &PipelineDecl{}, &Stage{}, &StoreDecl{}, &BadDecl{}, &Block{}, &LetStmt{},
	&ExprStmt{}, &DeclStmt{}, &MockStmt{}, &BadStmt{}, &NamedType{}, &OptionType{}, &TupleType{}, &FnType{}, &LitType{},
	&UnionType{}, &BadType{}, &WildPat{}, &NamePat{}, &BindPat{}, &LitPat{}, &RangePat{}, &OrPat{}, &TuplePat{}, &ArrayPat{},
	&FieldPat{}, &StructPat{}, &VariantPat{}, &PathPat{}, &BadPat{}, &IntLit{}, &FloatLit{}, &BoolLit{}, &NilLit{}, &StringLit{},
	&InterpLit{}, &PathExpr{ArgsAt: -1}, &ParenExpr{}, &ArrayLit{}, &MapEntry{}, &MapLit{}, &TupleLit{}, &FieldInit{}, &StructLit{},
	&Unary{}, &Binary{}, &Assign{}, &Pipe{}, &RangeExpr{}, &Cast{}, &Arg{}, &Call{}, &MethodCall{}, &FieldExpr{}, &TupleIndex{},
	&IndexExpr{}, &Question{}, &Await{}, &AwaitAll{}, &Race{}, &ParallelFor{}, &IfExpr{}, &LetCond{}, &Arm{}, &MatchExpr{}, &ForExpr{},
	&WhileExpr{}, &LoopExpr{}, &BlockExpr{}, &Catch{}, &TryExpr{}, &Closure{}, &EmitExpr{}, &Handler{}, &ListenExpr{}, &ReturnExpr{},
	&BreakExpr{}, &ContinueExpr{}, &ThrowExpr{}, &BadExpr{},
}

// TestEveryNodeIsListed compares every with the structs of the package that embed a base of nodes.
func TestEveryNodeIsListed(t *testing.T) {
	listed := map[string]bool{"Ident": true, "Comment": true, "IDBase": true, "DeclHead": true} // without children of their own
	for _, n := range every {
		listed[reflect.TypeOf(n).Elem().Name()] = true
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		goast.Inspect(f, func(n goast.Node) bool {
			spec, ok := n.(*goast.TypeSpec)
			if !ok {
				return true
			}
			typ, ok := spec.Type.(*goast.StructType)
			if !ok || len(typ.Fields.List) == 0 || len(typ.Fields.List[0].Names) > 0 {
				return true
			}
			base, _ := typ.Fields.List[0].Type.(*goast.Ident)
			if base != nil && slices.Contains([]string{"Base", "IDBase", "DeclHead"}, base.Name) && !listed[spec.Name.Name] {
				t.Errorf("%s: the node %s is not in every: add it, and its children to walk.go", name, spec.Name.Name)
			}
			return true
		})
	}
}

func TestDump(t *testing.T) {
	f := source.NewFile("m", []byte("fn f() {\n  x\n}\n"))
	decl := &FnDecl{Body: &Block{Base: span(7, 14), Tail: &PathExpr{IDBase: IDBase{Base: span(11, 12)}, Segments: []*Ident{name("x")}, ArgsAt: -1}}}
	decl.Name, decl.Doc, decl.Pub, decl.Base = name("f"), "Does.", true, span(0, 14)
	var b strings.Builder
	if err := Dump(&b, &File{Source: f, Decls: []Decl{decl}}); err != nil {
		t.Fatal(err)
	}
	want := "FnDecl Name=f Doc=\"Does.\" Pub @1:1-3:2\n  Body: Block @1:8-3:2\n    Tail: PathExpr Segments=x @2:3-2:4\n"
	if b.String() != want {
		t.Errorf("Dump of the nodes:\n%s", b.String())
	}
}

// TestDumpEveryNode checks that Dump shows the data of each kind of node.
func TestDumpEveryNode(t *testing.T) {
	f := source.NewFile("m", []byte("text"))
	for _, n := range every {
		var b strings.Builder
		if err := DumpNode(&b, f, n); err != nil {
			t.Fatal(err)
		}
		if typ := reflect.TypeOf(n).Elem().Name(); !strings.HasPrefix(b.String(), typ) {
			t.Errorf("Dump of a %s = %q", typ, b.String())
		}
	}
	for want, n := range map[string]Node{
		"IntLit Value=0 @1:1-1:1\n": &IntLit{}, "BoolLit Value=false @1:1-1:1\n": &BoolLit{}, "StringLit Value=\"\" @1:1-1:1\n": &StringLit{},
		"StoreDecl Kind=hashmap @1:1-1:1\n": &StoreDecl{}, "Unary Op=- @1:1-1:1\n": &Unary{Op: OpNeg},
		"ArrayPat @1:1-1:1\n": &ArrayPat{Rest: -1}, "ArrayPat Rest=0 @1:1-1:1\n": &ArrayPat{}, "TupleIndex Index=0 @1:1-1:1\n": &TupleIndex{},
	} {
		var b strings.Builder
		if err := DumpNode(&b, f, n); err != nil || b.String() != want {
			t.Errorf("Dump = %q, want %q (error %v)", b.String(), want, err)
		}
	}
}

func TestOperatorTable(t *testing.T) {
	seen := map[string]Op{}
	for op := OpMul; op <= OpNeg; op++ {
		i := Ops[op]
		if i.Text == "" || i.Precedence == 0 || op.String() != i.Text {
			t.Errorf("Ops[%d] = %+v", op, i)
		}
		if other, twice := seen[i.Text]; twice && op <= OpPipe {
			t.Errorf("operators %[2]d and %[3]d both have the text %[1]s", i.Text, other, op)
		}
		seen[i.Text] = op
	}
	if OpCoalesce.String() != "??" || Ops[OpCoalesce].Assoc != Right {
		t.Error("`??` is not right-associative")
	}
}
