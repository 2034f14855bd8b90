package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/diag"
)

// fnHeader is a function up to its body: also a method, a trait's or an MCP
// server's signature.
type fnHeader struct {
	Async    plex.Token `parser:"@'async'? 'fn'"`
	Name     plex.Token `parser:"@Name"`
	Generics *generics  `parser:"@@?"`
	Params   *params    `parser:"'(' @@? ')'"`
	Result   typeExpr   `parser:"( '->' @@ )?"`
}

func (f *fnHeader) node(p *parser) *ast.FnDecl {
	n := &ast.FnDecl{
		Async: f.Async.Value != "", Generics: f.Generics.nodes(), Params: f.Params.nodes(p),
	}
	n.Name = identOf(f.Name)
	if f.Result != nil {
		n.Result = f.Result
	}
	return n
}

// untyped reports a parameter without a type.
func (p *parser) untyped(n *ast.Param) {
	p.report(diag.UntypedParameter.At(n.Name.Sp, "the parameter `%s` has no type", n.Name.Name).
		Hint("write its type after the name: `%s: Int`", n.Name.Name))
}

// mockHeader is a mock up to its fields; the word itself is contextual.
type mockHeader struct {
	Name plex.Token `parser:"'mock' @Name"`
}
