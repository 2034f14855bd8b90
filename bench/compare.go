package main

import (
	"fmt"
	"strings"
)

// sample is the best result of an engine.
type sample struct {
	engine string
	goVM   bool
	cpu    float64 // CPU time in milliseconds
	memory int64   // peak resident memory in bytes
}

// comparison contains the samples of a workload.
type comparison struct {
	workload
	samples []sample // samples of all engines, Concerto's first
	used    allocation
}

// compare measures the chosen workloads and prints the results as they arrive.
func (r *report) compare(l *lab, chosen map[string]bool) error {
	for _, w := range workloads {
		if !chosen[w.name] {
			continue
		}
		s, err := w.measure(l, r.rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		r.standings = append(r.standings, s)
		fmt.Println(s)
		if err := r.write(); err != nil {
			return err
		}
	}
	return nil
}

// slow is the CPU time in milliseconds above which a VM written in Go runs only once.
const slow = 3000

// measure runs all engines one after the other in each round. It requires that their results are
// equal.
func (w workload) measure(l *lab, rounds int) (comparison, error) {
	entrants := l.entrants(w)
	s := comparison{workload: w, samples: make([]sample, len(entrants))}
	result := ""
	for round := range rounds {
		for i, e := range entrants {
			if e.goVM && (round%3 != 0 || s.samples[i].cpu > slow) {
				continue
			}
			p, err := l.process(l.dir, e.run(l, l.program(w.name, e.file))...)
			if err != nil {
				return s, err
			}
			if result == "" {
				result = p.out
			}
			if p.out != result {
				return s, fmt.Errorf("results differ: %s returned %q, %s returned %q", entrants[0].name, result, e.name, p.out)
			}
			s.samples[i].update(e, p)
		}
	}
	var err error
	s.used, err = l.allocations(l.program(w.name, "main.conc"))
	return s, err
}

func (s *sample) update(e engine, p outcome) {
	if s.engine == "" || p.cpu < s.cpu {
		*s = sample{engine: e.name, goVM: e.goVM, cpu: p.cpu, memory: p.memory}
	}
}

// of returns the sample of an engine.
func (s comparison) of(engine string) (sample, bool) {
	for _, x := range s.samples {
		if x.engine == engine {
			return x, true
		}
	}
	return sample{}, false
}

// bestGoVM returns the sample of the fastest VM written in Go.
func (s comparison) bestGoVM() (best sample, ok bool) {
	for _, x := range s.samples {
		if x.goVM && (!ok || x.cpu < best.cpu) {
			best, ok = x, true
		}
	}
	return best, ok
}

// String formats the comparison on one line for the terminal.
func (s comparison) String() string {
	mine := s.samples[0]
	parts := []string{fmt.Sprintf("%-10s %s", s.name, milliseconds(mine.cpu))}
	for _, x := range s.samples[1:] {
		target := 0.0
		switch best, _ := s.bestGoVM(); x.engine {
		case lua:
			target = s.lua
		case python:
			target = s.python
		case best.engine:
			target = s.goVM
		}
		parts = append(parts, fmt.Sprintf("%s %s", x.engine, against(mine.cpu/x.cpu, target)))
	}
	parts = append(parts, s.used.per(s.ops, s.op), megabytes(mine.memory))
	return strings.Join(parts, " · ")
}
