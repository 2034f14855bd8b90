package sema_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// TestDiagnostics compares the diagnostics of programs with golden archives. Each section NAME.conc
// of an archive is a program, and the section NAME.diag contains its diagnostics.
func TestDiagnostics(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, a *golden.Archive) {
		for _, section := range a.Sections(".conc") {
			_, list := check(section, a.Input(section))
			var out bytes.Buffer
			diag.Text(&out, list.Sorted(), diag.TextOptions{})
			a.Check(strings.TrimSuffix(section, ".conc")+".diag", out.String())
		}
	})
}
