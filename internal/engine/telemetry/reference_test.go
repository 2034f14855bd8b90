package telemetry

import (
	"os"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/event"
)

// TestReference checks that the page of names is up to date.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../../spec/telemetry-names.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != Reference() {
		t.Error("spec/telemetry-names.md is out of date: run `make gen`")
	}
}

// TestKinds checks that each kind of event is exported, or listed as omitted with a reason, and
// that each event of a span is in the registry.
func TestKinds(t *testing.T) {
	for _, row := range event.Table() {
		if (handlers[row.Kind] == nil) == (omitted[row.Kind] == "") {
			t.Errorf("%s: export the kind in handlers.go, or list it in omitted with the reason", row.Kind)
		}
	}
	for _, name := range Names().Events {
		if !slices.ContainsFunc(event.Table(), func(row event.Info) bool { return "concerto."+string(row.Kind) == name }) {
			t.Errorf("the registry has the event %s, which no kind exports", name)
		}
	}
}
