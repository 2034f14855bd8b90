package sim

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Flags of the search for violations: go test ./internal/sim -run TestSeeds -first 1 -seeds
// 1000000.
var (
	first  = flag.Uint64("first", 1, "first seed of TestSeeds")
	seeds  = flag.Uint64("seeds", 400, "number of seeds of TestSeeds")
	shrink = flag.Bool("shrink", true, "search for the shortest schedule of a violation")
	only   = flag.String("only", "", "kinds of blocks, separated by commas; all by default")
	story  = flag.Bool("story", false, "print the story of each seed")
	keep   = flag.String("keep", "", "directory for the schedules with violations, shrunk")
)

// perProgram is the number of seeds for each generated program.
const perProgram = 8

// again is the number of seeds of which one is run twice.
const again = 20

// TestSeeds runs the schedules of seeds.
func TestSeeds(t *testing.T) {
	var w *Workload
	playSeeds(t, *seeds, 1000, func(seed uint64) plan {
		if w == nil || seed%perProgram == 0 {
			w = Generate(seed/perProgram, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })...)
		}
		return &Schedule{w, choicesOf(seed, 3)}
	})
}

// playSeeds plays the schedules of a number of seeds. No invariant may be violated. A part of them
// is played twice and must have the same trace, but for one seed in oneIn.
func playSeeds(t *testing.T, n uint64, oneIn int, schedule func(seed uint64) plan) {
	t.Helper()
	base, wrong := baseOf(t), 0
	var runs traces
	for seed := *first; seed < *first+n; seed++ {
		s := schedule(seed)
		r := s.Play(t, base)
		if len(r.Problems) > 0 {
			report(t, s, r, base, seed)
			if wrong++; wrong == 5 || flag.Lookup("test.failfast").Value.String() == "true" {
				t.FailNow()
			}
		}
		if *story {
			t.Log(r.Story)
		}
		runs.compare(t, seed, r, func() *Result { return s.Play(t, base) })
	}
	runs.check(t, oneIn)
}

// baseOf returns the directory of a world.
func baseOf(t *testing.T) string { return filepath.Join(t.TempDir(), "w1") }

// traces counts the seeds that run twice, and those of them that have two traces.
type traces struct{ twice, different int }

// compare plays the schedule of a seed again if it is one of those that run twice. r is what it has
// shown.
func (x *traces) compare(t *testing.T, seed uint64, r *Result, play func() *Result) {
	t.Helper()
	if seed%again != 0 {
		return
	}
	x.twice++
	if b := play(); !slices.Equal(r.Trace, b.Trace) || r.Story != b.Story {
		x.different++
		t.Logf("seed %d has two traces: %s", seed, firstDifference(r, b))
	}
}

// check permits two traces for one seed, and for one in oneIn of the others.
func (x *traces) check(t *testing.T, oneIn int) {
	t.Helper()
	t.Logf("%d of %d seeds that ran twice have two traces", x.different, x.twice)
	if x.different*oneIn > x.twice+oneIn {
		t.Errorf("%d of %d seeds that ran twice have two traces, want at most one in %d", x.different, x.twice, oneIn)
	}
}

// report reports a violation with its shortest schedule.
func report(t *testing.T, s plan, r *Result, base string, seed uint64) {
	t.Helper()
	small, got := withFaults(s, r.Faults), r
	if *shrink {
		small, got = shrunk(t, s, base, r)
	}
	text := textOf(small, got)
	t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), text)
	if *keep != "" {
		name := filepath.Join(*keep, strings.ToLower(got.invariant())+"-"+filepath.Base(t.Name())+".sim")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// firstDifference returns where two runs of a schedule differ.
func firstDifference(a, b *Result) string {
	if d := differenceOf(a.Trace, b.Trace); d != "" {
		return d
	}
	return "only in the story" + differenceOf(strings.Split(a.Story, "\n"), strings.Split(b.Story, "\n"))
}

// differenceOf returns the lines about the first difference of two texts, or "" if they are equal.
func differenceOf(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			part := func(all []string) string {
				return strings.Join(all[min(max(i-6, 0), len(all)):min(i+6, len(all))], "\n  ")
			}
			return "\n  " + part(a) + "\nand\n  " + part(b)
		}
	}
	return ""
}

// TestReplay runs the schedules of faults that were mended.
func TestReplay(t *testing.T) { replay(t, "testdata", func() plan { return new(Schedule) }) }

// replay plays the schedules in a directory. No invariant may be violated, and each fault of a
// schedule must happen.
func replay(t *testing.T, dir string, empty func() plan) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sim"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schedules, error %v", len(files), err)
	}
	base := baseOf(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sim"), func(t *testing.T) {
			s := empty()
			if err := read(file, s); err != nil {
				t.Fatal(err)
			}
			r := s.Play(t, base)
			if len(r.Problems) > 0 {
				t.Errorf("%s\n%s", strings.Join(r.Problems, "\n"), r.Story)
			}
			if faults := s.chosen().Faults; len(r.Faults) != len(faults) {
				t.Errorf("the schedule is stale: only these of its %d faults have happened: %v", len(faults), r.Faults)
			}
		})
	}
}

// playFaults plays a schedule with each of its single faults that are tried, which must happen. It
// returns their number.
func playFaults(t *testing.T, s plan, faults func(straight *Result) []Fault, isTried func(i int) bool) (n int) {
	t.Helper()
	base, wrong := baseOf(t), 0
	straight := s.Play(t, base)
	if len(straight.Problems) > 0 {
		t.Fatalf("without a fault: %s\n%s", strings.Join(straight.Problems, "\n"), straight.Story)
	}
	for i, f := range faults(straight) {
		if !isTried(i) {
			continue
		}
		n++
		r := withFaults(s, []Fault{f}).Play(t, base)
		if len(r.Faults) == 0 {
			t.Errorf("%s does not happen", f)
		}
		if len(r.Problems) > 0 {
			t.Errorf("%s: %s\n%s", f, strings.Join(r.Problems, "\n"), r.Story)
			if wrong++; wrong > 3 {
				t.FailNow()
			}
		}
	}
	return n
}
