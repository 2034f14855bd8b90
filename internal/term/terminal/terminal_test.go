package terminal

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string][2]string{ // results of Escape and Printed
		"plain\tand\nlines é 😀":        {"plain\tand\nlines é 😀", "plain\tand\nlines é 😀"},
		"\x1b]0;title\x07":             {`\u{1b}]0;title\u{7}`, `\u{1b}]0;title\u{7}`},
		"\x1b[31;1mred\x1b[0m":         {`\u{1b}[31;1mred\u{1b}[0m`, "\x1b[31;1mred\x1b[0m"},
		"50%\r\x1b[2K60%":              {`50%\u{d}\u{1b}[2K60%`, "50%\r\x1b[2K60%"},
		"\x1b[8mhidden\x1b[0;08m":      {`\u{1b}[8mhidden\u{1b}[0;08m`, `\u{1b}[8mhidden\u{1b}[0;08m`},
		"\x1b[2J\x1b[H\x1b[1;1Hx\x1b[": {`\u{1b}[2J\u{1b}[H\u{1b}[1;1Hx\u{1b}[`, `\u{1b}[2J\u{1b}[H\u{1b}[1;1Hx\u{1b}[`},
		"a\x08\x7f\u009b31m":           {`a\u{8}\u{7f}\u{9b}31m`, `a\u{8}\u{7f}\u{9b}31m`},
		"a\u202eb\u2066c\u2028d":       {`a\u{202e}b\u{2066}c\u{2028}d`, `a\u{202e}b\u{2066}c\u{2028}d`},
		"a\x9bb\xff":                   {`a\x9bb\xff`, `a\x9bb\xff`},
	} {
		if got := Escape(in); got != want[0] {
			t.Errorf("Escape(%q) = %s, want %s", in, got, want[0])
		}
		if got := Printed(in); got != want[1] {
			t.Errorf("Printed(%q) = %q, want %q", in, got, want[1])
		}
	}
}

func TestJSON(t *testing.T) {
	const in = "{\"a\":\"\u009b31m \u202e é\u007f\"}\n"
	got := JSON(in)
	if got != `{"a":"\u009b31m \u202e é\u007f"}`+"\n" {
		t.Error(got)
	}
	var before, after any
	if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || before.(map[string]any)["a"] != after.(map[string]any)["a"] {
		t.Error(before, after)
	}
}

func TestWriter(t *testing.T) {
	var b strings.Builder
	if n, err := Writer(&b).Write([]byte("host: \x1b[2J\n")); n != 11 || err != nil || b.String() != "host: \\u{1b}[2J\n" {
		t.Error(n, err, b.String())
	}
}
