package optimize_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/ir"
)

// effect contains statistics about the code of a program's own functions.
type effect struct {
	ops                               map[ir.Op]int // number of instructions with each operation
	instructions, registers, operands int           // operands is the sum of the fields A, B and C of all instructions
}

func effectOf(p *ir.Program) effect {
	e := effect{ops: map[ir.Op]int{}}
	for i := range p.Functions {
		f := &p.Functions[i]
		if f.File != 0 {
			continue
		}
		e.registers += f.Registers
		e.instructions += len(f.Code)
		for _, in := range f.Code {
			e.ops[in.Op]++
			e.operands += int(in.A) + int(in.B) + int(in.C)
		}
	}
	return e
}

// against describes the differences between two effects. It returns "" if there are none.
func (e effect) against(o effect) string {
	var parts []string
	add := func(what string, n int) {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%s%+d", what, n))
		}
	}
	add("instructions", e.instructions-o.instructions)
	add("registers", e.registers-o.registers)
	add("operands", e.operands-o.operands)
	ops := maps.Clone(o.ops)
	maps.Copy(ops, e.ops)
	for _, op := range slices.SortedFunc(maps.Keys(ops), func(a, b ir.Op) int { return strings.Compare(a.String(), b.String()) }) {
		add(op.String(), e.ops[op]-o.ops[op])
	}
	return strings.Join(parts, " ")
}

// TestEffect records how the passes change whole programs: the programs of bench, and programs that
// are written for the passes. testdata/effect/programs.txtar contains the effect of all passes, the
// effect of each pass alone, and the difference that omitting each pass makes.
func TestEffect(t *testing.T) {
	var rows strings.Builder
	for _, text := range programs(t) {
		p := compiletest.Compile(t, text.text)
		encoded, plain := ir.Encode(p), effectOf(p)
		with := func(choice string) effect {
			on, err := optimize.Parse(choice)
			if err != nil {
				t.Fatal(err)
			}
			p, err := ir.Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			optimize.Program(p, on)
			if err := ir.Verify(p); err != nil {
				t.Fatalf("%s with the passes %s: %v", text.name, choice, err)
			}
			return effectOf(p)
		}
		row := func(choice, after string) {
			if after != "" {
				fmt.Fprintf(&rows, "  %s: %s\n", choice, after)
			}
		}
		everywhere := with("-hot")
		fmt.Fprintf(&rows, "%s\n", text.name)
		row("all", with("all").against(plain))
		row("everywhere", everywhere.against(plain))
		for _, pass := range optimize.Passes {
			if pass.Name != "hot" {
				row(pass.Name, with(pass.Name).against(plain))
				row("-"+pass.Name, with("-hot,-"+pass.Name).against(everywhere))
			}
		}
	}
	a := golden.Open(t, filepath.Join("testdata", "effect", "programs.txtar"))
	a.Check("effect", rows.String())
	a.Close()
}

// program is the text of a program with its name.
type program struct{ name, text string }

func programs(t *testing.T) []program {
	var out []program
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", "bench", "programs", "*", "main.conc"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, program{"bench/" + filepath.Base(filepath.Dir(path)), string(text)})
	}
	golden.Run(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, a *golden.Archive) {
		out = append(out, program{filepath.Base(t.Name()), a.Input("main.conc")})
	})
	return out
}
