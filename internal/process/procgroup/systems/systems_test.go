package systems

import (
	"maps"
	"slices"
	"testing"
)

// TestMissing checks the messages about features.
func TestMissing(t *testing.T) {
	for _, c := range []struct{ name, system, want string }{
		{"keeper", "windows", "the keeper is not available on Windows"}, {"hostd", "windows", "hostd is not available on Windows"},
		{"sandbox", "darwin", "the sandbox is not available on macOS"}, {"sandbox", "linux", ""}, {"terminal", "plan9", "the terminal is not available on plan9"},
	} {
		if got := Missing(c.name, c.system); got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.name, c.system, got, c.want)
		}
	}
}

// TestSupports checks that each system has a value for each feature with a name, and that a system
// that is not in the table supports none.
func TestSupports(t *testing.T) {
	names := slices.Sorted(maps.Keys(Supports("linux")))
	if want := []string{"hostd", "keeper", "sandbox", "terminal"}; !slices.Equal(names, want) {
		t.Errorf("features = %q, want %q", names, want)
	}
	for system, want := range map[string]int{"linux": 4, "darwin": 3, "windows": 1, "plan9": 0} {
		n := 0
		for _, supported := range Supports(system) {
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
