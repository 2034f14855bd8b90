package program_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/program"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
)

const flowSeeds = 96

// TestFlow runs programs that take all paths of control flow. Each runs without passes, with all
// passes, with each pass alone, and with all passes but one. All runs must print the same text and
// fail at the same position with the same trace.
func TestFlow(t *testing.T) {
	randtest.Run(t, "internal/testkit/program", flowSeeds, plain(program.Flow), flows)
}

// TestFlowRegressions runs seeds that have found bugs in the past.
func TestFlowRegressions(t *testing.T) {
	for _, seed := range []uint64{
		504288799875, // a pass removed an unused Err, so that traces showed the position of another Err
	} {
		flows(t, seed)
	}
}

func flows(t *testing.T, seed uint64) {
	form := []program.Form{program.Plain, program.Handled, program.Captured, program.Plain, program.Nested, program.Crowded}[seed%6]
	text := program.FromSeed(program.Flow, seed, form)
	p := compiletest.Compile(t, text)
	want := whole(t, p, text)
	if form != program.Plain {
		plain := program.FromSeed(program.Flow, seed, program.Plain)
		if got, want := run(t, p, text, false), run(t, compiletest.Compile(t, plain), plain, false); got != want {
			t.Fatalf("the output of form %s differs:\n%s\n%s\n-- plain --\n%s", form, differ(want, got), text, plain)
		}
	}
	encoded := ir.Encode(p)
	for _, c := range choices {
		q := decode(t, encoded)
		optimize.Program(q, c.on)
		if err := ir.Verify(q); err != nil {
			t.Fatalf("optimised with %s: %v\n%s", c.name, err, text)
		}
		if got := whole(t, q, text); got != want {
			t.Fatalf("the output differs when optimised with %s:\n%s\n%s", c.name, differ(want, got), text)
		}
	}
}

// choices lists the sets of passes with which programs run: all passes, all passes in all functions
// (-hot), each pass alone, and all passes but one in all functions.
var choices = func() []choice {
	everywhere, err := optimize.Parse("-hot")
	if err != nil {
		panic(err)
	}
	out := []choice{{"all", optimize.All}, {"-hot", everywhere}}
	for n, p := range optimize.Passes {
		out = append(out, choice{p.Name, optimize.Only(n)}, choice{"-hot,-" + p.Name, everywhere &^ optimize.Only(n)})
	}
	return out
}()

type choice struct {
	name string
	on   optimize.Set
}

func decode(t *testing.T, encoded []byte) *ir.Program {
	t.Helper()
	p, err := ir.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planted lists bugs in the regions that the passes produce. The first is a former bug of the pass
// hoist, which occurred for a region that began at a loop's head.
var planted = []struct {
	name  string
	wrong func(f *ir.Function, r *ir.Region)
}{
	{"what is computed before a loop is in the region at its head", func(f *ir.Function, r *ir.Region) {
		for _, in := range f.Code {
			if (in.Op == ir.OpLoop || in.Op == ir.OpForInt || in.Op == ir.OpForIntTo) && int(in.Imm) == r.From {
				r.From = max(r.From-1, 0)
				return
			}
		}
	}},
	{"a region's last instruction is outside", func(_ *ir.Function, r *ir.Region) { r.To = max(r.To-1, r.From+1) }},
	{"a clause is entered behind its first instruction", func(f *ir.Function, r *ir.Region) { r.Target = min(r.Target+1, len(f.Code)-1) }},
}

// TestFlowDetectsPlantedBugs checks that the seeds of TestFlow detect each planted bug.
func TestFlowDetectsPlantedBugs(t *testing.T) {
	for _, m := range planted {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(flowSeeds) {
				if text := program.FromSeed(program.Flow, seed, program.Plain); shows(t, text, m.wrong) {
					return
				}
			}
			t.Error("no program of TestFlow detects the planted bug")
		})
	}
}

// shows reports whether the verifier rejects a bug in a program's regions, or the bug changes the
// program's output.
func shows(t *testing.T, text string, wrong func(*ir.Function, *ir.Region)) bool {
	t.Helper()
	p := compiletest.Compile(t, text)
	want := whole(t, p, text)
	optimize.Program(p, choices[1].on)
	for i := range p.Functions {
		f := &p.Functions[i]
		for r := range f.Regions {
			wrong(f, &f.Regions[r])
		}
	}
	if ir.Verify(p) != nil {
		return true
	}
	got, failed, err := perform(p, nil, false)
	return err != nil || got+compiletest.Trace(failed) != want
}
