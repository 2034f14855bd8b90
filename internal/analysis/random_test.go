package analysis

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

var edits = flag.Int("edits", 20, "how many random edits TestRandomEdits makes of each program")
var seed = flag.Uint64("editseed", 1, "of the random edits")

// mixed is a program whose modules hand on, hide, allow and use each other's declarations in all ways.
const mixed = `
-- Concerto.toml --
[project]
name = "mixed"
[connections.c]
provider = "scripted"
script = "s.json"
[hosts.w]
command = "w"
output_format = "json"
message_types = ["question", "done"]
-- s.json --
["a"]
-- main.conc --
mod shapes;
mod traits;
@allow(W0220)
mod loose;
mod agents;
use shapes::{Shape, area};
use traits::*;
use loose::help as helped;
mod inner {
    use super::shapes;
    use super::area as measured;
    pub fn twice(s: shapes::Shape) -> Float { measured(s) * 2.0 }
    pub fn unread(x: Int) -> Int { 1 }
}
fn main() {
    let s = Shape::Circle(1.0);
    emit("area", area(s), inner::twice(s));
    emit("name", s.name(), helped(1), shapes::LIMIT);
    match s {
        Shape::Circle(r) => emit("r", r),
        Shape::Rect { w, h } => emit("w", w * h),
    }
    fn own(x: Int) -> Int { struct P { p: Int } let p = P { p: x }; p.p }
    emit("own", own(3), agents::ask("x"));
}
@test fn works() { assert(area(Shape::Circle(0.0)) == 0.0); let unread = 1; }
-- shapes.conc --
pub const LIMIT: Int = 3 * 4;
pub enum Shape { Circle(Float), Rect { w: Float, h: Float = 1.0 } }
pub struct Box<T> { item: T, n: Int = LIMIT }
impl<T> Box<T> {
    pub fn new(item: T) -> Self { Box { item: item } }
    pub fn get(self) -> T { self.item }
}
pub fn area(s: Shape) -> Float {
    match s {
        Shape::Circle(r) => r * r * 3.0,
        Shape::Rect { w, h } => w * h,
    }
}
fn hidden() -> Int { let b = Box::new(1); b.get() + LIMIT }
-- traits.conc --
pub use shapes::Shape as Form;
use shapes::{Shape, Box};
pub trait Named { fn name(self) -> String; fn long(self) -> String { self.name() + "!" } }
impl Named for Shape { fn name(self) -> String { match self { Shape::Circle(_) => "circle", _ => "rect" } } }
impl Named for Int { fn name(self) -> String { "int" } }
pub fn show<T: Named>(x: T) -> String { let b = Box::new(x); b.get().long() + x.name() }
pub fn all() -> String { show(1) + show(Shape::Circle(2.0)) }
-- loose.conc --
mod deep;
use std::math;
use deep::*;
pub fn help(n: Int) -> Int { let unread = 1; n + deep::down(n) + top(n) }
pub fn far(x: Float) -> Float { math::sqrt(x) }
-- loose/deep.conc --
use super::help;
pub fn down(n: Int) -> Int { if n > 0 { help(n - 1) } else { 0 } }
pub fn top(n: Int) -> Int { let f = |x| x + n; f(1) }
-- agents.conc --
agent Judge uses c { system_prompt: "judge" }
host Worker { connector: w }
tool Db {
    description: "data",
    count: Int = 0,
    /// Counts.
    fn more(self, by: Int) -> Int { self.count += by; self.count }
}
schema Plan { steps: Array<String>, note?: String }
pipeline Work {
    stage first(x: String) -> String { x.trim() }
    stage second(y: String) -> Int { y.len() }
}
pub fn ask(q: String) -> String {
    let r = Judge.request(q);
    let p = Work.run(q);
    match r { Ok(t) => t, Err(e) => e.message }
}
pub fn listens() -> Result<String, Error> {
    let got = listen Worker {
        "question" => |q| { "yes" },
    }.execute("go")?;
    Ok(got)
}
fn deeper() -> Int { missing(1) + Db.more(2) }
`

