package stdlib

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/parser"
)

// tree parses a library file. Diagnostics fail the test.
func tree(t *testing.T, name string) *ast.File {
	t.Helper()
	f, diags := parser.Parse(textOf(name))
	for _, d := range diags.Sorted() {
		p := d.File.Position(d.Span.Start)
		t.Errorf("%s:%d:%d: %s", d.File.Name, p.Line, p.Column, d.Message)
	}
	return f
}

// TestIndexIsCurrent compares the index with the declarations of the files.
func TestIndexIsCurrent(t *testing.T) {
	want, err := Index()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("files.go")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(got), "\n"), strings.Split(want, "\n")); diff != "" {
		t.Errorf("the index differs from the files: run go generate ./stdlib (-index +files):\n%s", diff)
	}
}

func targetName(d *ast.ImplDecl) string {
	named, ok := d.Target.(*ast.NamedType)
	if !ok {
		return ""
	}
	return named.Segments[len(named.Segments)-1].Name
}

// TestGlobalsAreUnique checks that no two files declare the same global name.
func TestGlobalsAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, f := range files {
		for _, n := range f.globals {
			if other, ok := seen[n]; ok {
				t.Errorf("%s is declared in %s and %s", n, other, f.name)
			}
			seen[n] = f.name
		}
	}
}

// eachFunction calls f for every function and method of a file, with the name under which its
// native is registered if @native has no argument.
func eachFunction(file *file, tree *ast.File, f func(fn *ast.FnDecl, name string)) {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FnDecl:
			name := d.Name.Name
			if file.module != "" {
				name = file.module + "." + name
			}
			f(d, name)
		case *ast.ToolDecl:
			for _, m := range d.Methods {
				f(m, d.Name.Name+"."+m.Name.Name)
			}
		case *ast.ImplDecl:
			for _, m := range d.Methods {
				f(m, targetName(d)+"."+m.Name.Name)
			}
		}
	}
}

func decorator(fn *ast.FnDecl, name string) *ast.Decorator {
	for _, d := range fn.Decorators {
		if d.Name.Name == name {
			return d
		}
	}
	return nil
}

// registered returns the names of the natives and effects that declarations use.
func registered(t *testing.T) []string {
	var names []string
	for i := range files {
		eachFunction(&files[i], tree(t, files[i].name), func(fn *ast.FnDecl, name string) {
			d := decorator(fn, "native")
			if d == nil {
				d = decorator(fn, "effect")
			}
			if d == nil {
				return
			}
			if len(d.Args) > 0 {
				name = d.Args[0].Value.(*ast.StringLit).Value
			}
			names = append(names, name)
		})
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ofCompiler contains the functions that the compiler translates to instructions.
var ofCompiler = []string{"dispatch_tool", "dispatch_tool_among", "panic", "rethrow"}

// TestNatives checks that each declaration of a native has a registered Go function, and vice
// versa.
func TestNatives(t *testing.T) {
	want := registered(t)
	have := slices.Clone(ofCompiler)
	for _, family := range registry {
		for _, n := range *family {
			have = append(have, n.Name)
			if Native(n.Name) == nil {
				t.Errorf("Native does not find %s", n.Name)
			}
		}
	}
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("natives (-declared +registered):\n%s", diff)
	}
}

// TestDeclarations checks that every public function has a doc comment. Natives and effects must
// have no body, and every other function must have one.
func TestDeclarations(t *testing.T) {
	for i := range files {
		eachFunction(&files[i], tree(t, files[i].name), func(fn *ast.FnDecl, name string) {
			if fn.Pub && fn.Doc == "" {
				t.Errorf("%s: %s has no doc comment", files[i].name, name)
			}
			if fn.Pub == internal(fn.Name.Name) && !strings.HasPrefix(fn.Name.Name, "__") {
				t.Errorf("%s: %s is neither public nor internal", files[i].name, name)
			}
			foreign := decorator(fn, "native") != nil || decorator(fn, "effect") != nil
			empty := len(fn.Body.Stmts) == 0 && fn.Body.Tail == nil
			if foreign != empty {
				t.Errorf("%s: %s: native or effect = %t, but empty body = %t", files[i].name, name, foreign, empty)
			}
		})
	}
}

// TestErrorTypes compares the declarations with @error, in errors.conc and then in modules, with
// the error types at run time.
func TestErrorTypes(t *testing.T) {
	type field struct {
		Name, Type string
		Optional   bool
	}
	declared := map[string][]field{}
	var order []string
	var all []*ast.StructDecl
	sources := map[*ast.StructDecl]*ast.File{}
	for i := range files {
		f := tree(t, files[i].name)
		for _, d := range f.Decls {
			s, ok := d.(*ast.StructDecl)
			if ok && slices.ContainsFunc(s.Decorators, func(d *ast.Decorator) bool { return d.Name.Name == "error" }) {
				all, sources[s] = append(all, s), f
			}
		}
	}
	for _, s := range all {
		f := sources[s]
		order = append(order, s.Name.Name)
		for _, fd := range s.Fields {
			typ := f.Source.Slice(fd.Type.Span())
			inner, optional := strings.CutPrefix(typ, "Option<")
			if optional {
				typ = strings.TrimSuffix(inner, ">")
			}
			declared[s.Name.Name] = append(declared[s.Name.Name], field{fd.Name.Name, typ, optional})
			if fd.Name.Name != "message" && fd.Default == nil {
				t.Errorf("%s.%s has no default", s.Name.Name, fd.Name.Name)
			}
		}
	}
	atRun := map[string][]field{}
	var names []string
	for _, e := range value.ErrorTypes {
		names = append(names, e.Name)
		for _, fd := range e.Fields {
			typ, optional := fd.Type, fd.Type.Kind == value.TypeOption
			if optional {
				typ = typ.Args[0]
			}
			atRun[e.Name] = append(atRun[e.Name], field{fd.Name, typ.String(), optional})
		}
	}
	if diff := cmp.Diff(order, names); diff != "" {
		t.Errorf("error types (-declared +at run time):\n%s", diff)
	}
	if diff := cmp.Diff(declared, atRun); diff != "" {
		t.Errorf("error types (-declared +at run time):\n%s", diff)
	}
}

// TestLibrary uses the library in the same way as the checker.
func TestLibrary(t *testing.T) {
	lib := Library()
	if first := lib.Prelude("println"); first == nil || lib.Prelude("println") != first {
		t.Error("Prelude(println) is nil or returns another file at the second call")
	}
	if lib.Prelude("nothing") != nil || lib.Methods("Nothing", "len") != nil || lib.Methods("Array", "nothing") != nil ||
		lib.Module("nothing") != nil {
		t.Error("Prelude, Methods or Module returns a file for an unknown name")
	}
	if lib.Methods("Array", "") == nil || len(lib.Methods("Array", "sort").Decls) != 3 || lib.Module("json") == nil {
		t.Error("methods of Array, three declarations of Array.sort, or the module json are missing")
	}
	if names := lib.Names(); slices.Contains(names, "__print") || !slices.Contains(names, "HostQuestion") {
		t.Errorf("Names() = %v", names)
	}
	if diff := cmp.Diff([]string{"app", "collections", "crypto", "csv", "decide", "env", "eval", "fleet", "fmt", "fs", "http", "io", "json", "log", "math", "merge", "path", "process", "prompt", "random", "regex", "run", "string", "time", "toml", "tools", "work", "yaml"}, lib.Modules()); diff != "" {
		t.Error(diff)
	}
}

// TestPartsAreCurrent compares the files in parts with the .conc files.
func TestPartsAreCurrent(t *testing.T) {
	want, err := EncodedParts()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if got, err := parts.ReadFile(name); err != nil || string(got) != string(text) {
			t.Errorf("%s differs from its .conc file, error %v: run go generate ./stdlib", name, err)
		}
	}
	if have, err := parts.ReadDir("parts"); err != nil || len(have) != len(want) {
		t.Errorf("parts has %d files, error %v; want %d", len(have), err, len(want))
	}
}

