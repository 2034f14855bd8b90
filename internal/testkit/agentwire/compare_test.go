package main

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/agents"
)

// TestDifferences checks the description of changed results, of messages without a row, and of
// equal results.
func TestDifferences(t *testing.T) {
	var stored, now agents.Report
	for _, s := range agents.Scenarios() {
		stored.Scenarios = append(stored.Scenarios, agents.Result{Name: s.Name, Result: agents.Yes, MS: 5})
		now.Scenarios = append(now.Scenarios, agents.Result{Name: s.Name, Result: agents.Yes, MS: 9})
	}
	stored.Version, now.Version = "1.0", "1.1"
	if got, want := differences("Agent", &stored, &now), "## Agent 1.1 (stored: 1.0)\n\nNo differences.\n\n"; got != want {
		t.Errorf("equal results: got\n%s\nwant\n%s", got, want)
	}
	now.Scenarios[0] = agents.Result{Name: "start", Result: agents.Fail, Expected: "yes", Got: "no: it exited"}
	now.Scenarios = now.Scenarios[:len(now.Scenarios)-1]
	now.Coverage = &agents.Coverage{Missing: []string{"notification a/b"}}
	want := "## Agent 1.1 (stored: 1.0)\n\n- `start`: FAIL expected yes, got no: it exited, before: yes\n- `coverage`: not played, before: yes\n- notification a/b is not in coverage.go\n\n"
	if got := differences("Agent", &stored, &now); got != want {
		t.Errorf("changed results: got\n%s\nwant\n%s", got, want)
	}
}
