package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// IsTest reports whether the function has the decorator `@test`.
func (fn *Function) IsTest() bool { return isTest(fn) }

func isTest(fn *Function) bool { return findDecorator(fn.Decl.Decorators, "test") != nil }

// testDecorator checks the decorator `@test` or `@expect_fail` of a function.
func (c *checker) testDecorator(m *module, fn *Function, d *ast.Decorator) {
	name := d.Name.Name
	switch {
	case name == "expect_fail" && !isTest(fn):
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@expect_fail` is only allowed together with `@test`").
			Repair(diag.SafeFix(diag.Insert(d.Sp.Start, "@test "), "Add `@test`"), "add `@test` before it"))
		return
	case name == "test" && (fn.assoc != nil || fn.Tool != nil || fn.Recv != nil || m.around != nil):
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@test` is only allowed on functions of a module").
			Hint("move the test to module level"))
		return
	case name == "test" && m == c.entry && fn.Name == "main":
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`main` cannot be a test").Hint("remove `@test`, or rename the function"))
		return
	}
	if len(d.Args) == 0 {
		return
	}
	if _, ok := decoratorText(d, 0); !ok || len(d.Args) > 1 || d.Args[0].Name != nil {
		c.report(m, diag.TestText.At(d.Sp, "`@%s` takes at most one string", name).
			WithFixes(diag.UnsafeFix(diag.Replace(d.Sp, "@"+name), "Write `@%s` alone", name)).Hint("write `@%s(\"…\")`, or `@%s` alone", name, name))
	}
}

// collectTest adds a function with the decorator @test or @eval to the tests or evals. It returns
// false if fn is neither.
func (c *checker) collectTest(m *module, fn *Function) bool {
	if c.collectEval(m, fn) {
		return true
	}
	c.collectGuard(m, fn)
	d := findDecorator(fn.Decl.Decorators, "test")
	if m.info.pkg != nil && d != nil {
		return true // the tests of packages are not run, and not checked
	}
	if d == nil || m == c.entry && fn.Name == "main" || m.around != nil || fn.assoc != nil || fn.Tool != nil {
		return false
	}
	t := &Test{Name: fn.Name, Fn: fn}
	if text, ok := decoratorText(d, 0); ok && text != "" {
		t.Name = text
	}
	if e := findDecorator(fn.Decl.Decorators, "expect_fail"); e != nil {
		t.ExpectFail = true
		t.Expect, _ = decoratorText(e, 0)
	}
	if len(fn.Params) > 0 {
		c.report(m, diag.MainSignature.At(fn.Decl.Signature, "a test cannot have parameters").Hint("declare the values inside it"))
	}
	c.prog.Tests = append(c.prog.Tests, t)
	return true
}

// checkTests checks the tests and the evals after the rest of the program. Declarations that only
// they use become part of the program only if the configuration includes them.
func (c *checker) checkTests() {
	p := c.prog
	var tests, evals []*Function
	for _, t := range p.Tests {
		tests = append(tests, t.Fn)
	}
	c.checkEvals()
	for _, e := range p.Evals {
		evals = append(evals, e.Fn)
	}
	if c.cfg.Evals { // what the program includes comes first
		c.checkApart(evals, true)
	}
	c.checkApart(tests, c.cfg.Tests)
	if !c.cfg.Evals {
		c.checkApart(evals, false)
	}
	if !c.cfg.Tests {
		p.Tests = nil
	}
}

// checkApart checks functions that the rest of the program does not use. If isIncluded is false,
// they and what only they use do not become part of the program.
func (c *checker) checkApart(fns []*Function, isIncluded bool) {
	p := c.prog
	if len(fns) == 0 {
		return
	}
	without := *p // a copy, so that declarations which the functions add can be removed again
	without.Functions, without.Dynamic = slices.Clone(p.Functions), slices.Clone(p.Dynamic)
	for _, fn := range fns {
		c.functionBody(fn)
	}
	for i := len(without.Functions); i < len(p.Functions); i++ { // functions in blocks are added during the loop
		c.functionBody(p.Functions[i])
	}
	c.drainLibrary()
	c.specialise()
	if !isIncluded {
		*p = without
		return
	}
	p.Functions = append(p.Functions, fns...)
}

