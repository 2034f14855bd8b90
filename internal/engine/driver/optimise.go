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

// Strict makes a panic of code that a pass has broken. Tests set it, so that
// they notice such a bug of ours; for users the program runs without the passes.
var Strict bool

// generate gives the verified code of a program without mistakes. When the
// passes have made code that the machine cannot run, which is a bug of ours, the
// program is still run: it keeps the code from before the passes, with a
// warning.
func (in *Input) generate(checked *sema.Program) (*ir.Program, diag.List) {
	p, l := codegen.Generate(checked, in.embedded())
	if l.HasErrors() {
		return nil, l
	}
	// Verifying is a twelfth of compiling, for which no mistake gets to the machine.
	broken := in.optimise(p)
	if broken == nil {
		return p, l
	}
	if Strict {
		panic("optimisation produced invalid code: " + broken.Error())
	}
	p, _ = codegen.Generate(checked, in.embedded())
	in.verify(p)
	l.Add(diag.Unoptimised.At(source.Span{}, "compiled without optimisations, because they produced invalid code: %v", broken).
		Hint("this is a bug in the compiler: please report it together with the program, which works but runs more slowly"))
	return p, l
}

// verify panics when the machine cannot run a program as it was generated,
// before any pass.
func (in *Input) verify(p *ir.Program) {
	if in.generated != nil {
		in.generated(p)
	}
	if err := ir.Verify(p); err != nil {
		panic("the compiler produced invalid code: " + err.Error())
	}
}

// optimise applies the passes and verifies the result. The error says what is
// wrong with the result, or how a pass failed.
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
