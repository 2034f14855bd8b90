package sim

import "testing"

// TestReplayRelay runs the schedules of faults of a relay that were mended.
func TestReplayRelay(t *testing.T) {
	replay(t, "testdata/relay", func() plan { return new(RelaySchedule) })
}

// TestRelay runs the schedules of seeds for a relay. One takes as long as ten of a program.
func TestRelay(t *testing.T) {
	var jobs []Job
	playSeeds(t, *seeds/10, 100, func(seed uint64) plan {
		if jobs == nil || seed%perProgram == 0 {
			jobs = GenerateJobs(seed / perProgram)
		}
		return &RelaySchedule{jobs, choicesOf(seed, maxFaults)}
	})
}
