package optimize_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/ir"
)

// TestGoldenPasses compares the code before and after passes with golden archives. In an archive,
// section main.conc is a program, section passes contains the passes, and sections before and after
// contain the code of the program's own functions.
func TestGoldenPasses(t *testing.T) {
	shown := map[string]bool{}
	golden.Run(t, filepath.Join("testdata", "*.txtar"), func(t *testing.T, a *golden.Archive) {
		names := strings.TrimSpace(a.Input("passes"))
		on, err := optimize.Parse(names)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Split(names, ",") {
			shown[name] = true
		}
		p := compiletest.Compile(t, a.Input("main.conc"))
		a.Check("before", compiletest.Assembly(p))
		optimize.Program(p, on)
		if err := ir.Verify(p); err != nil {
			t.Fatal(err)
		}
		a.Check("after", compiletest.Assembly(p))
	})
	for _, p := range optimize.Passes {
		if !shown[p.Name] {
			t.Errorf("no archive in testdata tests the pass %s", p.Name)
		}
	}
}

// TestParse checks the sets of passes that Parse returns.
func TestParse(t *testing.T) {
	inline, err := optimize.Parse("inline")
	if err != nil || inline == optimize.None {
		t.Fatal(inline, err)
	}
	for text, want := range map[string]optimize.Set{
		"all": optimize.All, "none": optimize.None, "-inline": optimize.All &^ inline, "all,-inline": optimize.All &^ inline,
		"inline,-inline": optimize.None, "none, inline": inline,
	} {
		if got, err := optimize.Parse(text); got != want || err != nil {
			t.Errorf("Parse(%q) = %b (error %v), want %b", text, got, err, want)
		}
	}
	for _, text := range []string{"", "magic", "inline,", "inline,-magic"} {
		if _, err := optimize.Parse(text); err == nil || !strings.Contains(err.Error(), "there is no pass") {
			t.Errorf("Parse(%q): error %v", text, err)
		}
	}
}
