package parser

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// TestRepetitiveTextsAreLinear parses texts that nest or repeat very often. The time must be linear
// in the length of the text, and the stack must not overflow. Nesting beyond the limit must be
// reported.
func TestRepetitiveTextsAreLinear(t *testing.T) {
	randtest.InOneGoroutine(t)
	const n = 100_000
	for name, text := range map[string]string{
		"round":          "fn f() { " + strings.Repeat("(", n),
		"square":         "fn f() { " + strings.Repeat("[", n),
		"curly":          "fn f() " + strings.Repeat("{", n),
		"curly in map":   "fn f() { x = " + strings.Repeat("{a:", n),
		"map or block":   "fn f() { x = " + strings.Repeat("{[", n),
		"mixed":          "fn f() { " + strings.Repeat("([{", n),
		"unclosed calls": "fn f() { " + strings.Repeat("f(", n),
		"closing":        strings.Repeat(")]}", n),
		"minus":          "fn f() { " + strings.Repeat("-", n),
		"not":            "fn f() { " + strings.Repeat("!", n) + "x }",
		"await":          "fn f() { " + strings.Repeat("await ", n) + "x }",
		"sum":            "fn f() { " + strings.Repeat("1+", n) + "1 }",
		"power":          "fn f() { " + strings.Repeat("a??", n) + "1 }",
		"chain":          "fn f() { x" + strings.Repeat(".y", n) + " }",
		"calls":          "fn f() { x" + strings.Repeat("()", n) + " }",
		"questions":      "fn f() { x" + strings.Repeat("?", n) + " }",
		"pipes":          "fn f() { x" + strings.Repeat(" |> f", n) + " }",
		"assignments":    "fn f() { " + strings.Repeat("a=", n) + "1; }",
		"returns":        "fn f() { " + strings.Repeat("return ", n) + "1; }",
		"closures":       "fn f() { " + strings.Repeat("|a|", n) + "1; }",
		"else if":        "fn f() { " + strings.Repeat("if a {} else ", n) + "{} }",
		"ifs":            "fn f() { " + strings.Repeat("if ", n) + "}",
		"matches":        "fn f() { " + strings.Repeat("match a { b => ", n) + "}",
		"less":           "fn f() { f(" + strings.Repeat("a<b,", n) + ") }",
		"greater":        "fn f() { f(" + strings.Repeat("a<b>", n) + ") }",
		"types":          "fn f(a: " + strings.Repeat("A<", n) + ") {}",
		"options":        "fn f(a: A" + strings.Repeat("?", n) + ") {}",
		"tuple types":    "fn f(a: " + strings.Repeat("(", n) + ") {}",
		"fn types":       "fn f(a: " + strings.Repeat("fn()->", n) + ") {}",
		"patterns":       "fn f() { let " + strings.Repeat("(", n) + " = 1; }",
		"bindings":       "fn f() { let " + strings.Repeat("a @ ", n) + "b = 1; }",
		"alternatives":   "fn f() { match a { " + strings.Repeat("b | ", n) + "c => 1 } }",
		"strings":        "fn f() { " + strings.Repeat(`"${`, n),
		"quotes":         strings.Repeat(`"`, n+1),
		"string lines":   strings.Repeat("\"a\nb", n),
		"comments":       strings.Repeat("/*", n),
		"mods":           strings.Repeat("mod a { ", n),
		"uses":           "use " + strings.Repeat("a::{", n) + ";",
		"use path":       "use " + strings.Repeat("a::", n) + "b;",
		"decorators":     strings.Repeat("@a ", n) + "fn f() {}",
		"generics":       "fn f<" + strings.Repeat("A,", n) + ">() {}",
		"params":         "fn f(" + strings.Repeat("a: A,", n) + ") {}",
		"fields":         "struct S { " + strings.Repeat("a: A,", n) + " }",
		"bad fields":     "struct S { " + strings.Repeat("a A,", n) + " }",
		"variants":       "enum E { " + strings.Repeat("A(B),", n) + " }",
		"bad decls":      strings.Repeat("fn f(\n", n),
		"bad consts":     strings.Repeat("const a: A = 1\n", n),
		"bad statements": "fn f() { " + strings.Repeat("let = ;\n", n) + " }",
		"loose":          strings.Repeat("x;\n", n),
		"nested fns":     strings.Repeat("fn f() { ", n),
		"stray":          strings.Repeat("# ", n),
		"semicolons":     "fn f() {" + strings.Repeat(";", n) + "}",
		"huge const":     "const a = [" + strings.Repeat("1,", n) + "];",
		"listens":        "fn f() { " + strings.Repeat(`listen a.b() { "c" => `, n),
		"tries":          "fn f() { " + strings.Repeat("try { } catch ", n),
	} {
		t.Run(name, func(t *testing.T) {
			f := source.NewFile("main.conc", []byte(text))
			file, _ := Parse(f)
			checkTree(t, file)
		})
	}
}

// mutations calls each for every text that differs from text in one token: the token is removed,
// doubled, or swapped with the next token. what names the change.
func mutations(text string, each func(what string, tok lexer.Token, mutant string)) {
	toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
	for i, t := range toks[:len(toks)-1] {
		a, b := t.Start, t.End
		each("without", t, text[:a]+text[b:])
		each("doubled", t, text[:b]+" "+text[a:b]+text[b:])
		if next := toks[i+1]; next.Kind != lexer.EOF {
			c, d := next.Start, next.End
			each("swapped", t, text[:a]+text[c:d]+text[b:c]+text[a:b]+text[d:])
		}
	}
}

