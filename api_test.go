package concerto

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// mostNames bounds the number of exported names of the embedding API: the
// package's own, and the methods of types that it takes over from other
// packages.
const mostNames = 248

// TestAPINamesItsTypes: an application that embeds Concerto needs no other
// package of ours. When an exported declaration mentions a type of another
// package, this package has a name for it.
func TestAPINamesItsTypes(t *testing.T) {
	for _, f := range ownFiles(t) {
		ours := importedOurs(f)
		for _, d := range f.Decls {
			for _, part := range promised(d) {
				ast.Inspect(part, func(n ast.Node) bool {
					s, ok := n.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					if x, isName := s.X.(*ast.Ident); isName && ours[x.Name] != "" {
						t.Errorf("an exported declaration mentions %s.%s: give it a name in names.go", x.Name, s.Sel.Name)
					}
					return true
				})
			}
		}
	}
}

// TestAPIIsSmall counts what is promised.
func TestAPIIsSmall(t *testing.T) {
	names := map[string]bool{}
	for _, f := range ownFiles(t) {
		ours := importedOurs(f)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || receiver(d.Recv).IsExported()) {
					names[d.Name.Name+" "+recvName(d)] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.IsExported() {
							names[s.Name.Name] = true
						}
						if from, ok := s.Type.(*ast.SelectorExpr); ok && s.Assign != 0 {
							for _, m := range methods(t, ours[from.X.(*ast.Ident).Name], from.Sel.Name) {
								names[m+" "+s.Name.Name] = true
							}
						}
					case *ast.ValueSpec:
						for _, n := range s.Names {
							if n.IsExported() {
								names[n.Name] = true
							}
						}
					}
				}
			}
		}
	}
	if len(names) > mostNames {
		t.Errorf("the embedding API has %d exported names; at most %d are promised", len(names), mostNames)
	}
}

// ownFiles parses the files of this package, tests left out.
func ownFiles(t *testing.T) []*ast.File { return parsed(t, ".") }

func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// importedOurs gives the directories of our packages that a file imports, by the
// names under which it imports them.
func importedOurs(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		dir, ok := strings.CutPrefix(p, "github.com/concerto-lang/concerto/")
		if !ok {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = dir
	}
	return out
}

// promised are the parts of a declaration that its users see. The right side of
// an alias or of a value is none of them: names of other packages are taken over
// there.
func promised(d ast.Decl) []ast.Node {
	var out []ast.Node
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiver(d.Recv).IsExported()) {
			out = append(out, d.Type)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			s, ok := s.(*ast.TypeSpec)
			if !ok || !s.Name.IsExported() || s.Assign != 0 {
				continue
			}
			st, isStruct := s.Type.(*ast.StructType)
			if !isStruct {
				out = append(out, s.Type)
				continue
			}
			for _, field := range st.Fields.List {
				if len(field.Names) == 0 || field.Names[0].IsExported() {
					out = append(out, field.Type)
				}
			}
		}
	}
	return out
}

func receiver(r *ast.FieldList) *ast.Ident {
	x := r.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	return x.(*ast.Ident)
}

func recvName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return receiver(d.Recv).Name
}

// methods are the exported methods of a type of another package of ours.
func methods(t *testing.T, dir, name string) []string {
	t.Helper()
	var out []string
	for _, f := range parsed(t, dir) {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && d.Name.IsExported() && recvName(d) == name {
				out = append(out, d.Name.Name)
			}
		}
	}
	return out
}
