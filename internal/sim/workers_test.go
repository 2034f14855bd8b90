package sim

import (
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
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), r.Story)
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
	if different*1000 > twice+1000 {
		t.Errorf("%d of %d seeds that ran twice have two traces, want at most 0.1 %%", different, twice)
	}
}
