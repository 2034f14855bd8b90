package parser

import "github.com/concerto-lang/concerto/ast"

// fnHeader is a function up to its body: also a method, or a signature of a trait or MCP server.
type fnHeader struct {
	Async    bool      `parser:"@'async'?"`
	Name     *captured `parser:"'fn' @Name"`
	Generics generics  `parser:"@@?"`
	Params   paramList `parser:"'(' @@ ')'"`
	Result   ast.Type  `parser:"( '->' @@ )?"`
}

func (f *fnHeader) node(p *parser) *ast.FnDecl {
	n := &ast.FnDecl{Async: f.Async, Generics: f.Generics.nodes(p), Params: f.Params.list, Result: f.Result}
	n.Name = p.captured(f.Name)
	return n
}

// mockHeader is a mock up to its fields. The word itself is contextual.
type mockHeader struct {
	Name *captured `parser:"'mock' @Name"`
}
