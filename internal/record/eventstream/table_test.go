package eventstream_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
)

// TestTable checks that each kind of effect is reported by one kind of event, or is listed as
// unreported.
func TestTable(t *testing.T) {
	by := map[effect.Kind]event.Kind{}
	kinds := map[event.Kind]bool{}
	for _, row := range event.Table() {
		if kinds[row.Kind] {
			t.Errorf("two rows for %s", row.Kind)
		}
		kinds[row.Kind] = true
		for _, k := range row.Effects {
			if effect.Lookup(k) == nil {
				t.Errorf("the row of %s contains %s, which is no kind of effect", row.Kind, k)
			}
			if by[k] != "" {
				t.Errorf("%s is reported as %s and as %s", k, by[k], row.Kind)
			}
			by[k] = row.Kind
		}
	}
	for _, row := range effect.Table() {
		if _, unreported := event.Unreported[row.Kind]; unreported == (by[row.Kind] != "") {
			t.Errorf("%s: add the kind of effect either to the row of an event in table.go, or to Unreported with the reason", row.Kind)
		}
	}
}
