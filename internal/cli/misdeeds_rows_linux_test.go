package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rows is the number of kinds of misbehaviour. Each number from 1 to rows must have a test.
const rows = 65

// elsewhere lists the tests that are not in the table misdeeds, because a host script cannot play
// them or because they need a killed run. The values are a file and the declaration of the test in
// that file.
var elsewhere = map[int][2]string{
	8:  {"internal/process/procgroup/killed_linux_test.go", "func TestExhausted("},
	34: {"runtime/host/monotonic_test.go", "func TestMonotonic("},
	61: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	62: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	63: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	64: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	65: {"internal/process/procgroup/killed_linux_test.go", "func TestKilledAtBirth("},
}

// TestEveryMisdeedHasATest reports the kinds of misbehaviour without a test.
func TestEveryMisdeedHasATest(t *testing.T) {
	tested := map[int]bool{}
	for _, m := range misdeeds() {
		if m.n < 1 || m.n > rows {
			t.Errorf("row number %d is not between 1 and rows", m.n)
		}
		tested[m.n] = true
	}
	for n, at := range elsewhere {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(at[0])))
		if err != nil || !strings.Contains(string(text), at[1]) {
			t.Errorf("row %d has no test: %q is not in %s (error %v)", n, at[1], at[0], err)
		}
		if tested[n] {
			t.Errorf("row %d is in the table misdeeds: remove it from elsewhere", n)
		}
		tested[n] = true
	}
	for n := 1; n <= rows; n++ {
		if !tested[n] {
			t.Errorf("row %d has no test: add it to misdeeds or to elsewhere", n)
		}
	}
}
