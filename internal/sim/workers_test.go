package sim

import (
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
	replay(t, "testdata/workers", func(t *testing.T, file, base string) (*Result, []Fault) {
		s, err := ReadEngine(file)
		if err != nil {
			t.Fatal(err)
		}
		s.compile(t)
		return s.Play(t, base), s.Faults
	})
}