// examplesAsModules is a program whose modules are the examples.
func examplesAsModules(t *testing.T) string {
	t.Helper()
	mains, err := filepath.Glob("../../examples/*/main.conc")
	if err != nil || len(mains) < 8 {
		t.Fatal(mains, err)
	}
	a := &txtar.Archive{Files: []txtar.File{{Name: "Concerto.toml", Data: []byte("[project]\n")}}}
	root := "mod shared;\n"
	for i, path := range mains {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("m%d", i)
		root += "mod " + name + ";\n"
		a.Files = append(a.Files, txtar.File{Name: name + ".conc", Data: append([]byte("use super::shared::*;\n"), text...)})
	}
	root += "fn main() { m0::main(); m1::main(); m2::unknown(); }\n"
	a.Files = append(a.Files, txtar.File{Name: "main.conc", Data: []byte(root)},
		txtar.File{Name: "shared.conc", Data: []byte("pub fn both(a: Int) -> Int { a }\npub struct Pair { a: Int, b: Int }\n")})
	return string(txtar.Format(a))
}

// editor changes texts at random.
type editor struct {
	*rand.Rand
	names []string
	first map[string]string // the texts as they were
	texts map[string]string
	paths []string
}

// words are put into texts.
var words = []string{"", "", ".", "(", ")", "{", "}", ";", " = ", " let y = 1; ", "x", "1", "\"a", "\"", "?", "use super::area;\n",
	"fn f(a: Int) -> Int { a }\n", "impl Int { fn odd(self) -> Bool { true } }\n", "struct S { a: Int }\n", "// note\n", "pub ", "@allow(W0220) ",
	" -> Int", "let s: String = 1;", "emit(\"a\", 1);", "return 1;", "for i in 0..3 { }", "missing(2)", "mod gone;\n", "const C: Int = 4;\n", "::", ", "}

// edit changes a file, and gives its path.
func (e *editor) edit() string {
	path := e.paths[e.IntN(len(e.paths))]
	text := e.texts[path]
	toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
	if e.IntN(6) == 0 || len(toks) < 3 {
		e.texts[path] = e.first[path]
		return path
	}
	tok := toks[e.IntN(len(toks)-1)]
	switch word := words[e.IntN(len(words))]; e.IntN(5) {
	case 0: // in the place of a word
		text = text[:tok.Start] + word + text[tok.End:]
	case 1: // between words
		text = text[:tok.End] + word + text[tok.End:]
	case 2: // a letter less
		text = text[:tok.End-1] + text[tok.End:]
	default: // another name, as often
		for tok.Kind != lexer.Ident {
			tok = toks[e.IntN(len(toks)-1)]
		}
		text = text[:tok.Start] + e.names[e.IntN(len(e.names))] + text[tok.End:]
	}
	e.texts[path] = text
	return path
}

// After any edits what is told and answered is what a new workspace tells and answers.
func TestRandomEdits(t *testing.T) {
	for name, archive := range map[string]string{"mixed": mixed, "examples": examplesAsModules(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, archive)
			e := &editor{Rand: rand.New(rand.NewPCG(*seed, uint64(len(name)))), first: map[string]string{}, texts: map[string]string{}}
			ws := New(Options{Folders: []string{dir}})
			for _, path := range ws.Snapshot().Files() {
				if isManifest(path) {
					continue
				}
				text := ws.Snapshot().File(path).String()
				if filepath.Base(path) == "main.conc" { // so long that it is not generated
					text += strings.Repeat("\n", 2100)
				}
				for _, tok := range must(lexer.Lex(source.NewFile("", []byte(text)))) {
					if tok.Kind == lexer.Ident {
						e.names = append(e.names, text[tok.Start:tok.End])
					}
				}
				e.first[path], e.texts[path] = text, text
				e.paths = append(e.paths, path)
				ws.Open(path, text)
			}
			partial := 0
			for n := range *edits {
				if n%15 == 14 { // not ever more broken
					for _, path := range e.paths {
						e.texts[path] = e.first[path]
						ws.Change(path, e.first[path])
					}
				}
				path := e.edit()
				ws.Change(path, e.texts[path])
				e.compare(t, ws, dir)
				if t.Failed() {
					t.Fatalf("after edit %d, of %s:\n%s", n, path, e.texts[path])
				}
				for _, s := range ws.results.slots {
					if s.last.prog != nil && s.last.prog.TakenOver() > 0 {
						partial++
					}
				}
			}
			if partial < *edits/5 {
				t.Errorf("of %d edits %d let anything be taken over", *edits, partial)
			}
		})
	}
}

