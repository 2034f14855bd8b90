package help

import (
	"maps"
	"slices"
	"testing"
)

// TestSupports checks that each system has a value for each feature with a name, and that a system
// that is not in the table supports none.
func TestSupports(t *testing.T) {
	names := slices.Sorted(maps.Keys(supports("linux")))
	if want := []string{"hostd", "keeper", "sandbox", "terminal"}; !slices.Equal(names, want) {
		t.Errorf("features = %q, want %q", names, want)
	}
	for system, want := range map[string]int{"linux": 4, "darwin": 3, "windows": 0, "plan9": 0} {
		n := 0
		for _, supported := range supports(system) {
			if supported {
				n++
			}
		}
		if n != want {
			t.Errorf("%s supports %d features, want %d", system, n, want)
		}
	}
	for _, f := range features {
		for _, how := range []string{f.Title, f.Linux, f.MacOS, f.Windows} {
			if how == "" {
				t.Errorf("an empty cell in the row %q", f.Title)
			}
		}
	}
}
