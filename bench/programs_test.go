package main

import (
	"os"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// TestPrograms checks that every workload has a program that compiles and the required peers, and
// that every directory belongs to a workload or a measure.
func TestPrograms(t *testing.T) {
	l := &lab{root: ".."}
	for _, w := range workloads {
		var entrants []string
		for _, e := range l.entrants(w.name) {
			entrants = append(entrants, e.name)
		}
		for _, name := range []string{ours, python} {
			if !slices.Contains(entrants, name) {
				t.Errorf("%s has no program for %s", w.name, name)
			}
		}
		if w.lua > 0 && !slices.Contains(entrants, lua) {
			t.Errorf("%s has a target of Lua's time and no program for it", w.name)
		}
		if w.goVM > 0 && !slices.ContainsFunc(l.entrants(w.name), func(e engine) bool { return e.goVM }) {
			t.Errorf("%s has a target of the best Go VM's time and no program for one", w.name)
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
