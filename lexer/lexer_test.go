package lexer

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

func lex(t testing.TB, text string) ([]Token, []Comment, diag.List) {
	t.Helper()
	f := source.NewFile("main.conc", []byte(text))
	toks, comments, list := Lex(f)
	checkTiling(t, text, toks, comments)
	return toks, comments, list
}

// checkTiling checks that tokens and comments are ordered and do not overlap, and that only white
// space is outside them.
func checkTiling(t testing.TB, text string, toks []Token, comments []Comment) {
	t.Helper()
	at := 0
	place := func(start, end source.Pos, what string) {
		if int(start) < at || end < start || int(end) > len(text) {
			t.Fatalf("%s at bytes %d-%d does not start at or after byte %d of %d", what, start, end, at, len(text))
		}
		if gap := strings.TrimLeft(text[at:start], " \t\r\n"); gap != "" && !(at == 0 && gap == "\ufeff") {
			t.Fatalf("%q before %s at byte %d is in no token", gap, what, start)
		}
		at = int(end)
	}
	for i, tok := range toks {
		for len(comments) > 0 && comments[0].Start < tok.Start {
			place(comments[0].Start, comments[0].End, "a comment")
			comments = comments[1:]
		}
		if (tok.Kind == EOF) != (i == len(toks)-1) || tok.Kind != EOF && tok.Start == tok.End {
			t.Fatalf("token %d of %d = %v, want a token with text, or EOF as the last token", i, len(toks), tok)
		}
		place(tok.Start, tok.End, tok.Kind.String())
	}
	if at != len(text) || len(comments) > 0 {
		t.Fatalf("the tokens end at byte %d of %d, and %d comments follow", at, len(text), len(comments))
	}
}

func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, a *golden.Archive) {
		f := source.NewFile("main.conc", []byte(a.Input("main.conc")))
		toks, comments, list := Lex(f)
		checkTiling(t, string(f.Text), toks, comments)
		var b strings.Builder
		if err := Dump(&b, f, toks, comments); err != nil {
			t.Fatal(err)
		}
		a.Check("tokens", b.String())
		b.Reset()
		if err := diag.Text(&b, list.Sorted(), diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		a.Check("diagnostics", b.String())
	})
}

// TestTable checks that each kind has a row in the table of kinds. A kind with a fixed text must be
// the kind of the token that the lexer reads from this text.
func TestTable(t *testing.T) {
	names := map[string]Kind{}
	for k := range NumKinds {
		i := k.Info()
		if i.Name == "" || i.Text == "" {
			t.Errorf("kind %d has no name or text in the table of kinds", k)
		}
		if other, ok := names[i.Name]; ok {
			t.Errorf("kinds %d and %d have the same name %s", k, other, i.Name)
		}
		names[i.Name] = k
		if i.Class != Operator && i.Class != Keyword {
			continue
		}
		if got := k.String(); got != "`"+i.Text+"`" {
			t.Errorf("the kind with the text %q has the name %s in messages", i.Text, got)
		}
		if got, ok := Lookup(i.Text); !ok || got != k {
			t.Errorf("Lookup(%q) = %v", i.Text, got)
		}
		if toks, _, list := lex(t, i.Text); len(toks) != 2 || toks[0].Kind != k || list.Len() != 0 {
			t.Errorf("tokens of %q = %v with %d diagnostics, want one token and EOF", i.Text, toks, list.Len())
		}
		if k.IsKeyword() != (i.Class == Keyword) || k.IsWord() != (i.Class == Keyword) {
			t.Errorf("%q: IsKeyword = %v, IsWord = %v", i.Text, k.IsKeyword(), k.IsWord())
		}
	}
	if _, ok := Lookup("on"); ok {
		t.Error("the contextual word `on` is reserved")
	}
}

func TestByteOrderMarkAndCRLF(t *testing.T) {
	toks, _, list := lex(t, "\ufefffn\r\n\ta")
	if len(toks) != 3 || toks[0].Kind != Fn || toks[0].Start != 3 || list.Len() != 0 {
		t.Errorf("tokens = %v with %d diagnostics, want 3 tokens", toks, list.Len())
	}
	if toks, _, list := lex(t, "\ufeff"); len(toks) != 1 || toks[0].Span() != (source.Span{Start: 3, End: 3}) || list.Len() != 0 {
		t.Errorf("tokens of a single byte order mark = %v with %d diagnostics, want EOF", toks, list.Len())
	}
	if _, _, list := lex(t, "a \ufeff"); list.Len() != 1 {
		t.Errorf("a byte order mark within the text causes %d diagnostics, want 1", list.Len())
	}
}

func TestNotUTF8(t *testing.T) {
	for _, text := range []string{"\xff", "\"a\xffb\"", "// \xc3", "a\xc3(", "\xff\xfe\x00"} {
		_, _, list := lex(t, text)
		if ds := list.Sorted(); len(ds) == 0 || ds[0].Info != diag.NotUTF8 {
			t.Errorf("%q: %d diagnostics, want NotUTF8 as the first", text, len(ds))
		}
	}
}

// TestTokenSize checks that a token has 12 bytes. The size matters because a file's tokens are read
// several times.
func TestTokenSize(t *testing.T) {
	if n := unsafe.Sizeof(Token{}); n != 12 {
		t.Errorf("size of a Token = %d bytes, want 12", n)
	}
}

// TestManyOpenStrings lexes texts with thousands of unterminated strings. The lexing time stays
// proportional to the text, because the number of restarts is limited.
func TestManyOpenStrings(t *testing.T) {
	for _, line := range []string{"f(\"a, 1);\n", "f(\"a ${b, 1);\n", "f('a, 1);\n", "f(\"\"\"a ${ \n", "f(r#\"a\n"} {
		toks, _, list := lex(t, strings.Repeat(line, 2000))
		if list.Len() == 0 || list.Len() > 2100 || len(toks) < 2 {
			t.Errorf("2000 lines of %q: got %d diagnostics and %d tokens", line, list.Len(), len(toks))
		}
	}
}

// TestAmpersand checks the hint for a single `&`: the hint depends on whether an operand precedes
// the `&`.
func TestAmpersand(t *testing.T) {
	const refers, joins = "remove it: Concerto has no references, values are copied", "write `&&` for a logical and, and `a.bit_and(b)` for the bits of two Ints"
	for text, want := range map[string]string{"&b": refers, "a & b": joins, "f(&b)": refers, "= & b": refers, "1 & b": joins, "x() & b": joins} {
		_, _, list := lex(t, text)
		if ds := list.Sorted(); len(ds) != 1 || len(ds[0].Hints) != 1 || ds[0].Hints[0] != want {
			t.Errorf("%q: diagnostics = %v, want one with the hint %s", text, ds, want)
		}
	}
}

func BenchmarkLex(b *testing.B) {
	text := []byte(strings.Repeat("fn total(items: Array<Int>) -> Int { let s = \"sum ${items.len() + 1}\"; s.len() * 2 } // end\n", 10_000))
	f := source.NewFile("bench.conc", text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lex(f)
	}
}

// TestManyHashesAreLinear checks that a line with many `#` is read in linear time.
func TestManyHashesAreLinear(t *testing.T) {
	complexity.Linear(t, 20_000, func(n int) time.Duration {
		f := source.NewFile("main.conc", []byte(strings.Repeat("# ", n)))
		return complexity.CPUTime(func() { Lex(f) })
	})
}