// TestParts checks that the encoded trees of a file's parts have the nodes that the parser finds.
func TestParts(t *testing.T) {
	nodes := func(f *ast.File, decls []ast.Decl) (out []string) {
		for _, d := range decls {
			methods := []ast.Node{d}
			if impl, ok := d.(*ast.ImplDecl); ok {
				methods = nil
				for _, m := range impl.Methods {
					methods = append(methods, m)
				}
			}
			for _, n := range methods {
				var b strings.Builder
				if err := ast.DumpNode(&b, f.Source, n); err != nil {
					t.Fatal(err)
				}
				out = append(out, b.String())
			}
		}
		slices.Sort(out)
		return out
	}
	for i := range files {
		whole := tree(t, files[i].name)
		names := []string{""}
		if files[i].module == "" && !files[i].whole {
			names = namesOf(whole)
		}
		var got []string
		for _, name := range names {
			part := load(files[i].name, name)
			if part == nil {
				t.Errorf("%s: no part %s", files[i].name, name)
				continue
			}
			got = append(got, nodes(part, part.Decls)...)
			ids := map[ast.ID]bool{}
			for _, d := range part.Decls {
				ast.Inspect(d, func(n ast.Node) bool {
					if x, ok := n.(interface{ ID() ast.ID }); ok {
						ids[x.ID()] = true
					}
					return true
				})
			}
			if len(ids) != part.IDs {
				t.Errorf("%s: %s has %d nodes with ids, and space for %d", files[i].name, name, len(ids), part.IDs)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(nodes(whole, whole.Decls), got); diff != "" {
			t.Errorf("%s (-parsed +decoded):\n%s", files[i].name, diff)
		}
	}
}

// TestReferenceIsComplete checks that the reference contains all global declarations that programs
// may use.
func TestReferenceIsComplete(t *testing.T) {
	shown := map[string]bool{}
	for _, g := range groups {
		for _, name := range g.files {
			shown[name] = true
		}
	}
	for i := range files {
		f := &files[i]
		if f.module != "" || f.methods != "" || shown[f.name] {
			continue
		}
		for _, d := range tree(t, f.name).Decls {
			if h := d.Head(); h.Pub {
				t.Errorf("%s: %s is on no page: add the file to groups", f.name, h.Name.Name)
			}
		}
	}
}
