package arch

import (
	"slices"
	"strings"
	"testing"
)

// Editors ask one analysis: it knows none of their protocols, and their server neither parses nor checks by itself.
func TestOneAnalysis(t *testing.T) {
	for _, r := range Policy {
		imports := strings.Fields(r.Imports)
		refused := []string{"internal/editor/lsp", "internal/editor/dap"}
		switch r.Package {
		case "internal/editor/analysis":
		case "internal/editor/lsp":
			refused = []string{"parser", "sema"}
		default:
			continue
		}
		for _, p := range imports {
			if slices.ContainsFunc(refused, func(x string) bool { return p == x || strings.HasPrefix(p, x+"/") }) {
				t.Errorf("%s may import %s", r.Package, p)
			}
		}
	}
}
