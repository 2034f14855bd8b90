package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestOwnSourcesAreFormatted checks that formatting does not change the project's own Concerto
// files. It skips directories named seeds.
func TestOwnSourcesAreFormatted(t *testing.T) {
	checked := 0
	for _, root := range []string{"../../../stdlib", "../../../examples", "../../../internal/cli/project/templates", "../../../bench"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() && d.Name() == "seeds" {
				return skipDir(err)
			}
			if filepath.Ext(path) != ".conc" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			checked++
			name := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
			out, list := Source(source.NewFile(name, text), 0)
			if list.HasErrors() {
				t.Errorf("%s: unexpected syntax error: %s", name, list.Sorted()[0].Message)
			} else if string(out) != string(text) {
				t.Errorf("%s is not formatted: run `concerto fmt %s`", name, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 60 {
		t.Errorf("number of checked files = %d, want at least 60", checked)
	}
}

func skipDir(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}
