package main

import (
	"os"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// TestPrograms checks that every workload has a Concerto program that compiles, and programs for
// the engines to which its targets refer. Every directory must belong to a workload or a measure.
func TestPrograms(t *testing.T) {
	l := &lab{root: ".."}
	for _, w := range workloads {
		var entrants []string
		for _, e := range l.entrants(w) {
			entrants = append(entrants, e.name)
		}
		for _, name := range []string{ours, python} {
			if !slices.Contains(entrants, name) {
				t.Errorf("workload %s has no program for %s", w.name, name)
			}
		}
		if w.lua > 0 && !slices.Contains(entrants, lua) {
			t.Errorf("workload %s has a target relative to Lua, but no program for Lua", w.name)
		}
		if w.goVM > 0 && !slices.ContainsFunc(l.entrants(w), func(e engine) bool { return e.goVM }) {
			t.Errorf("workload %s has a target relative to the best Go VM, but no program for a Go VM", w.name)
		}
	}
	folders, err := os.ReadDir("programs")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		in, err := driver.Load(driver.Request{Path: l.program(f.Name(), "main.conc"), Dir: "."})
		if err != nil {
			t.Error(err)
			continue
		}
		if p, found := driver.Build(in); p == nil || found.Len() > 0 {
			t.Errorf("%s: %s", f.Name(), found.Sorted()[0].Message)
		}
	}
}
