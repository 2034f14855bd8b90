package driver

import (
	"fmt"

	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Strict makes the compiler panic if an optimisation produces invalid code. Tests set it. Otherwise
// the program runs without the optimisations.
var Strict bool

// generateCode returns the verified code of a program without errors. If the optimisations produce
// invalid code, which is a bug in Concerto, generateCode returns the unoptimised code with a
// warning.
func (in *Input) generateCode(checked *sema.Program) (*ir.Program, diag.List) {
	p, l := codegen.Generate(checked, in.embedded())
	if l.HasErrors() {
		return nil, l
	}
	// Verifying takes a twelfth of the compile time, and prevents invalid code from running.
	broken := in.optimise(p)
	if broken == nil {
		return p, l
	}
	if Strict {
		panic("optimisation produced invalid code: " + broken.Error())
	}
	p, _ = codegen.Generate(checked, in.embedded())
	in.mustVerify(p)
	l.Add(diag.Unoptimised.At(source.Span{}, "compiled without optimisations, because they produced invalid code: %v", broken).
		Hint("this is a bug in the compiler: please report it together with the program, which works but runs more slowly"))
	return p, l
}

// mustVerify panics if the generated code is invalid before any optimisation.
func (in *Input) mustVerify(p *ir.Program) {
	if in.generated != nil {
		in.generated(p)
	}
	if err := ir.Verify(p); err != nil {
		panic("the compiler produced invalid code: " + err.Error())
	}
}

// optimise applies the optimisations and verifies the result. The error describes the invalid code,
// or the panic of an optimisation.
func (in *Input) optimise(p *ir.Program) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("an optimisation pass failed: %v", r)
		}
	}()
	apply := in.passes
	if apply == nil {
		apply = optimize.Program
	}
	apply(p, in.Passes)
	return ir.Verify(p)
}
