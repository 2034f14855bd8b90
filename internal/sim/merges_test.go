package sim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestMerges runs the schedules of seeds for a merge queue. No invariant may be violated. A part of
// them runs twice and must have the same trace.
func TestMerges(t *testing.T) {
	base := baseOf(t)
	var runs traces
	wrong := 0
	for seed := *first; seed < *first+*seeds/2; seed++ { // a schedule takes as long as two of a program
		s := &MergeSchedule{Work: GenerateMerges(seed / perProgram), Order: seed, Seed: seed, Most: int(seed % (maxFaults + 1))}
		r := s.Play(t, base)
		if len(r.Problems) > 0 {
			reportMerges(t, s, r, base, seed)
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
		runs.compare(t, seed, r, func() *Result { return s.Play(t, base) })
	}
	runs.check(t, 1000)
}

func reportMerges(t *testing.T, s *MergeSchedule, r *Result, base string, seed uint64) {
	t.Helper()
	x := &MergeSchedule{Work: s.Work, Order: s.Order, Faults: r.Faults}
	if *shrink {
		x, r = x.shrink(t, base, r)
	}
	text := x.Text(r)
	t.Errorf("seed %d: %s\n%s", seed, strings.Join(r.Problems, "\n"), text)
	if *keep != "" {
		if err := os.WriteFile(filepath.Join(*keep, strings.ToLower(r.invariant())+"-merges.sim"), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// shrink returns a schedule with fewer faults and steps that violates the same invariant.
func (s *MergeSchedule) shrink(t *testing.T, base string, r *Result) (*MergeSchedule, *Result) {
	t.Helper()
	for end, smaller := time.Now().Add(time.Minute), true; smaller && time.Now().Before(end); {
		smaller = false
		for i := range len(s.Faults) + len(s.Work.Steps) + 1 {
			x, work := *s, *s.Work
			x.Work = &work
			switch n := i - len(s.Faults); {
			case n < 0:
				x.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
			case n < len(work.Steps):
				work.Steps = slices.Delete(slices.Clone(work.Steps), n, n+1)
			case s.Order != 0:
				x.Order = 0
			default:
				continue
			}
			if got := x.Play(t, base); len(got.Problems) > 0 && got.invariant() == r.invariant() {
				s, r, smaller = &x, got, true
				s.Faults = got.Faults
				break
			}
		}
	}
	return s, r
}

// TestMergesWithGit runs schedules without power cuts with the installed git. They must have the
// traces that they have with the model.
func TestMergesWithGit(t *testing.T) {
	base := baseOf(t)
	for seed, played := uint64(1), 0; played < 3; seed++ {
		s := &MergeSchedule{Work: GenerateMerges(seed), Order: seed, Seed: seed, Most: 3}
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

// TestReplayMerges runs the schedules of faults of merge queues that were mended. Each fault of a
// schedule must happen.
func TestReplayMerges(t *testing.T) {
	replay(t, "testdata/merges", func(t *testing.T, file, base string) (*Result, []Fault) {
		s, err := ReadMerges(file)
		if err != nil {
			t.Fatal(err)
		}
		return s.Play(t, base), s.Faults
	})
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
	base, total := baseOf(t), 0
	for name, work := range fixedMerges {
		t.Run(name, func(t *testing.T) {
			straight := (&MergeSchedule{Work: work}).Play(t, base)
			if len(straight.Problems) > 0 {
				t.Fatalf("without a fault: %s\n%s", strings.Join(straight.Problems, "\n"), straight.Story)
			}
			wrong := 0
			for i, f := range straight.faultsOfMerges() {
				if i%3 != 0 && !randtest.Night() {
					continue
				}
				s := &MergeSchedule{Work: work, Faults: []Fault{f}}
				total++
				r := s.Play(t, base)
				if len(r.Problems) > 0 {
					t.Errorf("%s: %s\n%s", f, strings.Join(r.Problems, "\n"), r.Story)
					if wrong++; wrong > 3 {
						t.FailNow()
					}
				}
			}
		})
	}
	t.Logf("%d schedules", total)
}

// faultsOfMerges returns all single faults of a schedule without a fault. An operation of the disk
// has one of the outcomes, in turn.
func (r *Result) faultsOfMerges() (all []Fault) {
	call, n := "", 0
	for i, at := range r.Trace {
		if strings.HasPrefix(at, "last ") {
			break
		}
		if strings.HasPrefix(at, "- ") {
			n++
			all = append(all, Fault{At: call, Kind: Disk, N: n, How: simdisk.Outcome(i % simdisk.Outcomes)})
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