// An edit in a body checks the bodies of its file alone, one in a surface all; also when what was missing is back.
func TestOnlyBodies(t *testing.T) {
	dir := tree(t, mixed)
	main, loose := filepath.Join(dir, "main.conc"), filepath.Join(dir, "loose.conc")
	ws := New(Options{Folders: []string{dir}})
	text, other := ws.Snapshot().File(main).String()+strings.Repeat("\n", 2100), ws.Snapshot().File(loose).String()
	ws.Open(main, text)
	ws.Open(loose, other)
	for _, c := range []struct {
		what  string
		text  string
		taken bool
	}{
		{"at first", other, false},
		{"a body", strings.Replace(other, "n + deep", "1 + n + deep", 1), true},
		{"a parenthesis too few", strings.Replace(other, "far(x", "far x", 1), false},
		{"it is back", other, true},
		{"a comment", "// note\n" + other, true},
		{"a broken body", strings.Replace(other, "n + deep", "n. + deep(", 1), true},
		{"a signature", strings.Replace(other, "far(x: Float)", "far(x: Float, y: Int)", 1), false},
		{"another body", strings.Replace(other, "far(x: Float) -> Float { ", "far(x: Float, y: Int) -> Float { let z = 1; ", 1), true},
	} {
		ws.Change(loose, c.text)
		if _, err := ws.Snapshot().Diagnostics(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, s := range ws.results.slots {
			if n := s.last.prog.TakenOver(); (n > 0) != c.taken {
				t.Errorf("%s: %d bodies were taken over", c.what, n)
			}
		}
	}
}

func must(toks []lexer.Token, _ []lexer.Comment, _ diag.List) []lexer.Token { return toks }

// compare holds a workspace against a new one of the same texts.
func (e *editor) compare(t *testing.T, ws *Workspace, dir string) {
	t.Helper()
	fresh := New(Options{Folders: []string{dir}})
	for _, path := range e.paths {
		fresh.Open(path, e.texts[path])
	}
	got, want := ws.Snapshot(), fresh.Snapshot()
	if d := cmp.Diff(e.told(t, want), e.told(t, got)); d != "" {
		t.Error(d)
	}
	ctx := context.Background()
	for range 4 {
		path := e.paths[e.IntN(len(e.paths))]
		pos := source.Pos(e.IntN(len(e.texts[path]) + 1))
		for what, ask := range map[string]func(*Snapshot) any{
			"hover":      func(s *Snapshot) any { return s.Hover(ctx, path, pos) },
			"definition": func(s *Snapshot) any { return places(s.Definition(ctx, path, pos)) },
			"references": func(s *Snapshot) any { return places(s.References(ctx, path, pos, true)) },
			"inlays": func(s *Snapshot) any {
				return fmt.Sprint(s.Inlays(ctx, path, source.Span{End: source.Pos(len(e.texts[path]))}))
			},
			"completion": func(s *Snapshot) any { return fmt.Sprintf("%+v", labels(s.Completion(ctx, path, pos))) },
			"tokens":     func(s *Snapshot) any { return s.Tokens(ctx, path) },
		} {
			if d := cmp.Diff(ask(want), ask(got)); d != "" {
				t.Errorf("%s at %d of %s: %s", what, pos, path, d)
			}
		}
	}
}

func labels(c Completion) (all []string) {
	for _, i := range c.Items {
		all = append(all, i.Label+i.Signature+i.Origin)
	}
	return all
}

func places(ls []Location) []string {
	out := []string{}
	for _, l := range ls {
		out = append(out, fmt.Sprint(l.File.Name, l.Span))
	}
	return out
}

// told is all that is told, by file.
func (e *editor) told(t *testing.T, s *Snapshot) map[string][]string {
	t.Helper()
	all, err := s.Diagnostics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for p, ds := range all {
		for _, d := range ds {
			row := fmt.Sprint(d.Info.Code, d.Span, d.Message, d.Hints)
			for _, l := range d.Labels {
				file := ""
				if l.File != nil {
					file = l.File.Name
				}
				row += fmt.Sprint(" | ", file, l.Span, l.Text)
			}
			for _, f := range d.Fixes {
				row += fmt.Sprint(" | ", f.Title, f.Safe)
				for _, x := range f.Edits {
					if x.File != nil {
						row += x.File.Name
					}
					row += fmt.Sprint(x.Span, x.Text)
				}
			}
			out[p] = append(out[p], row)
		}
	}
	return out
}
