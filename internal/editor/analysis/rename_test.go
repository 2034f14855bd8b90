package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

const renameProgram = `
-- Concerto.toml --
[connections.rules]
provider = "scripted"
default_model = "m"
replies = [{ text = "x" }]

[connections.rules.models]
big = "m"

[connections.other]
provider = "scripted"
fallback = ["rules"]

[hosts.worker]
command = "./w"
-- main.conc --
mod shapes;
use shapes::{Point, area as size};
trait Named { fn /*t1*/name(self) -> String; }
impl Named for Point { fn /*t2*/name(self) -> String { "p" } }
schema Verdict { /*s1*/spam: Bool }
agent Judge uses /*a1*/rules { model: "m" }
host Worker { connector: /*h1*/worker }
tool Db { description: "d", fn /*d1*/add(self, /*d2*/n: Int) -> Int { n } }
fn pick<T: Named>(x: T) -> String { x.name() }
fn main() {
    let /*v1*/x = 1;
    let other = 2;
    let y = x + other;
    let p = Point { /*f1*/x, y };
    let Point { x: /*v2*/a, .. } = p;
    emit("a", "${/*v3*/a} ${size(p)}");
    emit("n", pick(p));
    for /*l1*/i in 0..3 { emit("i", shapes::sum(a: i, b: 1)); }
    emit("u", shapes::/*m1*/sum(a: 1, b: /*x1*/other));
    emit("m", [1].map(|n| n)./*b1*/len());
    let done = /*s2*/Worker.execute(Judge.execute("x")?.text)?;
    emit("d", done);
}
fn deep() { /*k1*/'outer: loop { 'inner: loop { break /*k2*/'outer; } } }
use std::math as /*q1*/m;
use std::math::pow as /*q2*/power;
use std::math::floor;
fn library() -> Float { /*q3*/m::sqrt(/*q4*/power(2.0, 2.0)) + m::/*q5*/abs(1.0) + /*q6*/floor(1.5) }
-- shapes.conc --
pub struct Point { pub /*p1*/x: Int, pub y: Int }
pub fn /*p2*/area(p: Point) -> Int { p.x * p.y }
pub fn sum(/*p3*/a: Int, b: Int) -> Int { a + b }
`

// renameCases lists marked names, their new names, and the edited lines or the error.
var renameCases = []struct{ mark, name, want string }{
	{"v1", "first", "main.conc 11:9 first; main.conc 13:13 first; main.conc 14:21 x: first"},
	{"v1", "other", "! `other` already means something else where `x` is used"},
	{"v1", "fn", "! `fn` is a reserved word"},
	{"v1", "1a", "! `1a` is not a valid name: a name consists of letters, digits and `_`, and does not begin with a digit"},
	{"v1", "a b", "! `a b` is not a valid name: a name consists of letters, digits and `_`, and does not begin with a digit"},
	{"v1", "", "! `` is not a valid name: a name consists of letters, digits and `_`, and does not begin with a digit"},
	{"v1", "x", ""},
	{"p1", "left", "main.conc 14:21 left: x; main.conc 15:17 left; shapes.conc 1:24 left; shapes.conc 2:34 left"},
	{"p1", "y", "! `y` is already the name of another declaration"},
	{"p2", "surface", "main.conc 2:21 surface; shapes.conc 2:8 surface"},
	{"p2", "sum", "! `sum` is already the name of another declaration"},
	{"p3", "first", "main.conc 18:43 first; main.conc 19:27 first; shapes.conc 3:12 first; shapes.conc 3:37 first"},
	{"p3", "b", "! `b` is already the name of another declaration"},
	{"v3", "aa", "main.conc 15:20 aa; main.conc 16:18 aa"},
	{"t1", "title", "main.conc 3:18 title; main.conc 4:27 title; main.conc 9:39 title"},
	{"t2", "title", "main.conc 3:18 title; main.conc 4:27 title; main.conc 9:39 title"},
	{"s1", "junk", "main.conc 5:18 junk ! `spam` is a key of the JSON that models and hosts write."},
	{"a1", "laws", "Concerto.toml 1:14 laws; Concerto.toml 6:14 laws; Concerto.toml 11:14 laws; main.conc 6:18 laws"},
	{"h1", "hand", "Concerto.toml 13:8 hand; main.conc 7:26 hand"},
	{"l1", "k", "main.conc 18:9 k; main.conc 18:46 k"},
	{"m1", "total", "main.conc 18:39 total; main.conc 19:23 total; shapes.conc 3:8 total"},
	{"d1", "plus", "main.conc 8:32 plus ! `add` is the name that models use to call it."},
	{"d2", "k", "main.conc 8:42 k; main.conc 8:59 k"},
	{"b1", "size", "! `len` belongs to the library and cannot be renamed"},
	{"k1", "'far", "main.conc 24:13 'far; main.conc 24:49 'far"},
	{"k2", "far", "main.conc 24:13 'far; main.conc 24:49 'far"},
	{"k2", "'inner", "! `'inner` already means something else where `'outer` is used"},
	{"k1", "'1", "! `'1` is not a label: a label is `'` followed by a name"},
	{"q1", "calc", "main.conc 25:18 calc; main.conc 28:25 calc; main.conc 28:52 calc"},
	{"q3", "calc", "main.conc 25:18 calc; main.conc 28:25 calc; main.conc 28:52 calc"},
	{"q2", "raise", "main.conc 26:23 raise; main.conc 28:33 raise"},
	{"q4", "raise", "main.conc 26:23 raise; main.conc 28:33 raise"},
	{"q5", "size", "! `abs` belongs to the library and cannot be renamed"},
	{"q6", "down", "! `floor` belongs to the library and cannot be renamed"},
	{"s2", "Hand", "main.conc 7:6 Hand; main.conc 21:16 Hand"},
	{"s2", "Judge", "! `Judge` is already the name of another declaration"},
}

