package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestMerges runs the schedules of seeds for a merge queue. One takes as long as two of a program.
func TestMerges(t *testing.T) {
	playSeeds(t, *seeds/2, 1000, func(seed uint64) plan {
		return &MergeSchedule{GenerateMerges(seed / perProgram), choicesOf(seed, maxFaults)}
	})
}

// TestMergesWithGit runs schedules without power cuts with the installed git. They must have the
// traces that they have with the model.
func TestMergesWithGit(t *testing.T) {
	base := baseOf(t)
	for seed, played := uint64(1), 0; played < 3; seed++ {
		s := &MergeSchedule{GenerateMerges(seed), Choices{Order: seed, Seed: seed, Most: 3}}
		model := s.Play(t, base)
		if len(model.Faults) == 0 || slices.ContainsFunc(model.Faults, func(f Fault) bool { return f.How >= simdisk.PowerNone }) {
			continue
		}
		played++
		r := s.playWith(t, base, true)
		if len(r.Problems) > 0 {
			t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), r.Story)
		}
		if !slices.Equal(model.Trace, r.Trace) {
			t.Errorf("seed %d has another trace: %s\n%s\nwith the model\n%s", seed, firstDifference(model, r), r.Story, model.Story)
		}
	}
}

// TestReplayMerges runs the schedules of faults of merge queues that were mended.
func TestReplayMerges(t *testing.T) {
	replay(t, "testdata/merges", func() plan { return new(MergeSchedule) })
}

// fixedMerges are the works whose schedules with one fault are all tried.
var fixedMerges = map[string]*MergeWork{
	"two changes": {Batch: 2, Runners: 1, Steps: []MergeStep{{Do: "submit", ID: "a", File: "a"}, {Do: "submit", ID: "b", File: "b", Pause: true}, {Do: "submit", ID: "c", File: "bad"}, {Do: "drop", ID: "c"}, {Do: "user", Pause: true}}},
	"replaced":    {Batch: 2, Runners: 1, Push: true, Steps: []MergeStep{{Do: "submit", ID: "a", File: "left", Old: true}, {Do: "submit", ID: "a", File: "a"}, {Do: "submit", ID: "b", File: "right", After: "a"}, {Do: "user", Pause: true}}},
	"squash":      {Batch: 1, Runners: 2, Squash: true, Steps: []MergeStep{{Do: "submit", ID: "a", File: "shared"}, {Do: "submit", ID: "b", File: "shared", Pause: true}, {Do: "take", ID: "b"}, {Do: "retry", ID: "b", Pause: true}}},
}

// TestEveryFaultOfMerges runs each fixed work with each fault: at each call, a crash, a power cut
// and a request to end; at each operation of the disk, an outcome. By day, a part of them is tried.
func TestEveryFaultOfMerges(t *testing.T) {
	total := 0
	for name, work := range fixedMerges {
		t.Run(name, func(t *testing.T) {
			total += playFaults(t, &MergeSchedule{Work: work}, (*Result).faultsOfMerges, func(i int) bool { return i%3 == 0 || randtest.Night() })
		})
	}
	t.Logf("%d schedules", total)
}

// faultsOfMerges returns all single faults of a schedule without a fault. An operation of the disk
// has one of the outcomes, in turn.
func (r *Result) faultsOfMerges() (all []Fault) {
	call, n := "", 0
	for i, at := range r.Trace {
		if at == "shell starts last" { // without faults
			break
		}
		if strings.HasPrefix(at, "- ") {
			n++
			all = append(all, Fault{At: call, Kind: Disk, N: n, How: simdisk.Outcome(i % simdisk.Outcomes)})
			continue
		}
		if strings.HasPrefix(at, "shell ") { // which has no faults
			continue
		}
		call, n = at, 0
		all = append(all, Fault{At: at, Kind: Crash}, Fault{At: at, Kind: Power, How: simdisk.PowerNone}, Fault{At: at, Kind: Power, How: simdisk.PowerPart})
		if strings.HasPrefix(at, "runner") {
			all = append(all, Fault{At: at, Kind: Suspend})
		}
	}
	return all
}
