package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestOwnSourcesAreFormatted: the project's own Concerto sources are in the
// style. The seeds are left as they were given.
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
				t.Errorf("%s: %s", name, list.Sorted()[0].Message)
			} else if string(out) != string(text) {
				t.Errorf("%s is not in the style: run `concerto fmt %s`", name, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 60 {
		t.Errorf("%d files found", checked)
	}
}

func skipDir(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}
