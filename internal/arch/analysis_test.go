package arch

import (
	"slices"
	"strings"
	"testing"
)

// TestOneAnalysis checks that editors share one analysis, which knows no editor protocol, and that
// the language server does not parse or check by itself.
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
