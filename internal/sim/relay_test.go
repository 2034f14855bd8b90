package sim

import (
	"strings"
	"testing"
)

// TestRelay runs the schedules of seeds for a relay. No invariant may be violated. A part of them
// runs twice and must have the same trace.
func TestRelay(t *testing.T) {
	base := baseOf(t)
	var jobs []Job
	var runs traces
	wrong := 0
	for seed := *first; seed < *first+*seeds/10; seed++ { // a schedule takes as long as ten of a program
		if jobs == nil || seed%perProgram == 0 {
			jobs = GenerateJobs(seed / perProgram)
		}
		s := &RelaySchedule{Jobs: jobs, Order: seed, People: seed, Seed: seed, Most: int(seed % (maxFaults + 1))}
		r := s.Play(t, base)
		if len(r.Problems) > 0 {
			x := *s
			x.Faults = r.Faults
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), textOf(&x, r))
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
		if *story {
			t.Log(r.Story)
		}
		runs.compare(t, seed, r, func() *Result { return s.Play(t, base) })
	}
	runs.check(t, 100)
}

// TestReplayRelay runs the schedules of faults of a relay that were mended. Each fault of a
// schedule must happen.
func TestReplayRelay(t *testing.T) {
	replay(t, "testdata/relay", func(t *testing.T, file, base string) (*Result, []Fault) {
		s := new(RelaySchedule)
		if err := read(file, s); err != nil {
			t.Fatal(err)
		}
		return s.Play(t, base), s.Faults
	})
}
