package driver

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// example is an example program in its own directory.
type example struct {
	dir, text string
	toks      []lexer.Token
}

func exampleOf(dir, text string) example {
	toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
	return example{dir, text, toks[:len(toks)-1]}
}

// corpus returns the example programs, and the programs in the chapters of the manual, which have
// no directory.
func corpus(t *testing.T) (examples, manual []example) {
	t.Helper()
	paths, err := filepath.Glob("../../../examples/*/main.conc")
	if err != nil || len(paths) < 8 {
		t.Fatalf("found %d examples, want at least 8; error: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, exampleOf(dir, string(text)))
	}
	pages, err := filepath.Glob("../../../spec/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```concerto") {
			head, body, found := strings.Cut(part, "\n")
			if i == 0 || !found || strings.Contains(head, "error=") || strings.Contains(head, "fragment") {
				continue
			}
			body, _, _ = strings.Cut(body, "```")
			manual = append(manual, exampleOf(t.TempDir(), body))
		}
	}
	if len(manual) < 100 {
		t.Fatalf("found %d programs in the manual, want at least 100", len(manual))
	}
	return examples, manual
}

// cut returns the program without the rest of one line after a random token, as it is while a user
// types that line.
func (e example) cut(r *rand.Rand) string {
	t := e.toks[r.IntN(len(e.toks))]
	end := len(e.text)
	if n := strings.IndexByte(e.text[t.End:], '\n'); n >= 0 {
		end = int(t.End) + n
	}
	return e.text[:t.End] + e.text[end:]
}

// spliced returns the program with some of its tokens replaced by tokens of another program.
func (e example) spliced(r *rand.Rand, other example) string {
	part := func(e example) (start, end source.Pos) {
		i := r.IntN(len(e.toks))
		j := min(i+r.IntN(30), len(e.toks)-1)
		return e.toks[i].Start, e.toks[j].End
	}
	a, b := part(e)
	c, d := part(other)
	return e.text[:a] + other.text[c:d] + " " + e.text[b:]
}

// checkText checks a text as the program in dir, and the properties of its diagnostics.
func checkText(t *testing.T, dir, text string) []*diag.Diagnostic {
	t.Helper()
	in, err := Load(Request{Dir: dir, Inline: &Inline{Name: "main.conc", Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	l := Check(in)
	for _, d := range l.Sorted() {
		switch {
		case d.File == nil || d.Span.Start < 0 || d.Span.Start > d.Span.End || int(d.Span.End) > len(d.File.Text):
			t.Errorf("the position of %s %q is outside its file", d.Info.Code, d.Message)
		case d.Message == "" || strings.Contains(d.Message, "%!"):
			t.Errorf("the message of %s is %q, want a text without formatting errors", d.Info.Code, d.Message)
		case d.Info.NoFix != "" && len(d.Fixes) > 0:
			t.Errorf("%s has the fix %q, but its Info has NoFix: %s", d.Info.Code, d.Fixes[0].Title, d.Info.NoFix)
		}
	}
	checkFixes(t, l.Sorted())
	return l.Sorted()
}

// checkFixes checks properties of fixes. The edits of a fix are inside their file and in the order
// of the text. Two fixes that do not overlap can be applied in either order.
func checkFixes(t *testing.T, found []*diag.Diagnostic) {
	t.Helper()
	var before *diag.Diagnostic
	var first diag.Fix
	for _, d := range found {
		for _, f := range d.Fixes {
			at := source.Pos(0)
			for _, e := range f.Edits {
				if file := cmp.Or(e.File, d.File); e.Span.Start < at || e.Span.End < e.Span.Start || int(e.Span.End) > len(file.Text) {
					t.Fatalf("%s: fix %q: the edit %v of %s is not in order or outside the file", d.Info.Code, f.Title, e.Span, file.Name)
				}
				at = e.Span.End
			}
			if f.Title == "" || len(f.Edits) == 0 || strings.Contains(f.Title, "%!") {
				t.Errorf("%s: fix %q has %d edits, want a title and at least one edit", d.Info.Code, f.Title, len(f.Edits))
			}
			if f.Edits[0].File != nil && f.Edits[0].File != d.File {
				continue
			}
			if before != nil && before.File == d.File {
				commute(t, d.File, first, f)
			}
			before, first = d, f
		}
	}
}

// TestFixesOfCatalogue checks the fixes of each two consecutive wrong programs of the catalogue,
// each in an inline module of one file.
func TestFixesOfCatalogue(t *testing.T) {
	dir, before := t.TempDir(), ""
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools || strings.HasPrefix(info.Code, "E00") || info.Bad == "" {
			continue
		}
		checkText(t, dir, "mod first {\n"+before+"\n}\n\nmod second {\n"+info.Bad+"\n}\n")
		before = info.Bad
	}
}

// commute applies two fixes in both orders and at once. The three results must be equal.
func commute(t *testing.T, file *source.File, a, b diag.Fix) {
	t.Helper()
	both, apart := repair.Merge(a.Edits, b.Edits)
	if !apart {
		return
	}
	together := string(repair.Apply(file, both))
	for _, x := range [][2]diag.Fix{{a, b}, {b, a}} {
		after := source.NewFile(file.Name, repair.Apply(file, x[0].Edits))
		if got := string(repair.Apply(after, moved(x[1].Edits, x[0].Edits))); got != together {
			t.Errorf("fix %q, then fix %q produce:\n%s\nboth at once produce:\n%s", x[0].Title, x[1].Title, got, together)
		}
	}
}

// moved returns edits with the positions that they have after the edits made were applied.
func moved(edits, made []diag.Edit) (out []diag.Edit) {
	for _, e := range edits {
		by := source.Pos(0)
		for _, m := range made {
			if m.Span.Start <= e.Span.Start {
				by += source.Pos(len(m.Text)) - (m.Span.End - m.Span.Start)
			}
		}
		out = append(out, diag.Edit{Span: source.Span{Start: e.Span.Start + by, End: e.Span.End + by}, Text: e.Text})
	}
	return out
}

// maxDiagnostics is the maximum number of diagnostics for an example without the rest of one line.
const maxDiagnostics = 6

// TestBrokenTexts checks incomplete and meaningless programs. The checker must not panic, and must
// report few diagnostics for an incomplete program.
func TestBrokenTexts(t *testing.T) {
	examples, manual := corpus(t)
	all := append(append([]example{}, examples...), manual...)
	made := func(seed uint64) (cut, spliced example) {
		r := rand.New(rand.NewPCG(seed, 1))
		e := examples[r.IntN(len(examples))]
		cut = example{dir: e.dir, text: e.cut(r)}
		e = all[r.IntN(len(all))]
		return cut, example{dir: e.dir, text: e.spliced(r, all[r.IntN(len(all))])}
	}
	show := func(seed uint64) string {
		cut, spliced := made(seed)
		return cut.text + "\n=====\n" + spliced.text
	}
	randtest.Run(t, "internal/engine/driver", 200, show, func(t *testing.T, seed uint64) {
		cut, spliced := made(seed)
		found := checkText(t, cut.dir, cut.text)
		if len(found) > maxDiagnostics {
			var b strings.Builder
			for _, d := range found {
				fmt.Fprintf(&b, "%s: %s %s\n", d.File.Position(d.Span.Start), d.Info.Code, d.Message)
			}
			t.Errorf("%d diagnostics, want at most %d:\n%s", len(found), maxDiagnostics, &b)
		}
		checkText(t, spliced.dir, spliced.text)
	})
}
