package sim

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// plan is a schedule of one of the worlds.
type plan interface {
	Play(t *testing.T, base string) *Result
	chosen() *Choices
	with(c Choices) plan // returns a copy with other choices
	parts() []plan       // returns copies, each of which lacks a part of the work
}

// shrunk returns a smaller schedule that violates the same invariant as s does with the result r.
// It removes faults, then parts of the work, then the order of concurrent calls, and stops after a
// minute.
func shrunk(t *testing.T, s plan, base string, r *Result) (plan, *Result) {
	t.Helper()
	invariant, end := r.invariant(), time.Now().Add(time.Minute)
	best := withFaults(s, r.Faults)
	try := func(x plan) bool {
		if time.Now().After(end) {
			return false
		}
		got := x.Play(t, base)
		if !slices.ContainsFunc(got.Problems, func(p string) bool { return strings.HasPrefix(p, invariant) }) {
			return false
		}
		best, r = withFaults(x, got.Faults), got // those that did not happen are not needed
		return true
	}
	if !try(best) {
		return best, r
	}
	for slices.ContainsFunc(smaller(best), try) {
	}
	return best, r
}

// withFaults returns a schedule with some faults instead of those of a seed.
func withFaults(s plan, faults []Fault) plan {
	c := *s.chosen()
	c.Faults, c.Seed = faults, 0
	return s.with(c)
}

// smaller returns schedules that lack one part of s.
func smaller(s plan) (all []plan) {
	c := *s.chosen()
	for i := range c.Faults {
		all = append(all, withFaults(s, without(c.Faults, i)))
	}
	all = append(all, s.parts()...)
	for _, x := range []Choices{{People: c.People, Faults: c.Faults}, {Order: c.Order, Faults: c.Faults}} {
		if x.Order != c.Order || x.People != c.People {
			all = append(all, s.with(x))
		}
	}
	return all
}

func (s *Schedule) with(c Choices) plan { return &Schedule{s.Work, c} }

func (s *Schedule) parts() (all []plan) {
	for _, w := range s.Work.parts() {
		all = append(all, &Schedule{w, s.Choices})
	}
	return all
}

func (s *EngineSchedule) with(c Choices) plan { return &EngineSchedule{s.Runs, c} }

func (s *EngineSchedule) parts() (all []plan) {
	for i, r := range s.Runs {
		if len(s.Runs) > 1 {
			all = append(all, &EngineSchedule{without(s.Runs, i), s.Choices})
		}
		for _, w := range r.Work.parts() {
			runs := slices.Clone(s.Runs)
			runs[i].Work = w
			all = append(all, &EngineSchedule{runs, s.Choices})
		}
	}
	return all
}

func (s *MergeSchedule) with(c Choices) plan { return &MergeSchedule{s.Work, c} }

func (s *MergeSchedule) parts() (all []plan) {
	for i := range s.Work.Steps {
		w := *s.Work
		w.Steps = without(w.Steps, i)
		all = append(all, &MergeSchedule{&w, s.Choices})
	}
	return all
}

func (s *RelaySchedule) with(c Choices) plan { return &RelaySchedule{s.Jobs, c} }

func (s *RelaySchedule) parts() (all []plan) {
	for i, j := range s.Jobs {
		if len(s.Jobs) > 1 {
			all = append(all, &RelaySchedule{without(s.Jobs, i), s.Choices})
		}
		for k := range j.Steps {
			jobs := slices.Clone(s.Jobs)
			jobs[i].Steps = without(j.Steps, k)
			all = append(all, &RelaySchedule{jobs, s.Choices})
		}
	}
	return all
}

// without returns a copy of a list without an element.
func without[T any](all []T, i int) []T { return slices.Delete(slices.Clone(all), i, i+1) }

// parts returns workloads that lack a block.
func (w *Workload) parts() (all []*Workload) {
	for _, b := range w.blocks() {
		if x := w.without(b.Name); len(x.Steps) > 0 {
			all = append(all, x)
		}
	}
	return all
}

// without returns a workload without a block.
func (w *Workload) without(name string) *Workload {
	x := &Workload{Sync: w.Sync, Wait: w.Wait, Unknown: w.Unknown}
	for _, step := range w.Steps {
		step = slices.DeleteFunc(slices.Clone(step), func(b Block) bool { return b.Name == name })
		if len(step) > 0 {
			x.Steps = append(x.Steps, step)
		}
	}
	return x
}

// invariant returns the name of the first invariant that was violated, such as "J5".
func (r *Result) invariant() string {
	name, _, _ := strings.Cut(r.Problems[0], ":")
	return name
}
