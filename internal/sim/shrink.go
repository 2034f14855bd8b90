package sim

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Shrink returns a smaller schedule that violates the same invariant as s does with the result r.
// It removes faults, then blocks, then the order of concurrent calls, and stops after a minute.
func (s *Schedule) Shrink(t *testing.T, base string, r *Result) (*Schedule, *Result) {
	t.Helper()
	invariant := r.invariant()
	best := &Schedule{Work: s.Work, Order: s.Order, People: s.People, Faults: r.Faults}
	end := time.Now().Add(time.Minute)
	try := func(x *Schedule) bool {
		if time.Now().After(end) {
			return false
		}
		x.Work.compile(t, base)
		got := x.Play(t, base)
		if !slices.ContainsFunc(got.Problems, func(p string) bool { return strings.HasPrefix(p, invariant) }) {
			return false
		}
		best, r = x, got
		best.Faults = got.Faults // those that did not happen are not needed
		return true
	}
	if !try(best) {
		return best, r
	}
	for smaller := true; smaller; {
		smaller = false
		for _, x := range best.smaller() {
			if smaller = try(x); smaller {
				break
			}
		}
	}
	return best, r
}

// smaller returns schedules that lack one part of s.
func (s *Schedule) smaller() (all []*Schedule) {
	for i := range s.Faults {
		x := *s
		x.Faults = slices.Delete(slices.Clone(s.Faults), i, i+1)
		all = append(all, &x)
	}
	for _, b := range s.Work.blocks() {
		if work := s.Work.without(b.Name); len(work.Steps) > 0 {
			x := *s
			x.Work = work
			all = append(all, &x)
		}
	}
	if s.Order != 0 {
		x := *s
		x.Order = 0
		all = append(all, &x)
	}
	if s.People != 0 {
		x := *s
		x.People = 0
		all = append(all, &x)
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
