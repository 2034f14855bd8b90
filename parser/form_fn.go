package parser

import "github.com/concerto-lang/concerto/ast"

// fnHeader is a function up to its body: also a method, a trait's or an MCP
// server's signature.
type fnHeader struct {
	Head     fixed     `parser:"'async'? 'fn' Name"`
	Generics *generics `parser:"@@?"`
	Params   paramList `parser:"'(' @@ ')'"`
	Result   typeExpr  `parser:"( '->' @@ )?"`
}

func (f *fnHeader) node(name *ast.Ident, async bool) *ast.FnDecl {
	n := &ast.FnDecl{Async: async, Generics: f.Generics.nodes(), Params: paramsOf(f.Params)}
	n.Name = name
	if f.Result != nil {
		n.Result = f.Result
	}
	return n
}

// mockHeader is a mock up to its fields; the word itself is contextual.
type mockHeader struct {
	Head fixed `parser:"'mock' Name"`
}
