package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// undeclaredCall checks a call of a function that an mcp block leaves to `..`:
// its arguments have names, since nothing gives them an order, and its result is
// Any.
func (b *body) undeclaredCall(e *ast.MethodCall, t *Tool, p *piped) types.Type {
	given := map[string]bool{}
	for _, a := range e.Args {
		if a.Name == nil || p != nil {
			b.arguments(e.Args)
			b.report(diag.NamelessArgument.At(a.Value.Span(), "`%s.%s` is not declared: its arguments need names", t.Name, e.Name.Name).
				Hint("write `name: value`, or declare the function in `mcp %s`", t.Name))
			return types.Bad
		}
		if given[a.Name.Name] {
			b.arguments(e.Args)
			b.report(diag.ArgumentTwice.At(a.Name.Sp, "parameter `%s` is given twice", a.Name.Name).Hint("remove one"))
			return types.Bad
		}
		given[a.Name.Name] = true
	}
	if p != nil {
		b.report(diag.NamelessArgument.At(e.Name.Sp, "`%s.%s` is not declared: nothing says which parameter a piped value is", t.Name, e.Name.Name).
			Hint("write `name: value`, or declare the function in `mcp %s`", t.Name))
		return types.Bad
	}
	return b.invoke(e, b.c.undeclared(t, e, given), t.Type, nil, nil)
}

// undeclared gives the function that is called with arguments of these names:
// one for all such calls.
func (c *checker) undeclared(t *Tool, e *ast.MethodCall, given map[string]bool) *Function {
	for _, fn := range t.Methods {
		if fn.Undeclared && fn.Decl.Name.Name == e.Name.Name && fn.takes(given) {
			return fn
		}
	}
	c.now.whole = true // others see it
	decl := &ast.FnDecl{DeclHead: ast.DeclHead{Base: t.Decl.Base, Name: e.Name}}
	fn := &Function{Name: t.Name + "." + e.Name.Name, Decl: decl, Info: t.Info, Tool: t, Undeclared: true, Recv: t.Type, Result: types.Any, mod: t.mod, pub: true}
	add := func(name string, typ types.Type, at *ast.Ident) {
		p := &Param{Name: name, Type: typ, Local: &Local{Name: name, Type: typ, Param: true, used: true}}
		if at != nil {
			p.At = at.Sp
		}
		fn.Params = append(fn.Params, p)
	}
	add("self", t.Type, nil)
	for _, a := range e.Args {
		add(a.Name.Name, types.Any, a.Name)
	}
	t.Methods, t.Described = append(t.Methods, fn), append(t.Described, "")
	c.enter(t.mod, fn)
	return fn
}

// takes says whether the parameters are the given ones.
func (fn *Function) takes(given map[string]bool) bool {
	if len(fn.Params)-1 != len(given) {
		return false
	}
	for _, p := range fn.Params[1:] {
		if !given[p.Name] {
			return false
		}
	}
	return true
}
