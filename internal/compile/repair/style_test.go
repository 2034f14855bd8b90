package repair

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestRestyle checks that the changed parts of a program are formatted, and that the other parts
// stay unchanged.
func TestRestyle(t *testing.T) {
	for name, c := range map[string]struct{ text, mark, put, want string }{
		"styled":     {"fn main() {\n    f(1);\n}\n", "f(1);", "if  x {\nf( 1 );\n}", "fn main() {\n    if x {\n        f(1);\n    }\n}\n"},
		"of its own": {"fn a( ) {}\n\nfn main() {\n  f(1);\n}\n\n\n\nfn  b() {}\n", "f(1);", "g( 2 );", "fn a( ) {}\n\nfn main() {\n    g(2);\n}\n\n\n\nfn  b() {}\n"},
		"line ends":  {"fn main() {\r\n    f(1);\r\n    g();\r\n}\r\n", "f(1);", "if  x {\nf( 1 );\n}", "fn main() {\r\n    if x {\r\n        f(1);\r\n    }\r\n    g();\r\n}\r\n"},
		"broken":     {"fn a( {\n", "fn", "fn  x", "fn  x a( {\n"},
	} {
		f := source.NewFile("a.conc", []byte(c.text))
		at := source.Pos(strings.Index(c.text, c.mark))
		edits := Restyle(f, []diag.Edit{diag.Replace(span(at, at+source.Pos(len(c.mark))), c.put)})
		if got := string(Apply(f, edits)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
