package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
)

// fnHeader is a function up to its body: also a method, a trait's or an MCP
// server's signature.
type fnHeader struct {
	Async    plex.Token `parser:"@'async'? 'fn'"`
	Name     plex.Token `parser:"@Name"`
	Generics *generics  `parser:"@@?"`
	Params   paramList  `parser:"'(' @@ ')'"`
	Result   typeExpr   `parser:"( '->' @@ )?"`
}

func (f *fnHeader) node() *ast.FnDecl {
	n := &ast.FnDecl{
		Async: f.Async.Value != "", Generics: f.Generics.nodes(), Params: paramsOf(f.Params),
	}
	n.Name = identOf(f.Name)
	if f.Result != nil {
		n.Result = f.Result
	}
	return n
}

// mockHeader is a mock up to its fields; the word itself is contextual.
type mockHeader struct {
	Name plex.Token `parser:"'mock' @Name"`
}