// slips counts the diagnostics of the mutations of one program.
type slips struct {
	texts, broken int
	counts        [6]int // number of mutations by their number of diagnostics; the last element also counts larger numbers
	at, near      int    // number of mutations whose first diagnostic is at the mutation, and on its line
	hints, labels int
	codes         map[string]int
	marked        int // total length in bytes of the diagnostics' spans
}

// add counts the diagnostics ds of one mutation. at is the position of the mutation.
func (s *slips) add(f *source.File, at source.Pos, ds []*diag.Diagnostic) {
	s.texts++
	if len(ds) == 0 {
		return
	}
	s.broken++
	s.counts[min(len(ds), len(s.counts)-1)]++
	if at == ds[0].Span.Start {
		s.at++
	}
	if !strings.Contains(string(f.Text[min(at, ds[0].Span.Start):max(at, ds[0].Span.Start)]), "\n") {
		s.near++
	}
	for _, d := range ds {
		s.codes[d.Info.Code]++
		s.hints += len(d.Hints)
		s.labels += len(d.Labels)
		s.marked += int(d.Span.End - d.Span.Start)
	}
}

func (s *slips) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d texts, %d broken, %d with the first diagnostic at the mutation, %d on its line, %d bytes marked, %d hints, %d labels\n   ",
		s.texts, s.broken, s.at, s.near, s.marked, s.hints, s.labels)
	for n, texts := range s.counts[1:] {
		fmt.Fprintf(&b, " %d×%d", texts, n+1)
	}
	b.WriteString("\n   ")
	for _, code := range slices.Sorted(maps.Keys(s.codes)) {
		fmt.Fprintf(&b, " %s %d", code, s.codes[code])
	}
	return b.String()
}

// TestMutations changes one token of each program at a time. It checks that the change causes few
// diagnostics, which are complete and close to the change, and never a panic or an endless loop.
// testdata/slips.txtar contains the counts for each program, so that a change of the parser shows
// its effect on them.
func TestMutations(t *testing.T) {
	programs := map[string]string{}
	seeds, err := filepath.Glob("testdata/seeds/*.conc")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		program := asProgram(string(text))
		if _, found := Parse(source.NewFile("main.conc", []byte(program))); !found.HasErrors() {
			programs["seeds/"+strings.TrimSuffix(filepath.Base(path), ".conc")] = program
		}
	}
	golden.Run(t, "testdata/ok/*.txtar", func(t *testing.T, a *golden.Archive) {
		programs["ok/"+filepath.Base(t.Name())] = a.Input("main.conc")
	})
	var rows strings.Builder
	total, single, many := 0, 0, 0
	for _, path := range slices.Sorted(maps.Keys(programs)) {
		row := slips{codes: map[string]int{}}
		mutations(programs[path], func(what string, tok lexer.Token, mutant string) {
			f := source.NewFile("main.conc", []byte(mutant))
			file, list := Parse(f)
			ds := list.Sorted()
			for _, d := range ds {
				checkDiagnostic(t, f, d)
			}
			if t.Failed() {
				t.Fatalf("program %s with the token %s at byte %d causes an invalid diagnostic:\n%s", path, what, tok.Start, mutant)
			}
			if len(ds) == 0 {
				checkTree(t, file)
			}
			row.add(f, tok.Start, ds)
		})
		fmt.Fprintf(&rows, "%s: %s\n", path, &row)
		total += row.broken
		single += row.counts[1]
		many += row.counts[5]
	}
	t.Logf("%d mutations with diagnostics: %d with one diagnostic, %d with more than four", total, single, many)
	if single*100 < total*92 || many*1000 > total*2 {
		t.Errorf("of %d mutations with diagnostics, %d cause one diagnostic (want 92%%) and %d more than four (want at most 0.2%%)", total, single, many)
	}
	table := golden.Open(t, "testdata/slips.txtar")
	table.Check("slips", rows.String())
	table.Close()
}

// checkDiagnostic checks that a diagnostic can be printed.
func checkDiagnostic(t *testing.T, f *source.File, d *diag.Diagnostic) {
	t.Helper()
	switch s := d.Span; {
	case d.File != f:
		t.Errorf("%s has no file", d.Info.Code)
	case s.Start < 0 || s.Start > s.End || int(s.End) > len(f.Text):
		t.Errorf("%s has the span %v, but the file has %d bytes", d.Info.Code, s, len(f.Text))
	case d.Message == "" || strings.Contains(d.Message, "%!"):
		t.Errorf("%s has the message %q", d.Info.Code, d.Message)
	case strings.ContainsAny(d.Message, "<>") && strings.Contains(d.Message, "<name>"):
		t.Errorf("the message of %s contains the name of a grammar symbol: %q", d.Info.Code, d.Message)
	}
	for _, h := range d.Hints {
		if h == "" || strings.Contains(h, "%!") {
			t.Errorf("%s has the hint %q", d.Info.Code, h)
		}
	}
}

// TestBrokenImportListTerminates checks that the parser terminates for a list of imports that
// starts with a keyword and contains an error after it.
func TestBrokenImportListTerminates(t *testing.T) {
	for _, text := range []string{"use a::{self", "use a::{self b", "use a::{self, b c", "use a::{Self::", "use {self x}"} {
		if found, _ := parseText(text + "\nfn main() {}\n"); len(found) == 0 {
			t.Errorf("no diagnostic for %q", text)
		}
	}
}

// TestContainsAtTheStart parses an `in` whose left operand is the first token of the file.
func TestContainsAtTheStart(t *testing.T) {
	if _, found := Parse(source.NewFile("main.conc", []byte("00 in xs"))); !found.HasErrors() {
		t.Error("no error")
	}
}
