package format

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestShortFilesAndLineEnds checks nearly empty texts, and the line ends of other systems.
func TestShortFilesAndLineEnds(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \n\n\t\n", ""},
		{"// only a comment", "// only a comment\n"},
		{"\n\n/* a */ /* b */\n\n\n// c\n\n", "/* a */\n/* b */\n\n// c\n"},
		{"\ufefffn f(){}", "fn f() {}\n"},
		{"\ufeff// c\r\nfn f(){\r\n  g();\r\n}\r\n", "// c\nfn f() {\n    g();\n}\n"},
		{"fn f(){'a\r\nb'}", "fn f() { 'a\r\nb' }\n"},
		{"fn f(){\n/* a\r\n   b */ g()}", "fn f() {\n    /* a\n       b */\n    g()\n}\n"},
		{"fn f(){r#\"a\n\t\"b\" \"#}", "fn f() { r#\"a\n\t\"b\" \"# }\n"},
		{"fn f(){0x_FF+1_000.50+2E10}", "fn f() { 0x_FF + 1_000.50 + 2E10 }\n"},
		{"fn f(){\"${ g( 1 ) }\"}", "fn f() { \"${ g( 1 ) }\" }\n"},
		{"fn f(){E::\n        A\n.// c\ng()}", "fn f() {\n    E::A. // c\n        g()\n}\n"},
		{"const A:Int=1;///doc  \n\n\nfn f(){}", "const A: Int = 1; ///doc\n\nfn f() {}\n"},
	} {
		out, list := Source(source.NewFile("main.conc", []byte(c.text)), 0)
		if list.HasErrors() {
			t.Errorf("%q has the diagnostic: %s", c.text, list.Sorted()[0].Message)
		} else if string(out) != c.want {
			t.Errorf("formatted %q =\n%q, want\n%q", c.text, out, c.want)
		} else {
			hold(t, c.text)
		}
	}
}

// TestSyntaxErrorsAreReturned checks that a text with syntax errors is not formatted.
func TestSyntaxErrorsAreReturned(t *testing.T) {
	for _, text := range []string{"fn f() {", "fn f() { let = 1; }", "x", "fn f() { \"open }", "\xff"} {
		out, list := Source(source.NewFile("main.conc", []byte(text)), 0)
		if out != nil || !list.HasErrors() {
			t.Errorf("the text %q with errors was formatted as %q", text, out)
		}
	}
}
