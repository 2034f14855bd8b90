package sema

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/surface"
)

// A file with syntax errors is checked as far as possible. The checker does not report diagnostics
// that the repair of a syntax error would probably remove, because they would hide the cause. An
// omitted error still counts as an error, so that its consequences are not reported either.

// flawedNodes reports for each reason of diag.Noise about a construct whether a node is this
// construct.
var flawedNodes = []flawedNode{
	{diag.InFlawedMatch, is[*ast.MatchExpr]},
	{diag.InFlawedListen, is[*ast.ListenExpr]},
	{diag.InFlawedImpl, is[*ast.ImplDecl]},
	{diag.InFlawedFunction, is[*ast.FnDecl]},
	{diag.InFlawedFields, func(n ast.Node) bool { return is[*ast.StructLit](n) || is[*ast.StructPat](n) || is[*ast.MapLit](n) }},
	{diag.InFlawedCall, func(n ast.Node) bool { return is[*ast.Call](n) || is[*ast.MethodCall](n) || is[*ast.EmitExpr](n) }},
	{diag.InFlawedEmit, is[*ast.EmitExpr]},
	{diag.InFlawedType, is[*ast.NamedType]},
	{diag.InFlawedAgent, is[*ast.AgentDecl]},
	{diag.InFlawedHost, is[*ast.HostDecl]},
	{diag.InFlawedTool, is[*ast.ToolDecl]},
	{diag.InFlawedServer, is[*ast.McpDecl]},
	{diag.InFlawedPipeline, is[*ast.PipelineDecl]},
}

type flawedNode struct {
	reason diag.Noise
	is     func(ast.Node) bool
}

func is[N ast.Node](n ast.Node) bool { _, ok := n.(N); return ok }

// isNoise reports whether d is probably a consequence of a syntax error.
func (c *checker) isNoise(m *module, d *diag.Diagnostic) bool {
	if !c.flawed {
		return false
	}
	f, noise := m.info.File, d.Info.Noise
	switch {
	case noise.Has(diag.AfterLostName):
		name := f.Source.Slice(d.Span)
		if i := strings.LastIndex(name, "::"); i >= 0 {
			name = name[i+2:]
		}
		return name == "" || c.mayDeclare(f, name, d) || noise.Has(diag.AfterLostHeader) && c.callsFlawed(name) || inFlaw(f, d.Span)
	case noise.Has(diag.AfterLostHeader) && c.callsFlawed(f.Source.Slice(d.Span)):
		return true
	case len(f.Flaws) == 0:
		return false
	case inFlaw(f, d.Span) || isHole(f, d.Span):
		return true
	case noise.Has(diag.InFlawedBody):
		return slices.ContainsFunc(surface.Around(f, d.Span), func(n ast.Node) bool { return isBody(n) && f.Flawed(n.Span()) })
	}
	i := slices.IndexFunc(flawedNodes, func(f flawedNode) bool { return noise.Has(f.reason) })
	if i < 0 {
		return false
	}
	nodes := surface.Around(f, d.Span)
	for _, n := range slices.Backward(nodes) {
		if flawedNodes[i].is(n) {
			return f.Flawed(n.Span())
		}
	}
	return false
}

// inFlaw reports whether a position is in text that could not be parsed, such as an unterminated
// string.
func inFlaw(f *ast.File, at source.Span) bool {
	return slices.ContainsFunc(f.Flaws, func(flaw ast.Flaw) bool {
		return flaw.Span.Start < flaw.Span.End && (flaw.Span.Contains(at) || adjoins(f, at, flaw.Span))
	})
}

// isHole reports whether a required part is missing at a position.
func isHole(f *ast.File, at source.Span) bool {
	return at.Start == at.End && slices.ContainsFunc(f.Flaws, func(flaw ast.Flaw) bool { return flaw.Span == at && flaw.Node != nil && flaw.Kind == ast.Broken })
}

// adjoins reports whether text that could not be parsed follows the span at on the same line. The
// text of the span then probably has another meaning.
func adjoins(f *ast.File, at, flaw source.Span) bool {
	return at.End <= flaw.Start && strings.Trim(f.Source.Slice(source.Span{Start: at.End, End: flaw.Start}), " \t") == ""
}

// isBody reports whether n is a declaration that has a body or values.
func isBody(n ast.Node) bool {
	switch n.(type) {
	case *ast.FnDecl, *ast.Stage, *ast.ConstDecl, *ast.StoreDecl, *ast.AgentDecl, *ast.HostDecl:
		return true
	}
	return false
}

// mayDeclare reports whether text that could not be parsed contains name, and a declaration there
// would be in scope at the position of d.
func (c *checker) mayDeclare(f *ast.File, name string, d *diag.Diagnostic) bool {
	for _, info := range c.prog.Files {
		for _, l := range c.losses(info) {
			if slices.Contains(l.Names, name) && (l.Everywhere || info.File == f && l.Within.Contains(d.Span)) {
				return true
			}
		}
	}
	return false
}

