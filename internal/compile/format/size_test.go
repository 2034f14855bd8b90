package format

import (
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// deepest is the nesting depth of the programs in this test. Each level is indented, so the length
// of a formatted program grows with the square of the depth.
const deepest = 2_000

// TestSizes formats deeply nested, long and wide programs. The limit of CPU time is generous, but
// too small for an algorithm that takes quadratic time.
func TestSizes(t *testing.T) {
	randtest.InOneGoroutine(t)
	body := func(s string) string { return "fn main() {\n" + s + "\n}\n" }
	around := func(open, in, shut string) string {
		return body(strings.Repeat(open, deepest) + in + strings.Repeat(shut, deepest) + ";")
	}
	for name, text := range map[string]string{
		"calls":         around("f(", "1", ")"),
		"calls, two":    around("f(a, ", "1", ")"),
		"comments":      around("f( // c\n", "1", ")"),
		"arrays":        around("[", "1", "]"),
		"arrays, kept":  around("[\n", "1", "]"),
		"parens":        around("(", "1", ")"),
		"blocks":        body(strings.Repeat("{", deepest) + strings.Repeat("}", deepest)),
		"blocks, lines": body(strings.Repeat("{ f();\n", deepest) + strings.Repeat("}", deepest)),
		"closures":      body(strings.Repeat("|x| ", 9_000) + "1;"),
		"chain":         body("x" + strings.Repeat(".f(1)", 9_000) + ";"),
		"chain, lines":  body("x" + strings.Repeat("\n.f(|y| { y; z })", 9_000) + ";"),
		"sum":           body("1" + strings.Repeat(" + 1", 9_000) + ";"),
		"powers":        body("1" + strings.Repeat(" ?? 1", 9_000) + ";"),
		"pipes":         body("1" + strings.Repeat(" |> f()", 9_000) + ";"),
		"else if":       body("if a { b }" + strings.Repeat(" else if a { b }", 4_000)),
		"array":         body("[" + strings.Repeat("1, ", 100_000) + "];"),
		"strings":       body("f(" + strings.Repeat("\"\n\", ", 50_000) + ");"),
		"comment":       strings.Repeat("// c\n", 100_000),
		"inline":        body(strings.Repeat("/* c */ ", 50_000) + "f();"),
		"trailing":      body(strings.Repeat("f(a, // c\nb);\n", 30_000)),
	} {
		var list diag.List
		took := complexity.CPUTime(func() { _, list = Source(source.NewFile("main.conc", []byte(text)), 0) })
		if list.HasErrors() {
			t.Errorf("%s: unexpected syntax error: %s", name, list.Sorted()[0].Message)
			continue
		}
		if took > 2*time.Minute {
			t.Errorf("%s: formatting %d bytes took %v of CPU time, want at most 2 minutes", name, len(text), took)
		}
	}
}
