package sim

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWorkers runs the schedules of seeds for the workers of an engine. No invariant may be
// violated. A part of them runs twice and must have the same trace.
func TestWorkers(t *testing.T) {
	base := baseOf(t)
	var all []EngineRun
	wrong, twice, different := 0, 0, 0
	for seed := *first; seed < *first+*seeds; seed++ {
		if all == nil || seed%perProgram == 0 {
			all = GenerateRuns(seed / perProgram)
		}
		s := &EngineSchedule{Runs: all, Order: seed, People: seed, Seed: seed, Most: int(seed % (maxFaults + 1))}
		s.compile(t)
		r := s.Play(t, base)
		if len(r.Problems) > 0 {
			x := *s
			x.Faults = r.Faults
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), x.Text(r))
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
		if seed%again == 0 {
			twice++
			if b := s.Play(t, base); !slices.Equal(r.Trace, b.Trace) || r.Story != b.Story {
				different++
				t.Logf("seed %d has two traces: %s", seed, firstDifference(r, b))
			}
		}
	}
	t.Logf("%d of %d seeds that ran twice have two traces", different, twice)
	if different*4 > twice+4 { // Go selects at random when a request to end, the end of a lease and a result arrive at once
		t.Errorf("%d of %d seeds that ran twice have two traces, want at most a quarter", different, twice)
	}
}

// TestReplayWorkers runs the schedules of faults of workers that were mended. Each fault of a
// schedule must happen.
func TestReplayWorkers(t *testing.T) {
	files, err := filepath.Glob("testdata/workers/*.sim")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d schedules, error %v", len(files), err)
	}
	base := baseOf(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sim"), func(t *testing.T) {
			s, err := ReadEngine(file)
			if err != nil {
				t.Fatal(err)
			}
			s.compile(t)
			r := s.Play(t, base)
			if len(r.Problems) > 0 {
				t.Errorf("%s\n%s", strings.Join(r.Problems, "\n"), r.Story)
			}
			if len(r.Faults) != len(s.Faults) {
				t.Errorf("the schedule is stale: only these of its %d faults have happened: %v", len(s.Faults), r.Faults)
			}
		})
	}
}
