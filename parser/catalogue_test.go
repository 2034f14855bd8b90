package parser

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// parseText parses a text as a file and returns its diagnostics.
func parseText(text string) ([]*diag.Diagnostic, *source.File) {
	f := source.NewFile("main.conc", []byte(text))
	_, list := Parse(f)
	return list.Sorted(), f
}

func render(ds []*diag.Diagnostic) string {
	var b strings.Builder
	if err := diag.Text(&b, ds, diag.TextOptions{}); err != nil {
		return err.Error()
	}
	return b.String()
}

// TestCatalogueExamples checks the examples of each syntax diagnostic in the catalogue. The bad
// example must cause only this diagnostic, and the good example none.
func TestCatalogueExamples(t *testing.T) {
	n := 0
	for _, info := range diag.Catalogue() {
		if !strings.HasPrefix(info.Code, "E00") && !strings.HasPrefix(info.Code, "E01") {
			continue
		}
		n++
		t.Run(info.Code, func(t *testing.T) {
			for _, p := range info.Pairs() {
				if ds, _ := parseText(p.Bad); len(ds) != 1 || ds[0].Info != info {
					t.Errorf("diagnostics of the bad example %q:\n%s", p.Bad, render(ds))
				}
				if ds, _ := parseText(p.Good); len(ds) != 0 {
					t.Errorf("diagnostics of the good example %q, want none:\n%s", p.Good, render(ds))
				}
			}
		})
	}
	if n < 30 {
		t.Errorf("the catalogue contains only %d syntax diagnostics", n)
	}
}
