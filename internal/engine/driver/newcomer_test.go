package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// TestNewcomers checks the diagnostics for programs by people who are new to the language. Each
// directory of the archive is a project. The section NAME.diag contains the expected output, which
// should name the author's next keystroke.
func TestNewcomers(t *testing.T) {
	programs := 0
	golden.Run(t, "testdata/newcomer/*.txtar", func(t *testing.T, a *golden.Archive) {
		for _, main := range a.Sections("/main.conc") {
			programs++
			name := filepath.Dir(main)
			dir := t.TempDir()
			for _, section := range a.Sections("") {
				rest, ok := strings.CutPrefix(section, name+"/")
				if !ok {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, rest), []byte(a.Input(section)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			in, err := Load(Request{Path: "main.conc", Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			found := Check(in)
			var out strings.Builder
			if err := diag.Text(&out, found.Sorted(), diag.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			a.Check(name+".diag", out.String())
			for _, d := range found.Sorted() {
				if len(d.Hints) == 0 {
					t.Errorf("%s: the diagnostic %s %q has no hint", name, d.Info.Code, d.Message)
				}
			}
		}
	})
	if programs < 30 {
		t.Errorf("found %d programs, want at least 30", programs)
	}
}
