package sim

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkers runs the schedules of seeds for the workers of an engine. No invariant may be
// violated. A part of them runs twice and must have the same trace.
func TestWorkers(t *testing.T) {
	base := baseOf(t)
	var all []EngineRun
	var runs traces
	wrong := 0
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
		runs.compare(t, seed, r, func() *Result { return s.Play(t, base) })
	}
	runs.check(t, 100)
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
