package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// TestLibraryExamples runs the library's examples, which `concerto doc` shows, as tests.
func TestLibraryExamples(t *testing.T) {
	paths, err := filepath.Glob("../../stdlib/examples/*.conc")
	if err != nil || len(paths) < 25 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".conc"), func(t *testing.T) {
			t.Parallel()
			p, found, err := engine.CompileSource(driver.Request{Path: path, Dir: ".", Tests: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found.Sorted() {
				t.Errorf("diagnostic %s: %s", d.Info.Code, d.Message)
			}
			if t.Failed() {
				return
			}
			results, _, err := p.RunTests(t.Context(), engine.TestOptions{Parallel: 1})
			if err != nil || len(results) == 0 {
				t.Fatal(len(results), err)
			}
			for _, r := range results {
				if r.Failure != nil {
					t.Errorf("example %s failed: %s: %s", r.Name, r.Failure.Kind, r.Failure.Message)
				}
			}
		})
	}
}
