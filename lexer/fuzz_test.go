package lexer

import "testing"

// FuzzLex lexes any text and decodes its literals without a panic. It checks that an integer that
// overflows has the value 0, and that each diagnostic has a file, a message and a valid span.
func FuzzLex(f *testing.F) {
	for _, text := range []string{
		"", "fn main() { emit(\"a\", \"b ${c}\"); }", `"${"${"`, "\"\"\"\n a ${b}\n \"\"\"", "'a: for", "r#\"", "/* /*",
		"\xff\ufeff“”", "0x_1e+5..=.5", "\"a\nb\"c", "\"${\"\n}\"", "}\"", "'\\", "\"\\u{", "\"\"\"${\"\"\"}", "r\"\"\"\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		toks, _, list := lex(t, text)
		var parts []Token
		for _, tok := range toks {
			switch tok.Kind {
			case String:
				StringValue(text[tok.Start:tok.End])
				Strings(text, tok)
			case StringHead, StringMid:
				parts = append(parts, tok)
			case StringTail:
				if n := len(parts) - 1; n >= 0 && parts[n].Kind == StringHead {
					Strings(text, parts[n], tok)
					parts = parts[:n]
				}
			case Int:
				if v, over := IntValue(text[tok.Start:tok.End]); over && v != 0 {
					t.Errorf("IntValue(%s) = %d with overflow, want 0", text[tok.Start:tok.End], v)
				}
			case Float:
				FloatValue(text[tok.Start:tok.End])
			}
		}
		for _, d := range list.Sorted() {
			if d.File == nil || d.Message == "" || d.Span.Start > d.Span.End || int(d.Span.End) > len(text) {
				t.Errorf("diagnostic without a file, a message or a valid span: %+v", d)
			}
		}
	})
}
