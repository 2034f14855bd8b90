package program_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/program"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

const copiesSeeds = 150

// TestCopiesMatchModel compares the output of programs about copies of nested values with the
// model's output. It runs each program with and without all passes, with copy-on-write and with
// every copy made.
func TestCopiesMatchModel(t *testing.T) {
	randtest.Run(t, "internal/testkit/program", copiesSeeds, func(seed uint64) string { text, _ := program.Copies(seed); return text }, copies)
}

func copies(t *testing.T, seed uint64) {
	text, want := program.Copies(seed)
	p := compiletest.Compile(t, text)
	try := func(name string, p *ir.Program, always bool) {
		if got := run(t, p, text, always); got != want {
			t.Fatalf("with passes %s (copies %v): %s\n%s", name, always, differ(want, got), text)
		}
	}
	encoded := ir.Encode(p)
	try("none", p, false)
	try("none", p, true)
	for _, c := range choices[:2] {
		q := decode(t, encoded)
		optimize.Program(q, c.on)
		if err := ir.Verify(q); err != nil {
			t.Fatalf("optimised with %s: %v\n%s", c.name, err, text)
		}
		try(c.name, q, false)
		try(c.name, q, true)
	}
}

// forgotten lists planted bugs in copy-on-write. Each replaces an instruction, or a function of the
// library, by a variant that omits a mark or a copy.
var forgotten = []struct {
	name    string
	op      ir.Op
	instead func(in ir.Instr) ir.Instr
	native  string
	f       vm.Native
}{
	{name: "a container that two hold is not marked", op: ir.OpShare, instead: unchanged},
	{name: "a marked container is not copied", op: ir.OpOwn, instead: unchanged},
	{name: "a field is changed in place", op: ir.OpOwnField, instead: reads(ir.OpField)},
	{name: "an element is changed in place", op: ir.OpOwnElem, instead: reads(ir.OpArrayGet)},
	{name: "a map's value is changed in place", op: ir.OpOwnKey, instead: reads(ir.OpMapGet)},
	{name: "first gives an element that it does not mark", native: "Array.first", f: func(a *vm.Args) (value.Slot, error) {
		if x := a.Array(0); x.Len > 0 {
			return value.Some(x.At(0)), nil
		}
		return value.Nil, nil
	}},
}

func unchanged(in ir.Instr) ir.Instr { return ir.Instr{Op: ir.OpMove, A: in.A, B: in.A} }

func reads(op ir.Op) func(ir.Instr) ir.Instr {
	return func(in ir.Instr) ir.Instr { in.Op = op; return in }
}

// TestCopiesDetectsPlantedBugs checks that each planted bug changes the output of some program of
// TestCopiesMatchModel.
func TestCopiesDetectsPlantedBugs(t *testing.T) {
	for _, m := range forgotten {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(copiesSeeds) {
				text, want := program.Copies(seed)
				p := compiletest.Compile(t, text)
				for i := range p.Functions {
					for pc, in := range p.Functions[i].Code {
						if m.instead != nil && in.Op == m.op {
							p.Functions[i].Code[pc] = m.instead(in)
						}
					}
				}
				natives := func(name string) vm.Native {
					if m.f != nil && name == m.native {
						return m.f
					}
					return stdlib.Native(name)
				}
				if got, _, err := perform(p, natives, false); err != nil || got != want {
					return
				}
			}
			t.Error("no program of TestCopiesMatchModel detects the planted bug")
		})
	}
}