// Mock describes a `mock` statement. Install is the library function that installs the mock. Its
// arguments are the agent, the host, or the name of the MCP server (the other two are nil), and a
// map of the fields.
type Mock struct {
	Agent   *Agent
	Host    *Host
	Server  *Tool
	Install *Function
}

// Mock returns the detail of a MockStmt.
func (i *Info) Mock(s *ast.MockStmt) *Mock { return i.mocks[s] }

// mockFields contains the fields of a mock. Each field is a kind of answer (spec/16-tests.md). The
// value of a response, or of a host's messages, may be a closure whose parameter is the prompt.
var mockFields = map[string]fieldType{
	"response":  {typ: types.Any},
	"error":     {typ: types.Any},
	"responses": {typ: &types.Array{Elem: types.Any}},
	"messages":  {typ: &types.Array{Elem: types.Any}},
}

// promptClosure is the type of a closure that computes an answer from the prompt.
var promptClosure = &types.Func{Params: []types.Type{types.String}, Result: types.Any}

// mock checks a mock statement.
func (b *body) mock(s *ast.MockStmt) {
	if !b.inTest() {
		b.report(diag.MockPlace.At(s.Sp, "`mock` is only allowed in a test or an eval").Hint("move it into an `@test` or `@eval` function, before the calls that it answers"))
	}
	d := &Mock{}
	fields := b.mockTarget(s, d)
	if fields == nil {
		for _, f := range s.Fields {
			b.checkAs(f.Value, types.Any, reason{})
		}
		return
	}
	if d.Server != nil {
		b.mockServer(s, d)
		return
	}
	seen := map[string]*ast.ConfigField{}
	var first *ast.ConfigField
	for _, f := range s.Fields {
		ft, ok := fields[f.Name.Name]
		switch {
		case !ok:
			b.errors++
			b.c.unknownConfig(b.m, "a mock", f.Name, fields, s.Fields)
			b.checkAs(f.Value, types.Any, reason{})
			continue
		case seen[f.Name.Name] != nil:
			b.report(diag.DuplicateField.At(f.Name.Sp, "`%s` is set twice", f.Name.Name).Label(seen[f.Name.Name].Name.Sp, "first here").
				Repair(edits.RemoveRow(b.info.File.Source, f.Sp, "Remove the second `%s`", f.Name.Name), "remove one"))
		case first != nil:
			b.report(diag.MockAnswers.At(f.Name.Sp, "a mock can only have one kind of answer").Label(first.Name.Sp, "the first answer").
				WithFixes(edits.RemoveRow(b.info.File.Source, f.Sp, "Remove `%s`", f.Name.Name)).Hint("keep one of them; `responses` can contain answers and errors: `responses: [\"yes\", { error: \"down\" }]`"))
		}
		seen[f.Name.Name] = f
		if first == nil {
			first = f
		}
		want := ft.typ
		if _, closure := unparen(f.Value).(*ast.Closure); closure && mayUsePrompt(f.Name.Name) {
			want = promptClosure
			if d.Host != nil {
				b.c.prog.OnMockPrompt = b.libraryHelper("__mock_asked")
			}
		}
		b.checkAs(f.Value, want, reason{b.m, f.Name.Sp, "the field `" + f.Name.Name + "`"})
	}
	if len(s.Fields) == 0 {
		b.report(diag.MockAnswers.At(s.Sp, "this mock of `%s` has no answers", s.Name.Name).Hint("add one: `response: \"…\"`"))
	}
	b.info.mocks[s] = d
}

// mayUsePrompt reports whether the value of a mock's field may be a closure whose parameter is the
// prompt.
func mayUsePrompt(field string) bool { return field == "response" || field == "messages" }

