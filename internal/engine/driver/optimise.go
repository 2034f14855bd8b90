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

// Strict makes Concerto panic on code that an optimisation has broken. Tests set it; otherwise the
// program runs without the optimisations.
var Strict bool

// generateCode returns the verified code of a program without errors. If the optimisations have
// produced invalid code, which is a bug in Concerto, it returns the code before the optimisations,
// with a warning.
func (in *Input) generateCode(checked *sema.Program) (*ir.Program, diag.List) {
	p, l := codegen.Generate(checked, in.embedded())
	if l.HasErrors() {
		return nil, l
	}
	// Verifying takes a twelfth of compiling, and prevents invalid code from running.
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

// mustVerify panics if the VM cannot run a program as it was generated, before any optimisation.
func (in *Input) mustVerify(p *ir.Program) {
	if in.generated != nil {
		in.generated(p)
	}
	if err := ir.Verify(p); err != nil {
		panic("the compiler produced invalid code: " + err.Error())
	}
}

// optimise applies the optimisations and verifies the result. The error names the fault of the
// result, or how an optimisation failed.
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