func TestRename(t *testing.T) {
	m := loadMarked(t, renameProgram)
	s, ctx := m.ws.Snapshot(), context.Background()
	for p, rows := range diagnosticRows(t, s) {
		if strings.Contains(rows, `"error"`) {
			t.Fatalf("%s has diagnostics: %s", p, rows)
		}
	}
	for _, c := range renameCases {
		if at, text, err := s.PrepareRename(ctx, m.path[c.mark], m.pos[c.mark]); err == nil && s.File(m.path[c.mark]).Slice(at) != text {
			t.Errorf("PrepareRename at %s = %q", c.mark, text)
		}
		got := ""
		r, err := s.Rename(ctx, m.path[c.mark], m.pos[c.mark], c.name)
		if err != nil {
			got = "! " + err.Error()
		} else {
			var parts []string
			for _, e := range r.Edits {
				parts = append(parts, fmt.Sprintf("%s %s %s", filepath.Base(e.File.Name), e.File.Position(e.Span.Start), e.Text))
			}
			if got = strings.Join(parts, "; "); r.Warning != "" {
				got += " ! " + r.Warning
			}
		}
		if got != c.want {
			t.Errorf("rename of %s to %s:\n%s\nwant\n%s", c.mark, c.name, got, c.want)
		}
	}
	if _, _, err := s.PrepareRename(ctx, m.path["v1"], 0); err == nil {
		t.Error("PrepareRename of a reserved word succeeds, want an error")
	}
}

// TestRenameInBrokenCode renames a name in a program that has an error elsewhere.
func TestRenameInBrokenCode(t *testing.T) {
	m := loadMarked(t, "-- main.conc --\nfn main() {\n    let /*a1*/n = 1;\n    let m = n + ;\n    emit(\"n\", n);\n    x.\n}\n")
	r, err := m.ws.Snapshot().Rename(context.Background(), m.path["a1"], m.pos["a1"], "k")
	if err != nil || len(r.Edits) != 3 {
		t.Fatal(r, err)
	}
}

// TestTokensHoversAndFolds compares the tokens, hovers and folding ranges of the query program with
// the golden files.
func TestTokensHoversAndFolds(t *testing.T) {
	text, err := os.ReadFile("testdata/picture.conc")
	if err != nil {
		t.Fatal(err)
	}
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest+"\n[project]\nentry = \"main.conc\"\n-- part.conc --\npub fn one() -> Int { 1 }\n")
	path := filepath.Join(dir, "main.conc")
	ws := New(Options{Folders: []string{dir}})
	ws.Open(path, string(text))
	s, ctx := ws.Snapshot(), context.Background()
	f := s.File(path)
	var b strings.Builder
	for _, x := range s.Tokens(ctx, path) {
		fmt.Fprintf(&b, "token %s %s %s", f.Position(x.Span.Start), f.Slice(x.Span), TokenTypes[x.Type])
		for i, name := range TokenModifiers {
			if x.Modifiers>>i&1 == 1 {
				fmt.Fprintf(&b, " %s", name)
			}
		}
		b.WriteString("\n")
	}
	for _, x := range s.Inlays(ctx, path, source.Span{End: source.Pos(len(f.Text))}) {
		fmt.Fprintf(&b, "inlay %s %q %d %q\n", f.Position(x.At), x.Text, x.Kind, x.Written)
	}
	for _, x := range s.Folds(path) {
		fmt.Fprintf(&b, "fold %s %s %d\n", f.Position(x.Span.Start), f.Position(x.Span.End), x.Kind)
	}
	for _, sp := range s.Selections(path, source.Pos(strings.Index(string(text), "n * 2"))) {
		fmt.Fprintf(&b, "selection %s %s\n", f.Position(sp.Start), f.Position(sp.End))
	}
	for _, l := range s.Links(ctx, path) {
		fmt.Fprintf(&b, "link %s %s\n", f.Position(l.Span.Start), filepath.Base(l.Path))
	}
	for _, l := range s.Links(ctx, filepath.Join(dir, "Concerto.toml")) {
		fmt.Fprintf(&b, "link in the manifest to %s\n", filepath.Base(l.Path))
	}
	for _, name := range []string{"Named", "name"} {
		for _, l := range s.Implementations(ctx, path, source.Pos(strings.Index(string(text), name))) {
			fmt.Fprintf(&b, "%s is implemented at %s\n", name, f.Position(l.Span.Start))
		}
	}
	a := golden.Open(t, "testdata/picture.golden")
	a.Check("picture", b.String())
	a.Close()
}
