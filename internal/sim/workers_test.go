package sim

import "testing"

// TestWorkers runs the schedules of seeds for the workers of an engine.
func TestWorkers(t *testing.T) {
	var all []EngineRun
	playSeeds(t, *seeds, 100, func(seed uint64) plan {
		if all == nil || seed%perProgram == 0 {
			all = GenerateRuns(seed / perProgram)
		}
		return &EngineSchedule{all, choicesOf(seed, maxFaults)}
	})
}

// TestReplayWorkers runs the schedules of faults of workers that were mended.
func TestReplayWorkers(t *testing.T) {
	replay(t, "testdata/workers", func() plan { return new(EngineSchedule) })
}
