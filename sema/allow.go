package sema

import (
	"bytes"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// allowance is a stretch of a file in which warnings of some codes are allowed:
// a declaration with `@allow`.
type allowance struct {
	at    source.Span
	codes []string
}

// allowances reads the `@allow` of a file's declarations, also of those within
// others. Few files have any.
func (c *checker) allowances(m *module) {
	f := m.info.File
	if m.info.Library || f.Source == nil || !bytes.Contains(f.Source.Text, []byte("@allow")) {
		return
	}
	for _, d := range f.Decls {
		ast.Walk(allowVisitor{c, m}, d)
	}
}

// allowVisitor notes what the declarations that it sees allow.
type allowVisitor struct {
	c *checker
	m *module
}

func (v allowVisitor) Visit(n ast.Node) ast.Visitor {
	var ds []*ast.Decorator
	switch n := n.(type) {
	case *ast.Stage:
		ds = n.Decorators
	case ast.Decl:
		ds = n.Head().Decorators
	}
	for _, d := range ds {
		if d.Name.Name == "allow" {
			v.c.allow(v.m, d, source.Join(d.Sp, n.Span()))
		}
	}
	return v
}

// allow notes what one `@allow` says.
func (c *checker) allow(m *module, d *ast.Decorator, at source.Span) {
	info := m.info
	if info.allows == nil {
		info.allows = map[*ast.Decorator]bool{}
	}
	info.allows[d] = true
	a := allowance{at: at}
	if len(d.Args) == 0 {
		c.report(m, diag.DecoratorArgument.At(d.Sp, "`@allow` needs the code of a warning").Hint("write `@allow(W0409)`"))
	}
	for _, arg := range d.Args {
		code := ""
		switch x := arg.Value.(type) {
		case *ast.PathExpr:
			if len(x.Segments) == 1 {
				code = x.Segments[0].Name
			}
		case *ast.StringLit:
			code = x.Value
		}
		if code == "" || arg.Name != nil {
			c.report(m, diag.DecoratorArgument.At(arg.Sp, "`@allow` takes the codes of warnings").Hint("write `@allow(W0409)`"))
			continue
		}
		if problem, hint, near := diag.Allowable(code); problem != "" {
			e := diag.DecoratorArgument.At(arg.Sp, "%s", problem)
			if near != "" {
				e.By(diag.Change(arg.Value.Span(), near, near, false))
			}
			c.report(m, e.Hint("%s", hint))
			continue
		}
		a.codes = append(a.codes, code)
	}
	info.allowed = append(info.allowed, a)
}

// allowsAll carries what a `mod x;` allows into the file of the module.
func (c *checker) allowsAll(m *module, d *ast.ModDecl, child *Info) {
	for _, a := range m.info.allowed {
		if decorator(d.Decorators, "allow") != nil && a.at.Contains(d.Name.Sp) {
			child.allowed = append(child.allowed, allowance{source.Span{End: source.Pos(len(child.File.Source.Text)) + 1}, a.codes})
		}
	}
}

// isAllowed says whether the program allows a warning where it stands.
func (i *Info) isAllowed(d *diag.Diagnostic) bool {
	return slices.ContainsFunc(i.allowed, func(a allowance) bool {
		return a.at.Contains(d.Span) && slices.Contains(a.codes, d.Info.Code)
	})
}
