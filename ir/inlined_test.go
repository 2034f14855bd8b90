package ir

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInlined checks that encoding and decoding preserve the records of inlined calls and the start
// of a function. Verify must reject records that do not nest or are out of bounds.
func TestInlined(t *testing.T) {
	program := func(inlined ...Inlined) *Program {
		return &Program{Version: Version, Name: "x", Files: []File{{Name: "x.conc"}}, Entry: 0, Functions: []Function{{
			Name: "f", Line: 1, ABI: FullABI, Result: Full, Registers: 2, Start: &Position{Line: 3, Column: 7},
			Block: Block{Code: []Instr{{Op: OpLoadNil, A: 1}, {Op: OpMove, A: 1, B: 1}, {Op: OpReturnNil}}, Inlined: inlined},
		}}}
	}
	p := program(Inlined{0, 1, 0, 3, 9, nil}, Inlined{0, 2, 0, 4, 1, nil})
	if err := Verify(p); err != nil {
		t.Fatal(err)
	}
	text := Encode(p)
	if want := `"registers":2,"start":"3:7","instructions":["LoadNil r1","Move r1 r1","ReturnNil"],"positions":"","inlined":["0 1 f0 3:9","0 2 f0 4:1"]`; !strings.Contains(string(text), want) {
		t.Errorf("the encoded program lacks the inlined calls: %s", text)
	}
	back, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p.Functions[0].Inlined, back.Functions[0].Inlined) + cmp.Diff(p.Functions[0].Start, back.Functions[0].Start); d != "" {
		t.Error(d)
	}
	if got := Disassemble(p); !strings.Contains(got, "  inlined [@0, @1) f0 at 3:9 ; f\n") {
		t.Error(got)
	}
	for _, wrong := range [][]Inlined{
		{{0, 4, 0, 1, 1, nil}}, {{1, 1, 0, 1, 1, nil}}, {{-1, 1, 0, 1, 1, nil}}, {{0, 1, 1, 1, 1, nil}}, {{0, 1, 0, -1, 1, nil}},
		{{0, 2, 0, 1, 1, nil}, {0, 1, 0, 1, 1, nil}}, {{0, 2, 0, 1, 1, nil}, {1, 3, 0, 1, 1, nil}},
	} {
		if err := Verify(program(wrong...)); err == nil {
			t.Errorf("Verify accepts the inlined calls %v", wrong)
		}
	}
	for _, wrong := range []string{`"0 1 f0 3"`, `"0 1 0 3:9"`, `"00 1 f0 3:9"`, `"0 1 f0 3:9 "`} {
		if _, err := Decode([]byte(strings.Replace(string(text), `"0 1 f0 3:9"`, wrong, 1))); err == nil {
			t.Errorf("Decode accepts the inlined call %s", wrong)
		}
	}
}
