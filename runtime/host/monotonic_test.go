package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestMonotonic checks that a jump of the wall clock affects no timeout, heartbeat or backoff. Go
// compares times by their monotonic reading, but converting a time to a number or a text, rounding
// it, or changing its zone drops that reading. The files that wait for hosts must therefore not
// call such methods.
func TestMonotonic(t *testing.T) {
	loses := map[string]bool{"Round": true, "UTC": true, "Local": true, "In": true, "AddDate": true, "Date": true,
		"Unix": true, "UnixMilli": true, "UnixMicro": true, "UnixNano": true, "Parse": true}
	files := 0
	for _, dir := range []string{".", "../../internal/process/procgroup", "../../internal/text/ndjson"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			files++
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				s, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !loses[s.Sel.Name] {
					return true
				}
				if of, ok := s.X.(*ast.Ident); ok && of.Name == "decision" { // it parses an answer
					return true
				}
				// time.Unix(1, 0) is a deadline that is in the past on any clock.
				if len(call.Args) == 2 && literal(call.Args[0], "1") && literal(call.Args[1], "0") {
					return true
				}
				t.Errorf("%s: %s loses the monotonic time", fset.Position(n.Pos()), s.Sel.Name)
				return true
			})
		}
	}
	if files < 40 {
		t.Errorf("%d files were read, want at least 40", files)
	}
}

func literal(e ast.Expr, text string) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == text
}
