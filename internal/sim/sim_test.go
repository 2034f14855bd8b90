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

// TestSeeds runs the schedules of seeds. No invariant may be violated. A part of them runs twice
// and must have the same trace.
func TestSeeds(t *testing.T) {
	base := baseOf(t)
	var w *Workload
	var runs traces
	wrong := 0
	for seed := *first; seed < *first+*seeds; seed++ {
		if w == nil || seed%perProgram == 0 {
			w = Generate(seed/perProgram, strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })...)
			w.compile(t, base)
		}
		s := &Schedule{Work: w, Order: seed, People: seed, Seed: seed, Most: int(seed % 4)}
		r := s.Play(t, base)
		if len(r.Problems) > 0 {
			report(t, s, r, base, seed)
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
		runs.compare(t, seed, r, func() *Result { return s.Play(t, base) })
	}
	runs.check(t, 1000)
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
func report(t *testing.T, s *Schedule, r *Result, base string, seed uint64) {
	t.Helper()
	small, got := s, r
	if *shrink {
		small, got = s.Shrink(t, base, r)
	}
	text := small.Text(got)
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
	for i := range max(len(a.Trace), len(b.Trace)) {
		if i >= len(a.Trace) || i >= len(b.Trace) || a.Trace[i] != b.Trace[i] {
			part := func(all []string) string {
				return strings.Join(all[min(max(i-6, 0), len(all)):min(i+6, len(all))], "\n  ")
			}
			return "\n  " + part(a.Trace) + "\nand\n  " + part(b.Trace)
		}
	}
	return "only in the story"
}

// TestReplay runs the schedules of faults that were mended. Each fault of a schedule must happen.
func TestReplay(t *testing.T) {
	replay(t, "testdata", func(t *testing.T, file, base string) (*Result, []Fault) {
		s, err := Read(file)
		if err != nil {
			t.Fatal(err)
		}
		s.Work.compile(t, base)
		return s.Play(t, base), s.Faults
	})
}

// replay plays the schedules in a directory. No invariant may be violated, and each fault of a
// schedule must happen.
func replay(t *testing.T, dir string, play func(t *testing.T, file, base string) (*Result, []Fault)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sim"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schedules, error %v", len(files), err)
	}
	base := baseOf(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sim"), func(t *testing.T) {
			r, faults := play(t, file, base)
			if len(r.Problems) > 0 {
				t.Errorf("%s\n%s", strings.Join(r.Problems, "\n"), r.Story)
			}
			if len(r.Faults) != len(faults) {
				t.Errorf("the schedule is stale: only these of its %d faults have happened: %v", len(faults), r.Faults)
			}
		})
	}
}
