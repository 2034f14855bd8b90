package lexer

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// TestBidiControls checks that a string or comment with controls of the direction of text has a
// warning, whose fix makes the controls visible in strings.
func TestBidiControls(t *testing.T) {
	for _, c := range []struct{ text, message, fixed string }{
		{"let a = \"user\u202e \u2066x\u202e\";", "this string contains U+202E, U+2066, which changes the order in which text is displayed", `let a = "user\u{202E} \u{2066}x\u{202E}";`},
		{"let a = 'x\u2069';", "this string contains U+2069, which changes the order in which text is displayed", `let a = 'x\u{2069}';`},
		{"let a = \"\"\"\n\u202ax${b}\u202b\"\"\";", "", ""},
		{"let a = r\"\u2067\";", "this string contains U+2067, which changes the order in which text is displayed", ""},
		{"// a\u2066b\u2069\nx", "this comment contains U+2066, U+2069, which changes the order in which text is displayed", "// ab\nx"},
		{"/* \u202d */ x", "this comment contains U+202D, which changes the order in which text is displayed", "/*  */ x"},
		{"/// \u202c\nfn f() {}", "this comment contains U+202C, which changes the order in which text is displayed", "/// \nfn f() {}"},
		{"let a = \"שלום \u200f“”\"; // \u20ac", "none", ""},
	} {
		_, _, list := lex(t, c.text)
		found := list.Sorted()
		switch {
		case c.message == "none":
			if len(found) > 0 {
				t.Errorf("%q: %s", c.text, found[0].Message)
			}
			continue
		case len(found) == 0 || found[0].Info != diag.BidiControl || c.message != "" && found[0].Message != c.message:
			t.Errorf("%q: diagnostics = %v", c.text, found)
			continue
		case c.message == "":
			if len(found) != 2 {
				t.Errorf("%q has %d diagnostics, want one for each part of the string", c.text, len(found))
			}
			continue
		case c.fixed == "":
			if len(found[0].Fixes) > 0 {
				t.Errorf("%q: a raw string has no escape sequences, but there is the fix %q", c.text, found[0].Fixes[0].Title)
			}
			continue
		}
		var b strings.Builder
		end := 0
		for _, e := range found[0].Fixes[0].Edits {
			b.WriteString(c.text[end:e.Span.Start] + e.Text)
			end = int(e.Span.End)
		}
		b.WriteString(c.text[end:])
		if b.String() != c.fixed {
			t.Errorf("%q: the fixed text is %q", c.text, b.String())
		}
		if _, _, left := lex(t, c.fixed); left.Len() > 0 {
			t.Errorf("%q has diagnostics", c.fixed)
		}
	}
	for _, text := range []string{"let a\u202e = 1;", "\u2066"} {
		_, _, list := lex(t, text)
		if !list.HasErrors() || !strings.Contains(list.Sorted()[0].Message, "U+20") {
			t.Errorf("%q: a control outside strings and comments has no visible error", text)
		}
	}
}
