package main

import (
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents"
)

// TestManualIsCurrent checks that the manual has the table of the stored results, and that the
// results are those that are expected of the tested versions.
func TestManualIsCurrent(t *testing.T) {
	old, err := os.ReadFile("../../../spec/50-agents.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := update(string(old), "../results")
	if err != nil {
		t.Fatal(err)
	}
	if text != string(old) {
		t.Error("spec/50-agents.md does not have the table of internal/agents/results: run make gen")
	}
	for _, a := range agents.Table() {
		if !strings.Contains(text, " "+a.Title+" "+a.Version+" |") {
			t.Errorf("no results of %s %s are stored", a.Title, a.Version)
		}
	}
}

// TestTable checks the cells of the results.
func TestTable(t *testing.T) {
	got := table([]column{{title: "Agent", Report: agents.Report{Version: "1.2", Date: "2026-11-28", Scenarios: []agents.Result{
		{Name: "start", Result: agents.Yes}, {Name: "longest", Result: agents.Yes, Got: "session"}, {Name: "edit", Result: agents.Fail, Expected: "yes", Got: "no: a|b"}}}}})
	for _, want := range []string{"| | Agent 1.2 |\n", "| tested on | 2026-11-28 |\n", "reports its version | yes |\n", "| yes: session |\n", `| FAIL: no: a\|b |`, "| not tried |\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table does not contain %q:\n%s", want, got)
		}
	}
}