// mockTarget finds the agent, host or server that a mock replaces, and returns the allowed fields.
// It returns nil if the target cannot be mocked.
func (b *body) mockTarget(s *ast.MockStmt, d *Mock) map[string]fieldType {
	e := b.c.lookup(b.m, s.Name.Name)
	if e == nil {
		d := diag.UnknownName.At(s.Name.Sp, "unknown name `%s`", s.Name.Name)
		if !suggestName(d, s.Name, b.mockableNames()) {
			d.Hint("a mock needs the name of an agent, a host or an MCP server; import it with `use` if another module declares it")
		}
		b.report(d)
		return nil
	}
	switch o := e.obj.(type) {
	case *Agent:
		d.Agent, d.Install = o, b.libraryHelper("__mock_agent")
		return withoutField(mockFields, "messages")
	case *Host:
		d.Host, d.Install = o, b.libraryHelper("__mock_host")
		return mockFields
	case *Tool:
		if o.Server != "" {
			d.Server, d.Install = o, b.libraryHelper("__mock_mcp")
			return map[string]fieldType{}
		}
	}
	b.errors++
	if !e.refused {
		b.report(diag.MockTarget.At(s.Name.Sp, "`%s` is not an agent, host or MCP server", s.Name.Name).
			WithFixes(diag.UnsafeFix(diag.Remove(edits.WithItsLines(b.info.File.Source, s.Sp)), "Remove the mock")).Hint("remove it: other code runs unchanged in tests"))
	}
	return nil
}

// mockableNames returns the names of all declarations that can be mocked.
func (b *body) mockableNames() []string {
	var names []string
	for _, a := range b.c.prog.Agents {
		names = append(names, a.Name)
	}
	for _, h := range b.c.prog.Hosts {
		names = append(names, h.Name)
	}
	for _, t := range b.c.prog.Tools {
		if t.Server != "" {
			names = append(names, t.Name)
		}
	}
	return names
}

func withoutField(fields map[string]fieldType, name string) map[string]fieldType {
	out := map[string]fieldType{}
	for n, f := range fields {
		if n != name {
			out[n] = f
		}
	}
	return out
}

// inTest reports whether the current statement is in a test or an eval, or in a closure or handler
// of one.
func (b *body) inTest() bool {
	for f := b.frame; f != nil; f = f.parent {
		if f.fn != nil {
			return isTest(f.fn) || isEval(f.fn)
		}
	}
	return false
}

// mockServer checks a mock of an MCP server. Each field is the name of a function of the server.
// Its value is an answer of the function's result type, or a closure that computes the answer from
// the arguments.
func (b *body) mockServer(s *ast.MockStmt, d *Mock) {
	seen := map[string]*ast.ConfigField{}
	for _, f := range s.Fields {
		name := f.Name.Name
		var result types.Type = types.Any
		fn := d.Server.method(name)
		if fn == nil {
			if m := b.c.method(d.Server.Type, name); m != nil && m.Info.Library && m.pub {
				fn = m
			}
		}
		switch {
		case seen[name] != nil:
			b.report(diag.DuplicateField.At(f.Name.Sp, "`%s` is set twice", name).Label(seen[name].Name.Sp, "first here").
				Repair(edits.RemoveRow(b.info.File.Source, f.Sp, "Remove the second `%s`", name), "remove one"))
		case fn != nil:
			result = fn.Result
		case !d.Server.Rest:
			b.reportUnknownMocked(d.Server, f.Name)
		}
		seen[name] = f
		b.checkAs(f.Value, mockedAnswer(f.Value, result), reason{b.m, f.Name.Sp, "the answer of `" + d.Server.Name + "." + name + "`"})
	}
	if len(s.Fields) == 0 {
		b.report(diag.MockAnswers.At(s.Sp, "this mock of `%s` has no answers", s.Name.Name).Hint("add the answer of a function: `name: value`"))
	}
	b.info.mocks[s] = d
}

// mockedAnswer returns the expected type of the answer x of a function with the given result type.
func mockedAnswer(x ast.Expr, result types.Type) types.Type {
	if _, closure := unparen(x).(*ast.Closure); closure {
		return &types.Func{Params: []types.Type{&types.Map{Key: types.String, Value: types.Any}}, Result: result}
	}
	return result
}

func (b *body) reportUnknownMocked(t *Tool, name *ast.Ident) {
	names := b.c.methodNames(t.Type)
	d := diag.UnknownConfig.At(name.Sp, "`%s` has no function `%s`", t.Name, name.Name)
	if !suggestName(d, name, names) {
		d.Hint("declare it in `mcp %s`", t.Name)
	}
	b.report(d)
}
