// Command gen writes the function for each node type with which ast.Decode reads a tree. The
// argument is the file to write. It reads the types from the sources in the current directory.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sources are the files that declare nodes.
var sources = []string{"node.go", "decl.go", "expr.go", "stmt.go", "pattern.go", "type.go"}

// roots are the interfaces that fields of nodes have, by the method that marks their types.
var roots = map[string]string{"decl": "Decl", "expr": "Expr", "stmt": "Stmt", "pattern": "Pattern", "typ": "Type"}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gen FILE")
	}
	g := generator{structs: map[string]*ast.StructType{}, isNode: map[string]bool{}}
	for _, name := range sources {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Clean(name), nil, parser.SkipObjectResolution)
		if err != nil {
			log.Fatal(err)
		}
		for _, d := range f.Decls {
			g.declaration(d)
		}
	}
	text, err := format.Source(g.file())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[1], text, 0o666); err != nil {
		log.Fatal(err)
	}
}

type generator struct {
	structs map[string]*ast.StructType
	isNode  map[string]bool // types that an interface field may hold
	out     bytes.Buffer
}

func (g *generator) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				if s, ok := t.Type.(*ast.StructType); ok && t.Name.Name != "File" && t.Name.Name != "Comment" {
					g.structs[t.Name.Name] = s
				}
			}
		}
	case *ast.FuncDecl:
		if d.Recv != nil && roots[d.Name.Name] != "" {
			g.isNode[d.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name] = true
		}
	}
}

func (g *generator) file() []byte {
	g.out.WriteString("// Code generated from the node types by \"make gen\"; DO NOT EDIT.\n\npackage ast\n\n")
	nodes := sorted(g.isNode)
	g.out.WriteString("func tagOf(n Node) int {\nswitch n.(type) {\n")
	for i, n := range nodes {
		fmt.Fprintf(&g.out, "case *%s:\nreturn %d\n", n, i+1)
	}
	g.out.WriteString("}\nreturn 0\n}\n\nfunc (d *decoder) node() Node {\nswitch d.uint() {\n")
	for i, n := range nodes {
		fmt.Fprintf(&g.out, "case %d:\nx := &%s{}\nd.in%s(x)\nreturn x\n", i+1, n, n)
	}
	g.out.WriteString("}\nreturn nil\n}\n")
	pointers := map[string]bool{}
	for _, name := range sorted(g.structs) {
		fmt.Fprintf(&g.out, "\nfunc (d *decoder) in%s(x *%s) {\n", name, name)
		for _, f := range g.structs[name].Fields.List {
			for _, n := range f.Names {
				fmt.Fprintf(&g.out, "x.%s = %s\n", n.Name, g.read(f.Type, pointers))
			}
			if len(f.Names) == 0 {
				embedded := f.Type.(*ast.Ident).Name
				fmt.Fprintf(&g.out, "d.in%s(&x.%s)\n", embedded, embedded)
			}
		}
		g.out.WriteString("}\n")
	}
	for _, name := range sorted(pointers) {
		fmt.Fprintf(&g.out, "\nfunc (d *decoder) new%s() *%s {\nif !d.bool() {\nreturn nil\n}\nx := &%s{}\nd.in%s(x)\nreturn x\n}\n", name, name, name, name)
	}
	return g.out.Bytes()
}

// read returns the expression that reads a value of a type.
func (g *generator) read(t ast.Expr, pointers map[string]bool) string {
	f := g.reader(t, pointers)
	if method, ok := strings.CutPrefix(f, "(*decoder)."); ok {
		return "d." + method + "()"
	}
	if strings.HasPrefix(f, "list(") {
		return f
	}
	return f + "(d)"
}

// reader returns the function that reads a value of a type.
func (g *generator) reader(t ast.Expr, pointers map[string]bool) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		name := t.X.(*ast.Ident).Name
		pointers[name] = true
		return "(*decoder).new" + name
	case *ast.ArrayType:
		return fmt.Sprintf("list(d, %s)", g.reader(t.Elt, pointers))
	case *ast.SelectorExpr:
		return "(*decoder).span"
	case *ast.Ident:
		for _, root := range roots {
			if t.Name == root {
				return "child[" + root + "]"
			}
		}
		switch t.Name {
		case "bool", "string", "float64", "ID":
			return "(*decoder)." + strings.ToLower(t.Name)
		case "uint64", "int", "Op", "StoreKind":
			return "number[" + t.Name + "]"
		}
	}
	log.Fatalf("no function reads a field of type %v", t)
	return ""
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
