package arch

import (
	"go/ast"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// maxFields is the maximum number of fields of a struct. The fields of embedded structs are
// included, also if a struct is embedded through a pointer or an alias or comes from another
// package.
const maxFields = 30

// largeStructs lists the structs that have more fields, with the number of fields and the reason.
// The numbers may only be reduced.
var largeStructs = map[string]struct {
	fields int
	reason string
}{
	"internal/record/journal.Record": {56, "a line of a journal is one flat JSON object, whose members encoding/json reads in one pass; what it embeds are groups of members that kinds of record share"},
}

// TestStructs checks the number of fields of every struct.
func TestStructs(t *testing.T) {
	randtest.InOneGoroutine(t)
	types := declaredTypes(packageFiles(t))
	for name, e := range types {
		if e.alias {
			continue
		}
		switch n, allowed := types.fields(name), largeStructs[name.String()].fields; {
		case n <= maxFields && allowed > 0:
			t.Errorf("%s has only %d fields: remove it from largeStructs", name, n)
		case n > max(maxFields, allowed):
			t.Errorf("%s has %d fields, including those of embedded structs; the maximum is %d: move fields that belong together into a separate type",
				name, n, max(maxFields, allowed))
		case n < allowed:
			t.Errorf("%s has only %d fields now: reduce its number in largeStructs", name, n)
		}
	}
	for name := range largeStructs {
		if i := strings.LastIndexByte(name, '.'); types[declared{name[:i], name[i+1:]}].expr == nil {
			t.Errorf("%s is not declared: remove it from largeStructs", name)
		}
	}
}

// declared identifies a type of a package of the module.
type declared struct{ pkg, name string }

func (d declared) String() string { return d.pkg + "." + d.name }

// typeTable maps the types of the module to their declarations.
type typeTable map[declared]typeExpr

// typeExpr is a type expression in a package. imports maps the names of imports in its file to
// packages of the module.
type typeExpr struct {
	expr    ast.Expr
	alias   bool
	pkg     string
	imports map[string]string
}

// with returns x as a type expression of the same file.
func (e typeExpr) with(x ast.Expr) typeExpr { return typeExpr{x, false, e.pkg, e.imports} }

func declaredTypes(packages map[string][]*ast.File) typeTable {
	table := typeTable{}
	for pkg, files := range packages {
		for _, f := range files {
			imports := map[string]string{}
			for _, i := range f.Imports {
				p, _ := strconv.Unquote(i.Path.Value)
				if inner, ok := strings.CutPrefix(p, Module+"/"); ok {
					name := path.Base(inner)
					if i.Name != nil {
						name = i.Name.Name
					}
					imports[name] = inner
				}
			}
			for _, d := range f.Decls {
				if d, ok := d.(*ast.GenDecl); ok {
					for _, s := range d.Specs {
						if s, ok := s.(*ast.TypeSpec); ok {
							table[declared{pkg, s.Name.Name}] = typeExpr{s.Type, s.Assign.IsValid(), pkg, imports}
						}
					}
				}
			}
		}
	}
	return table
}

// fields returns the number of fields of a type in the table, or 0 if the type is not a struct.
func (t typeTable) fields(name declared) int { return t.fieldsOf(t[name]) }

func (t typeTable) fieldsOf(e typeExpr) int {
	switch x := e.expr.(type) {
	case *ast.StructType:
		n := 0
		for _, f := range x.Fields.List {
			if len(f.Names) > 0 {
				n += len(f.Names)
			} else {
				n += max(t.fieldsOf(e.with(f.Type)), 1)
			}
		}
		return n
	case *ast.StarExpr:
		return t.fieldsOf(e.with(x.X))
	case *ast.ParenExpr:
		return t.fieldsOf(e.with(x.X))
	case *ast.IndexExpr:
		return t.fieldsOf(e.with(x.X))
	case *ast.IndexListExpr:
		return t.fieldsOf(e.with(x.X))
	case *ast.Ident:
		return t.fields(declared{e.pkg, x.Name})
	case *ast.SelectorExpr:
		if pkg, ok := x.X.(*ast.Ident); ok {
			return t.fields(declared{e.imports[pkg.Name], x.Sel.Name})
		}
	}
	return 0
}
