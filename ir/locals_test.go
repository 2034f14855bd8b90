package ir

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLocals checks that encoding and decoding preserve the locals. Verify must reject locals that
// are out of bounds.
func TestLocals(t *testing.T) {
	program := func(own, inlined []Local) *Program {
		return &Program{Version: Version, Name: "x", Files: []File{{Name: "x.conc"}}, Entry: 0, Functions: []Function{{
			Name: "f", Line: 1, ABI: FullABI, Result: Full, Registers: 3,
			Block: Block{Code: []Instr{{Op: OpLoadNil, A: 1}, {Op: OpMove, A: 1, B: 1}, {Op: OpReturnNil}}, Locals: own, Inlined: []Inlined{{From: 1, To: 3, Locals: inlined}}},
		}}}
	}
	p := program([]Local{{"n", 1, -1, 0, 3, 0}, {"spilled", 2, 14, 1, 2, 1}, {"n", 2, -1, 2, 3, 2}}, []Local{{"self", 1, -1, 1, 3, 1}, {"été", 2, 0, 2, 3, 2}})
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	text := string(Encode(p))
	for _, want := range []string{`"locals":["n r1 0 3","spilled r2.14 1 2","n r2 2 3"]`, `"inlined":["1 3 f0 0:0, self r1 1 3, été r2.0 2 3"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("the encoded program does not contain %s:\n%s", want, text)
		}
	}
	back, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back); d != "" {
		t.Error(d)
	}
	if got := LocalsAt(p.Functions[0].Locals, 2); len(got) != 1 || got[0].Register != 2 {
		t.Errorf("LocalsAt(2) = %v, want only the local in register 2", got)
	}
	for _, wrong := range []Local{{"n", 0, -1, 0, 3, 0}, {"n", 3, -1, 0, 3, 0}, {"n", 1, -2, 0, 3, 0}, {"n", 1, -1, 2, 2, 0}, {"n", 1, -1, 0, 4, 0}, {"n", 1, -1, -1, 3, 0}, {"", 1, -1, 0, 3, 0}, {"a b", 1, -1, 0, 3, 0}} {
		if err := Verify(program([]Local{wrong}, nil)); err == nil || !strings.Contains(err.Error(), "function 0 (f): local") {
			t.Errorf("Verify of local %v returned %v, want an error about the local", wrong, err)
		}
	}
	if err := Verify(program(nil, []Local{{"n", 1, -1, 0, 3, 0}})); err == nil {
		t.Error("Verify accepts a local of an inlined call whose range begins before the call")
	}
	for _, wrong := range []string{`"n r1 0"`, `"n 1 0 3"`, `"n r01 0 3"`, `"n r1 -1 3"`, `"n r1. 0 3"`, `" r1 0 3"`, `"n r1 0 3 "`} {
		if _, err := Decode([]byte(strings.Replace(text, `"n r1 0 3"`, wrong, 1))); err == nil || !strings.Contains(err.Error(), "malformed local") {
			t.Errorf("Decode of local %s returned %v, want an error about a malformed local", wrong, err)
		}
	}
}
