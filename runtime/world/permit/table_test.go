package permit

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestStaticNeeds checks that the table states for each kind of request how its needs are known
// from the source, and that these are kinds that the request may need.
func TestStaticNeeds(t *testing.T) {
	for kind, w := range rows() {
		needs, known := StaticNeeds(kind)
		if !known {
			t.Errorf("the row of %s states neither which parameters have the targets, nor that declarations do: add `of` or `byDeclaration`", kind)
		}
		if w.free != "" && (len(needs) > 0 || w.declared) {
			t.Errorf("the row of %s needs no permission, but has static needs", kind)
		}
		for _, n := range needs {
			if !contains(w.kinds, n.Kind) {
				t.Errorf("the row of %s has the static need %v, which is not one of its kinds %v", kind, n, w.kinds)
			}
		}
	}
	if _, known := StaticNeeds(effect.Kind("unknown")); known {
		t.Error("an unknown kind is known")
	}
}

func contains(all []Kind, k Kind) bool {
	for _, x := range all {
		if x == k {
			return true
		}
	}
	return false
}