// losses returns the texts of a file that could not be parsed. It computes them when they are first
// needed.
func (c *checker) losses(info *Info) []surface.Loss {
	if len(info.File.Flaws) == 0 {
		return nil
	}
	if cached, ok := c.lost[info]; ok {
		return cached
	}
	list := []surface.Loss{}
	for i := range info.File.Flaws {
		if l, any := surface.LossOf(info.File, &info.File.Flaws[i]); any {
			list = append(list, l)
		}
	}
	if c.lost == nil {
		c.lost = map[*Info][]surface.Loss{}
	}
	c.lost[info] = list
	return list
}

// isFlawed reports whether the declaration of a type has a syntax error, so that fields may be
// missing.
func (c *checker) isFlawed(d *types.Decl) bool {
	o, ok := d.Origin.(*origin)
	return ok && c.flawed && o.mod.info.File.Flawed(o.head.Sp)
}

// callsFlawed reports whether the text of a call contains the name of a function whose header has
// syntax errors.
func (c *checker) callsFlawed(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, info := range c.prog.Files {
		for i := range info.File.Flaws {
			if fn, ok := info.File.Flaws[i].Node.(*ast.FnDecl); ok && slices.Contains(words, fn.Name.Name) {
				return true
			}
		}
	}
	return false
}

// isNamedInLoss reports whether text in the file of m that could not be parsed contains name. The
// text may then use the name.
func (c *checker) isNamedInLoss(m *module, name string) bool {
	return slices.ContainsFunc(c.losses(m.info), func(l surface.Loss) bool { return slices.Contains(l.Names, name) })
}

// allowance is a span of a file in which warnings with certain codes are allowed. The span is a
// declaration with `@allow`.
type allowance struct {
	at    source.Span
	codes []string
}

// allowances records the `@allow` decorators of all declarations in a file, including nested ones.
func (c *checker) allowances(m *module) {
	f := m.info.File
	if m.info.Library || f.Source == nil || !bytes.Contains(f.Source.Text, []byte("@allow")) {
		return
	}
	for _, d := range f.Decls {
		ast.Walk(allowVisitor{c, m}, d)
	}
}

// allowVisitor records the `@allow` decorators of the declarations that it visits.
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
			v.c.recordAllow(v.m, d, source.Join(d.Sp, n.Span()))
		}
	}
	return v
}

// recordAllow records one `@allow`. at is the span of the declaration.
func (c *checker) recordAllow(m *module, d *ast.Decorator, at source.Span) {
	info := m.info
	if info.allows == nil {
		info.allows = map[*ast.Decorator]bool{}
	}
	info.allows[d] = true
	a := allowance{at: at}
	if len(d.Args) == 0 {
		c.report(m, diag.DecoratorArgument.At(d.Sp, "`@allow` requires the code of a warning").Hint("write `@allow(W0409)`"))
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
		default: // the others are no codes
		}
		if code == "" || arg.Name != nil {
			c.report(m, diag.DecoratorArgument.At(arg.Sp, "`@allow` takes only codes of warnings").Hint("write `@allow(W0409)`"))
			continue
		}
		if problem, hint, near := diag.Allowable(code); problem != "" {
			e := diag.DecoratorArgument.At(arg.Sp, "%s", problem)
			if near != "" {
				e.WithFixes(diag.Change(arg.Value.Span(), near, near, false))
			}
			c.report(m, e.Hint("%s", hint))
			continue
		}
		a.codes = append(a.codes, code)
	}
	info.allowed = append(info.allowed, a)
}

// applyModuleAllow applies the `@allow` on a `mod x;` to the file of the module.
func (c *checker) applyModuleAllow(m *module, d *ast.ModDecl, child *Info) {
	for _, a := range m.info.allowed {
		if findDecorator(d.Decorators, "allow") != nil && a.at.Contains(d.Name.Sp) {
			child.allowed = append(child.allowed, allowance{source.Span{End: source.Pos(len(child.File.Source.Text)) + 1}, a.codes})
		}
	}
}

// Reports reports whether a stage after the checker may add the warning d about a file: the file is
// the project's own, and no `@allow` allows the warning.
func (p *Program) Reports(i *Info, d *diag.Diagnostic) bool {
	return !i.Library && i.pkg == nil && !i.isAllowed(d)
}

// isAllowed reports whether an `@allow` allows the warning d.
func (i *Info) isAllowed(d *diag.Diagnostic) bool {
	return slices.ContainsFunc(i.allowed, func(a allowance) bool {
		return a.at.Contains(d.Span) && slices.Contains(a.codes, d.Info.Code)
	})
}
