package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// IsTest says whether the function is marked `@test`.
func (fn *Function) IsTest() bool { return isTest(fn) }

func isTest(fn *Function) bool { return decorator(fn.Decl.Decorators, "test") != nil }

// testDecorator checks an `@test` or `@expect_fail` of a function.
func (c *checker) testDecorator(m *module, fn *Function, d *ast.Decorator) {
	name := d.Name.Name
	switch {
	case name == "expect_fail" && !isTest(fn):
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@expect_fail` stands only with `@test`").
			Repair(diag.Sure(diag.Insert(d.Sp.Start, "@test "), "Add `@test`"), "add `@test` before it"))
		return
	case name == "test" && (fn.assoc != nil || fn.Tool != nil || fn.Recv != nil || m.around != nil):
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`@test` stands only on functions of a module").
			Hint("move the test out of what is around it"))
		return
	case name == "test" && m == c.entry && fn.Name == "main":
		c.report(m, diag.DecoratorPlace.At(d.Sp, "`main` is the program, not a test of it").Hint("remove `@test`, or name the function otherwise"))
		return
	}
	if len(d.Args) == 0 {
		return
	}
	if _, ok := decoratorText(d, 0); !ok || len(d.Args) > 1 || d.Args[0].Name != nil {
		c.report(m, diag.TestText.At(d.Sp, "`@%s` takes at most one text", name).
			By(diag.Offer(diag.Replace(d.Sp, "@"+name), "Write `@%s` alone", name)).Hint("write `@%s(\"…\")`, or `@%s` alone", name, name))
	}
}

// collectTest notes an @test function; false when fn is none.
func (c *checker) collectTest(m *module, fn *Function) bool {
	d := decorator(fn.Decl.Decorators, "test")
	if d == nil || m == c.entry && fn.Name == "main" || m.around != nil || fn.assoc != nil || fn.Tool != nil {
		return false
	}
	t := &Test{Name: fn.Name, Fn: fn}
	if text, ok := decoratorText(d, 0); ok && text != "" {
		t.Name = text
	}
	if e := decorator(fn.Decl.Decorators, "expect_fail"); e != nil {
		t.ExpectFail = true
		t.Expect, _ = decoratorText(e, 0)
	}
	if len(fn.Params) > 0 {
		c.report(m, diag.MainSignature.At(fn.Decl.Signature, "a test takes no parameters").Hint("make the values inside it"))
	}
	c.prog.Tests = append(c.prog.Tests, t)
	return true
}

// checkTests checks the tests, after all else is complete: what they alone
// bring into use is part of the program only when it is checked for its tests.
func (c *checker) checkTests() {
	p := c.prog
	if len(p.Tests) == 0 {
		return
	}
	without := *p // all of it: whatever a body brings into use is left out again
	without.Functions, without.Dynamic = slices.Clone(p.Functions), slices.Clone(p.Dynamic)
	for _, t := range p.Tests {
		c.functionBody(t.Fn)
	}
	for i := len(without.Functions); i < len(p.Functions); i++ { // blocks add the functions they declare
		c.functionBody(p.Functions[i])
	}
	c.drainLibrary()
	c.specialise()
	if !c.cfg.Tests {
		without.Tests = nil
		*p = without
		return
	}
	for _, t := range p.Tests {
		p.Functions = append(p.Functions, t.Fn)
	}
}
