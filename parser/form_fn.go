package parser

import "github.com/concerto-lang/concerto/ast"

// fnHeader is a function up to its body: also a method, a trait's or an MCP
// server's signature.
type fnHeader struct {
	Async    bool      `parser:"@'async'?"`
	Name     *name     `parser:"'fn' @Name"`
	Generics generics  `parser:"@@?"`
	Params   paramList `parser:"'(' @@ ')'"`
	Result   ast.Type  `parser:"( '->' @@ )?"`
}

func (f *fnHeader) node() *ast.FnDecl {
	n := &ast.FnDecl{Async: f.Async, Generics: f.Generics.nodes(), Params: f.Params.list, Result: f.Result}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// mockHeader is a mock up to its fields; the word itself is contextual.
type mockHeader struct {
	Name *name `parser:"'mock' @Name"`
}
