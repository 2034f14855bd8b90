package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestStartCompilesNothing checks that no variable of a package of concerto is initialised with a
// compiled regular expression. Every start of the program would compile it, which takes 10 to 60
// microseconds.
func TestStartCompilesNothing(t *testing.T) {
	randtest.InOneGoroutine(t)
	linked := depsOf(t, "concerto")
	for name, source := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || !slices.Contains(linked, Module+"/"+path.Dir(name)) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR && compilesExpression(g) {
				t.Errorf("%s compiles an expression at the start of the program: use sync.OnceValue", name)
			}
		}
	}
}

// compilesExpression reports whether the initialisation of variables calls regexp.MustCompile.
func compilesExpression(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "MustCompile" {
			found = true
		}
		_, deferred := n.(*ast.FuncLit)
		return !deferred
	})
	return found
}
