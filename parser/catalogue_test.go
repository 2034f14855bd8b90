package parser

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// parseText parses a text as a file.
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

// The bad example of each syntax diagnostic causes only this diagnostic, and the good one none.
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
					t.Errorf("bad example %q: got\n%s", p.Bad, render(ds))
				}
				if ds, _ := parseText(p.Good); len(ds) != 0 {
					t.Errorf("good example %q: got\n%s", p.Good, render(ds))
				}
			}
		})
	}
	if n < 30 {
		t.Errorf("only %d syntax diagnostics were tested", n)
	}
}
