package codegen

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// TestInspect checks that inspect visits the code that runs in source order, including the bodies
// of handlers. It must not visit the names of types, patterns and nested functions.
func TestInspect(t *testing.T) {
	const text = `fn main() {
    fn nested() { hidden; }
    let p = P { x: a, y: b };
    let f = |n: T| d + n;
    match e { Kind::Low => g, m if h => i, 1 => j(k), _ => l };
    let r = listen H.execute(o) { "q" => |msg| { q = msg; }, "s" => answer, };
    for u in v { w[x].y = try { z } catch Kind(err) { err }; }
    if let Some(aa) = bb { cc } else { dd as T }
    ({ "key": ee }, [ff])
}`
	file, diags := parser.Parse(source.NewFile("main.conc", []byte(text)))
	if diags.HasErrors() {
		t.Fatal(diags.Sorted()[0].Message)
	}
	var names []string
	inspect(file.Decls[0].(*ast.FnDecl).Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.PathExpr:
			names = append(names, n.Segments[0].Name)
		case *ast.Closure:
			names = append(names, "|")
		}
		return true
	})
	want := "a b | d n e g h i j k l H o q msg answer v w x z err bb cc dd ee ff"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("inspect visits\n%s\nwant\n%s", got, want)
	}
}
