package vm

import (
	"context"
	"testing"

	"github.com/concerto-lang/concerto/ir"
)

// TestRuns checks the counted sequences of instructions that could be fused: no sequence contains a
// jump target after its first instruction.
func TestRuns(t *testing.T) {
	a := newAsm()
	a.fn("main() Full 6", `
		LoadInt r1 0
		LoadInt r2 10
		@top: AddIntK r3 r1 1
		MulIntK r3 r3 2
		ForInt r1 r2 @top
		ReturnNil`)
	m, err := New(Config{Program: &a.Program, Performer: effectless, Count: Counting{Instructions: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	runs, all := m.Runs(2)
	want := []Run{{[]ir.Op{ir.OpAddIntK, ir.OpMulIntK}, 10}, {[]ir.Op{ir.OpMulIntK, ir.OpForInt}, 10}, {[]ir.Op{ir.OpLoadInt, ir.OpLoadInt}, 1}, {[]ir.Op{ir.OpForInt, ir.OpReturnNil}, 1}}
	if all != 33 || len(runs) != len(want) {
		t.Fatal(runs, all)
	}
	for i, r := range runs {
		if r.Times != want[i].Times || r.Ops[0] != want[i].Ops[0] || r.Ops[1] != want[i].Ops[1] {
			t.Errorf("got %v, want %v", r, want[i])
		}
	}
	if runs, _ := m.Runs(3); len(runs) != 2 || runs[0].Times != 10 || runs[1].Times != 1 {
		t.Error(runs)
	}
}
