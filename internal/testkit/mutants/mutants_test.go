package mutants

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root returns the module's root.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runFew runs the mutants of testdata/few.
func runFew(t *testing.T, o Options) (r *Result, log []string) {
	t.Helper()
	o.Root = root(t)
	o.Log = func(line string) { log = append(log, line) }
	r, err := Run(Target{Package: "internal/testkit/mutants/testdata/few"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, log
}

// names returns the mutants without their paths.
func names(mutants []*Mutant) []string {
	var out []string
	for _, m := range mutants {
		out = append(out, strings.TrimPrefix(m.String(), filepath.Dir(m.File)+string(filepath.Separator)))
	}
	return out
}

// TestRun runs the mutants of a package with known gaps in its tests. Mutants in the gaps survive,
// mutants that no test reaches are listed separately, and all others are killed, including endless
// loops.
func TestRun(t *testing.T) {
	r, log := runFew(t, Options{Count: 100, Parallel: 2})
	if diff := cmp.Diff([]string{
		"few.go:16: Larger: a > b -> a >= b",
		"few.go:30: Log: without kept = append(kept, text)",
	}, names(r.Alive)); diff != "" {
		t.Errorf("survivors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`few.go:25: Find: return 0, errors.New("there is none") -> zero`,
		"few.go:25: Find: 0 -> 1",
	}, names(r.Unreached)); diff != "" {
		t.Errorf("not reached (-want +got):\n%s", diff)
	}
	for _, dead := range []string{
		"Sum: not (i <= n)", "Sum: i <= n -> i < n", "Sum: without s += i", "Sum: return s -> zero", "Sum: 0 -> 1",
		"Larger: not (a > b)", "Find: not (n == name)", "Find: return i, nil -> zero", "Sure: not (ok)", "Sure: 1 -> 2",
		"Spin: without n--",
	} {
		if !slices.ContainsFunc(log, func(l string) bool { return strings.Contains(l, ", dies: ") && strings.HasSuffix(l, ": "+dead) }) {
			t.Errorf("mutant not killed: %s", dead)
		}
	}
	if strings.Contains(strings.Join(log, "\n"), "panic(") {
		t.Error("a mutant without the last panic of a function was tried, but it cannot compile")
	}
	if !slices.Contains(r.LeftOut, "TestWhole/inner") {
		t.Errorf("tests left out = %q", r.LeftOut)
	}
	if want := 100 * float64(r.Tried-4) / float64(r.Tried-2); r.Killed() != want {
		t.Errorf("percentage of killed mutants = %v, want %v", r.Killed(), want)
	}
}

// TestSample checks that a seed always selects the same sample, independent of line numbers.
func TestSample(t *testing.T) {
	var all, moved []*Mutant
	for i, change := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all = append(all, &Mutant{File: "x.go", Line: i, Func: "f", Change: change, start: i, end: i + 1})
		moved = append(moved, &Mutant{File: "x.go", Line: 2 * i, Func: "f", Change: change, start: 7 * i, end: 7*i + 1})
	}
	selected := func(from []*Mutant, seed uint64) (out string) {
		for _, m := range sample(from, 4, seed) {
			out += m.Change
		}
		return out
	}
	if selected(all, 1) != selected(moved, 1) {
		t.Errorf("sample after the lines moved: %s became %s", selected(all, 1), selected(moved, 1))
	}
	if selected(all, 1) == selected(all, 2) && selected(all, 1) == selected(all, 3) {
		t.Error("all seeds select the same sample")
	}
	if got := len(sample(all, 100, 1)); got != len(all) {
		t.Errorf("sample of more than all mutants: got %d of %d", got, len(all))
	}
}

// TestEqualChangesShareNoBuild checks that two changes of the same text never share a build.
func TestEqualChangesShareNoBuild(t *testing.T) {
	outer, inner := &Mutant{File: "x.go", start: 0, end: 10}, &Mutant{File: "x.go", start: 2, end: 3}
	beside, other := &Mutant{File: "x.go", start: 10, end: 12}, &Mutant{File: "y.go", start: 0, end: 10}
	got := rounds([]*Mutant{outer, inner, beside, other})
	if len(got) != 2 || !slices.Equal(got[0], []*Mutant{outer, beside, other}) || !slices.Equal(got[1], []*Mutant{inner}) {
		t.Errorf("rounds = %v", got)
	}
}

// TestEqual checks that each mutant in equal exists.
func TestEqual(t *testing.T) {
	for _, target := range Targets {
		if !slices.ContainsFunc(equal, func(s equalMutant) bool { return s.pkg == target.Package }) {
			continue
		}
		c, err := load(root(t), target.Package)
		if err != nil {
			t.Fatal(err)
		}
		all := c.findMutants()
		for _, s := range equal {
			if s.why == "" {
				t.Errorf("no reason is given for %s: %s", s.fn, s.change)
			}
			if s.pkg == target.Package && !slices.ContainsFunc(all, s.matches) {
				t.Errorf("there is no mutant %s/%s: %s: %s", s.pkg, s.file, s.fn, s.change)
			}
		}
	}
}
