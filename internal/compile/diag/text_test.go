package diag

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

var sample = &Info{Code: "E9999", Title: "sample"}

// spanOf returns the span of an occurrence of part in text; n is 0 for the first one.
func spanOf(t *testing.T, text, part string, n int) source.Span {
	t.Helper()
	at := 0
	for ; n >= 0; n-- {
		i := strings.Index(text[at:], part)
		if i < 0 {
			t.Fatalf("%q has too few occurrences of %q", text, part)
		}
		at += i + 1
	}
	return source.Span{Start: source.Pos(at - 1), End: source.Pos(at - 1 + len(part))}
}

func render(t *testing.T, ds ...*Diagnostic) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, ds, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextLayout(t *testing.T) {
	const text = "struct P { x: Int }\n\n\n\nfn f(x Int) {\n}\n"
	f := source.NewFile("main.conc", []byte(text))
	d := sample.At(spanOf(t, text, "Int", 1), "expected `:`, found `Int`").In(f).
		Label(spanOf(t, text, "P", 0), "declared here").Hint("add `:` before `Int`\nand go on")
	want := "main.conc:5:8: error[E9999]: expected `:`, found `Int`\n" +
		"  |\n" +
		"1 | struct P { x: Int }\n" +
		"  |        - declared here\n" +
		"...\n" +
		"5 | fn f(x Int) {\n" +
		"  |        ^^^\n" +
		"  = hint: add `:` before `Int`\n" +
		"          and go on\n"
	if got := render(t, d); got != want {
		t.Errorf("rendered diagnostic\n%s\nwant\n%s", got, want)
	}
}

// TestTextColumns checks that the caret is below the reported character, for different kinds of
// characters before it on the line.
func TestTextColumns(t *testing.T) {
	for name, c := range map[string]struct{ line, shown, carets string }{
		"tabs":       {"\tlet\tX = 1;", "    let X = 1;", "        ^"},
		"wide":       {`emit("漢字", X);`, `emit("漢字", X);`, "             ^"},
		"emoji":      {`emit("👩‍🚀👍🏽", X);`, `emit("👩‍🚀👍🏽", X);`, "             ^"},
		"combining":  {"emit(\"e\u0301\", X);", "emit(\"e\u0301\", X);", "          ^"},
		"control":    {"a\x1b[31m X", "a␛[31m X", "       ^"},
		"bidi":       {"a\u202e X", "a\ufffd X", "   ^"},
		"not UTF-8":  {"a\xff X", "a\ufffd X", "   ^"},
		"crlf":       {"a X\r", "a X", "  ^"},
		"first byte": {"X", "X", "^"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.line + "\n"
			f := source.NewFile("m.conc", []byte(text))
			lines := strings.Split(render(t, sample.At(spanOf(t, text, "X", 0), "m").In(f)), "\n")
			if want := "1 | " + c.shown; lines[2] != want {
				t.Errorf("source line = %q, want %q", lines[2], want)
			}
			if want := "  | " + c.carets; lines[3] != want {
				t.Errorf("line of carets = %q, want %q", lines[3], want)
			}
		})
	}
}

func TestTextSpans(t *testing.T) {
	const text = "let a = {\n  1\n};\n"
	f := source.NewFile("m.conc", []byte(text))
	for name, c := range map[string]struct {
		span source.Span
		want string
	}{
		"several lines": {source.Span{Start: 8, End: 15}, "        ^"},
		"empty":         {source.Span{Start: 5, End: 5}, "     ^"},
		"line's end":    {source.Span{Start: 9, End: 9}, "         ^"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Split(render(t, sample.At(c.span, "m").In(f)), "\n")
			if lines[3] != "  | "+c.want {
				t.Errorf("line of carets = %q, want %q", lines[3], "  | "+c.want)
			}
		})
	}
	t.Run("end of file", func(t *testing.T) {
		end := source.Pos(len(text))
		got := render(t, sample.At(source.Span{Start: end, End: end}, "m").In(f))
		if want := "m.conc:4:1: error[E9999]: m\n  |\n4 |\n  | ^\n"; got != want {
			t.Errorf("rendered diagnostic = %q, want %q", got, want)
		}
	})
}

func TestTextLongLine(t *testing.T) {
	text := strings.Repeat("a", 1000) + "X" + strings.Repeat("b", 1000)
	f := source.NewFile("m.conc", []byte(text))
	lines := strings.Split(render(t, sample.At(spanOf(t, text, "X", 0), "m").In(f)), "\n")
	if n := len([]rune(lines[2])); n > 180 {
		t.Errorf("length of the source line = %d characters, want at most 180", n)
	}
	if x, caret := []rune(lines[2]), strings.IndexByte(lines[3], '^'); x[caret] != 'X' {
		t.Errorf("character above the caret = %q, want X", x[caret])
	}
}

func TestTextOtherFile(t *testing.T) {
	a := source.NewFile("a.conc", []byte("use b::f;\n"))
	b := source.NewFile("b.conc", []byte("\n\nfn f() {}\n"))
	d := sample.At(source.Span{Start: 7, End: 8}, "`f` is private").In(a).
		LabelIn(b, source.Span{Start: 5, End: 6}, "declared without `pub`")
	want := "a.conc:1:8: error[E9999]: `f` is private\n" +
		"  |\n1 | use b::f;\n  |        ^\n" +
		" --> b.conc:3:4\n" +
		"  |\n3 | fn f() {}\n  |    - declared without `pub`\n"
	if got := render(t, d); got != want {
		t.Errorf("rendered diagnostic\n%s\nwant\n%s", got, want)
	}
}

func TestTextWithoutFile(t *testing.T) {
	d := (&Info{Code: "W9999"}).At(source.Span{}, "no manifest").Hint("run `concerto init`")
	want := "warning[W9999]: no manifest\n  = hint: run `concerto init`\n"
	if got := render(t, d); got != want {
		t.Errorf("rendered diagnostic = %q, want %q", got, want)
	}
}

func TestTextSeveralAndColor(t *testing.T) {
	f := source.NewFile("m.conc", []byte("a\n"))
	d := sample.At(source.Span{Start: 0, End: 1}, "m").In(f)
	if got := render(t, d, d); strings.Count(got, "\n\n") != 1 {
		t.Errorf("two diagnostics are not separated by one blank line: %q", got)
	}
	var b strings.Builder
	if err := Text(&b, []*Diagnostic{d}, TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	want := "m.conc:1:1: \x1b[1;31merror[E9999]\x1b[0m: \x1b[1mm\x1b[0m\n" +
		"\x1b[34m  |\x1b[0m\n\x1b[34m1 |\x1b[0m a\n\x1b[34m  |\x1b[0m \x1b[1;31m^\x1b[0m\n"
	if b.String() != want {
		t.Errorf("colored diagnostic = %q, want %q", b.String(), want)
	}
}
