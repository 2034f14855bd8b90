// Package surface computes which part of a file other files can observe.
package surface

import (
	"crypto/sha256"
	"io"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Surface is the hash of the part of a file that other files can observe: the declarations without
// the bodies of functions. A body that contains declarations is part of the surface. Text between
// declarations is not.
type Surface [sha256.Size]byte

// Of returns the surface of a file.
func Of(f *ast.File) Surface {
	h := sha256.New()
	for _, d := range f.Decls {
		eachPart(f, d, func(part []byte) { _, _ = h.Write(part) })
		_, _ = io.WriteString(h, "\x00")
	}
	hashLost(h, f)
	return Surface(h.Sum(nil))
}

// eachPart calls visit for the pieces of text that form the surface of a declaration.
func eachPart(f *ast.File, d ast.Decl, visit func([]byte)) {
	at := Start(d)
	if d.Head().Pub {
		visit([]byte("pub "))
	}
	eachBody(d, func(b *ast.Block) {
		if b.Sp.Start < at || declares(b) {
			return
		}
		visit(f.Source.Text[at:b.Sp.Start])
		visit([]byte("{}"))
		at = b.Sp.End
	})
	if end := d.Span().End; at < end {
		visit(f.Source.Text[at:end])
	}
}

// Start returns the start of a declaration, including its decorators.
func Start(d ast.Decl) source.Pos {
	at := d.Span().Start
	for _, x := range d.Head().Decorators {
		at = min(at, x.Sp.Start)
	}
	return at
}

// eachBody calls visit for the bodies of the functions in a declaration, in the order of the text.
func eachBody(d ast.Decl, visit func(*ast.Block)) {
	fns := []*ast.FnDecl(nil)
	switch d := d.(type) {
	case *ast.FnDecl:
		fns = append(fns, d)
	case *ast.ImplDecl:
		fns = d.Methods
	case *ast.TraitDecl:
		fns = d.Methods
	case *ast.ToolDecl:
		fns = d.Methods
	case *ast.ModDecl:
		for _, x := range d.Decls {
			eachBody(x, visit)
		}
	case *ast.AgentDecl, *ast.BadDecl, *ast.ConstDecl, *ast.EnumDecl, *ast.HostDecl, *ast.McpDecl, *ast.PipelineDecl, *ast.SchemaDecl, *ast.StoreDecl, *ast.StructDecl, *ast.TypeDecl, *ast.UseDecl: // these have no functions
	}
	for _, fn := range fns {
		if fn.Body != nil {
			visit(fn.Body)
		}
	}
}

// declares reports whether a body contains declarations.
func declares(b *ast.Block) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		_, is := n.(*ast.DeclStmt)
		found = found || is
		return !found
	})
	return found
}

// hashLost adds the text of bodies that could not be parsed to the hash, because it may contain
// declarations.
func hashLost(h io.Writer, f *ast.File) {
	for i := range f.Flaws {
		flaw := &f.Flaws[i]
		if fn, ok := flaw.Node.(*ast.FnDecl); ok && fn.Name != nil {
			_, _ = io.WriteString(h, "\x00fn "+fn.Name.Name)
		}
		if l, any := LossOf(f, flaw); any && l.Everywhere {
			for _, name := range l.Names {
				_, _ = io.WriteString(h, "\x00"+name)
			}
		}
	}
}
