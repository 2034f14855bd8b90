package concerto

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// mostNames is the number of exported types, functions, methods, constants and variables of this
// package. Fields of structs are not counted.
const mostNames = 122

// TestAPIIsSmall compares the number of exported names with mostNames.
func TestAPIIsSmall(t *testing.T) {
	var names []string
	for _, f := range ownFiles(t) {
		for _, d := range f.Decls {
			for _, x := range exported(d) {
				names = append(names, x.name)
			}
		}
	}
	if len(names) != mostNames {
		t.Errorf("the package has %d exported names, want mostNames = %d:\n%s", len(names), mostNames, strings.Join(names, " "))
	}
}

// TestAPIIsDocumented requires a comment for every exported name and for every field. A comment
// before a group applies to all fields of the group.
func TestAPIIsDocumented(t *testing.T) {
	for _, f := range ownFiles(t) {
		for _, d := range f.Decls {
			for _, x := range exported(d) {
				if !x.documented {
					t.Errorf("%s has no doc comment", x.name)
				}
			}
		}
		for name, s := range structs(f) {
			documented := false
			for i, field := range s.Fields.List {
				// a field has a comment, or it belongs to a group without blank lines whose first
				// field has one
				documented = field.Doc != nil || field.Comment != nil || documented && i > 0 && field.Pos()-s.Fields.List[i-1].End() < 4
				for _, n := range field.Names {
					if n.IsExported() && !documented {
						t.Errorf("the field %s.%s has no comment", name, n.Name)
					}
				}
			}
		}
	}
}

// TestAPIIsItsOwn requires that exported declarations use only types of the language, of Go's
// standard library and of this package. A program that imports this package then needs no other
// package of the module. Aliases and embedded fields are not allowed.
func TestAPIIsItsOwn(t *testing.T) {
	for _, f := range ownFiles(t) {
		ours := importedOurs(f)
		for _, d := range f.Decls {
			for _, x := range exported(d) {
				if x.alias {
					t.Errorf("%s is an alias: declare a new type", x.name)
				}
				for _, part := range x.seen {
					ast.Inspect(part, func(n ast.Node) bool {
						if s, ok := n.(*ast.SelectorExpr); ok {
							if from, ok := s.X.(*ast.Ident); ok && ours[from.Name] {
								t.Errorf("%s uses %s.%s of another package of the module", x.name, from.Name, s.Sel.Name)
							}
						}
						return true
					})
				}
			}
		}
		for name, s := range structs(f) {
			for _, field := range s.Fields.List {
				if len(field.Names) == 0 {
					t.Errorf("%s has an embedded field: name it", name)
				}
			}
		}
	}
}

// TestOptionsAreOpen requires that users of the package can set every option of a run. Options, and
// the structs that it contains, must have only exported fields.
func TestOptionsAreOpen(t *testing.T) {
	found := 0
	for _, f := range ownFiles(t) {
		for name, s := range structs(f) {
			if !slices.Contains([]string{"Options", "Session", "Permissions", "Budget", "Records", "Durable"}, name) {
				continue
			}
			found++
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					if !n.IsExported() {
						t.Errorf("%s.%s is not exported", name, n.Name)
					}
				}
			}
		}
	}
	if found != 6 {
		t.Errorf("found %d structs, want 6", found)
	}
}

// TestNamesOfTheEngine compares the names of states, settings and kinds of permissions with those
// of the engine.
func TestNamesOfTheEngine(t *testing.T) {
	for ours, engines := range map[RunState]string{RunRunning: durable.Running, RunSuspended: durable.Suspend, RunKilled: durable.Killed, RunWaiting: durable.Waiting,
		RunFinished: durable.Finished, RunFailed: durable.Failed, RunDamaged: durable.IsDamaged} {
		if string(ours) != engines {
			t.Errorf("state = %q, but the engine uses %q", ours, engines)
		}
	}
	for ours, engines := range map[string]string{string(SyncOutput): journal.SyncOutput, string(SyncEvery): journal.SyncEvery, string(SyncNever): journal.SyncNever,
		string(DenyCall): tool.OnTimeoutDeny, string(AllowCall): tool.OnTimeoutAllow, string(HaltAgent): tool.OnTimeoutHalt,
		string(ScopeAll): string(tool.Global), string(ScopeRun): string(tool.PerSession)} {
		if ours != engines {
			t.Errorf("value = %q, but the engine uses %q", ours, engines)
		}
	}
	fields := reflect.VisibleFields(reflect.TypeFor[Permissions]())
	if len(fields) != len(permit.Kinds) {
		t.Errorf("Permissions has %d fields, but the engine has %d kinds", len(fields), len(permit.Kinds))
	}
	for i, k := range permit.Kinds {
		if name := strings.ToLower(fields[i].Name); k.Flag != "allow-"+name {
			t.Errorf("Permissions has the field %s for the flag --%s of the command", name, k.Flag)
		}
	}
}

// promise is an exported declaration, which belongs to the API.
type promise struct {
	name       string // name of the declaration; a method's name begins with the name of its receiver type
	documented bool
	alias      bool
	seen       []ast.Node // parts of the declaration that users of the package can see
}

// exported returns the exported names that a declaration declares.
func exported(d ast.Decl) []promise {
	var all []promise
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !receiver(d.Recv).IsExported() {
			return nil
		}
		x := promise{name: d.Name.Name, documented: d.Doc != nil, seen: []ast.Node{d.Type}}
		if d.Recv != nil {
			x.name = receiver(d.Recv).Name + "." + x.name
		}
		all = append(all, x)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					all = append(all, promise{s.Name.Name, s.Doc != nil || d.Doc != nil, s.Assign != 0, visible(s.Type)})
				}
			case *ast.ValueSpec:
				for i, n := range s.Names {
					if !n.IsExported() {
						continue
					}
					x := promise{name: n.Name, documented: s.Doc != nil || !d.Lparen.IsValid() && d.Doc != nil}
					if s.Type != nil {
						x.seen = append(x.seen, s.Type)
					}
					if i < len(s.Values) {
						x.seen = append(x.seen, s.Values[i])
					}
					all = append(all, x)
				}
			}
		}
	}
	return all
}

// visible returns the parts of a type that users can see. For a struct these are the types of the
// exported fields.
func visible(t ast.Expr) []ast.Node {
	s, ok := t.(*ast.StructType)
	if !ok {
		return []ast.Node{t}
	}
	var all []ast.Node
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			all = append(all, f.Type)
		}
	}
	return all
}

// structs returns the exported structs of a file, by name.
func structs(f *ast.File) map[string]*ast.StructType {
	all := map[string]*ast.StructType{}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
					if st, ok := s.Type.(*ast.StructType); ok {
						all[s.Name.Name] = st
					}
				}
			}
		}
	}
	return all
}

func receiver(r *ast.FieldList) *ast.Ident {
	x := r.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	return x.(*ast.Ident)
}

// ownFiles parses the files of this package, except the tests.
func ownFiles(t *testing.T) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// importedOurs returns the names under which a file imports packages of this module.
func importedOurs(f *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		dir, ok := strings.CutPrefix(path, "github.com/concerto-lang/concerto/")
		if !ok {
			continue
		}
		name := dir[strings.LastIndexByte(dir, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = true
	}
	return out
}
