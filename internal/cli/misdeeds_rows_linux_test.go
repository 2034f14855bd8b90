package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rows is the number of rows: the rows of the table have the numbers from 1 to rows, each with a
// test.
const rows = 65

// elsewhere lists the tests of rows that a host cannot play, or that are about the remains of a
// killed run: a file, and a text that starts the test in it.
var elsewhere = map[int][2]string{
	8:  {"internal/process/procgroup/killed_linux_test.go", "func TestExhausted("},
	34: {"runtime/host/monotonic_test.go", "func TestMonotonic("},
	61: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	62: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	63: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	64: {"internal/cli/killed_linux_test.go", "func TestKilled("},
	65: {"internal/process/procgroup/killed_linux_test.go", "func TestKilledAtBirth("},
}

// TestEveryMisdeedHasATest names the rows without a test.
func TestEveryMisdeedHasATest(t *testing.T) {
	tested := map[int]bool{}
	for _, m := range misdeeds() {
		if m.n < 1 || m.n > rows {
			t.Errorf("there is no row %d", m.n)
		}
		tested[m.n] = true
	}
	for n, at := range elsewhere {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(at[0])))
		if err != nil || !strings.Contains(string(text), at[1]) {
			t.Errorf("row %d is tested nowhere: no %q in %s (%v)", n, at[1], at[0], err)
		}
		if tested[n] {
			t.Errorf("row %d is in the table: it need not be named", n)
		}
		tested[n] = true
	}
	for n := 1; n <= rows; n++ {
		if !tested[n] {
			t.Errorf("row %d has no test: it is a row of misdeeds, or its place is named in elsewhere", n)
		}
	}
}
