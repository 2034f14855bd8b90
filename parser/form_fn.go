package parser

import "github.com/concerto-lang/concerto/ast"

// fnHeader is the part of a function before its body. Methods, and the signatures of traits and MCP
// servers, have the same form.
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

// mockHeader is the part of a mock before its fields. `mock` is a keyword only here.
type mockHeader struct {
	Name *captured `parser:"'mock' @Name"`
}
