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

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
)

var edits = flag.Int("edits", 20, "how many random edits TestRandomEdits makes of each program")
var seed = flag.Uint64("editseed", 1, "of the random edits")

// mixed is a program whose modules re-export, shadow and use each other's declarations in all ways.
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

// linked is a correct program of several modules. Their bodies use declarations of other modules,
// some of them without naming the declaration.
const linked = `
-- main.conc --
mod units;
mod shop;
mod cart;
mod report;
mod names;
mod deep;
mod early;
mod equal;
mod apart;
fn main() {
    let c = cart::filled();
    emit("total", c.total().cents);
    emit("lines", report::line(c));
    emit("deep", deep::inner::depth() + early::LAST);
}
-- units.conc --
pub struct Money { pub cents: Int }
impl Money {
    pub fn of(cents: Int) -> Self { Money { cents: cents } }
    pub fn plus(self, other: Money) -> Money { Money { cents: self.cents + other.cents } }
}
pub enum Kind { Food, Tool(Int), Other { note: String } }
pub type Amount = Money;
pub const ZERO: Int = 0;
pub trait Priced { fn price(self) -> Amount; }
-- shop.conc --
use units::{Money, Kind, Priced, Amount};
pub struct Item { pub name: String, pub kind: Kind, pub cost: Money, pub tags: Array<String> = [] }
impl Priced for Item { fn price(self) -> Amount { self.cost } }
pub fn item(name: String) -> Item { Item { name: name, kind: Kind::Food, cost: Money::of(3) } }
pub fn items() -> Array<Item> { ["a", "b"].map(|n| item(n)) }
pub fn cheapest() -> Amount { item("a").price() }
pub fn find(name: String) -> Item? { items().find(|i| i.name == name) }
pub fn buy(name: String, many: Int = 1) -> Result<Money, String> {
    match find(name) { Some(i) => Ok(Money::of(i.cost.cents * many)), None => Err("none") }
}
-- cart.conc --
use shop::{Item, items};
pub struct Cart { pub lines: Array<Item>, pub paid: Bool = false }
impl Cart {
    pub fn total(self) -> units::Money {
        let mut sum = units::Money::of(units::ZERO);
        for l in self.lines { sum = sum.plus(l.price()); }
        sum
    }
}
pub fn filled() -> Cart { Cart { lines: items() } }
-- report.conc --
use cart::{Cart as Basket, filled};
use units::Kind;
pub use names::say as tell;
pub fn line(b: Basket) -> String { "${tell(1)}: ${b.lines.len()} ${b.total().cents}" }
pub fn whole() -> Array<String> {
    let all = filled().lines;
    let firsts = all.map(|x| x.kind);
    let mut out = [];
    for k in firsts { out.push(match k { Kind::Food => "food", Kind::Tool(n) => "tool ${n}", Kind::Other { note } => note }); }
    out
}
pub fn same() -> Bool { filled().lines[0] == shop::item("a") }
pub fn bought() -> Result<Int, String> { let m = shop::buy("a", many: 2)?; Ok(m.cents) }
-- names.conc --
pub fn say(n: Int) -> String { if n == units::ZERO { "none" } else { "${n}" } }
pub fn spoken() -> String { report::tell(2) }
-- deep.conc --
pub mod inner {
    use super::super::units::Kind;
    pub fn depth() -> Int { match kind() { Kind::Tool(n) => n, _ => super::plain() } }
    pub fn kind() -> Kind { Kind::Tool(4) }
}
pub fn plain() -> Int { shop::items().len() + inner::depth() }
-- equal.conc --
pub fn same() -> Int { shop::cheapest().cents }
-- apart.conc --
pub fn alone(n: Int) -> Int { n }
-- early.conc --
pub const LAST: Int = units::ZERO + 2;
pub fn later() -> Int { let c = super::cart::filled(); if c.paid { LAST } else { report::whole().len() } }
`

// layered is a correct program whose modules declare no traits. They refer to each other by
// imports, paths, globs, aliases, generic types, constants, defaults and methods.
const layered = `
-- main.conc --
mod base;
mod shapes;
mod boxes;
mod rules;
mod store;
mod facade;
mod nested;
mod lonely;
use facade::*;
use rules::check as verify;
fn main() {
    let s = store::Shelf::new("a");
    emit("size", [s.size(), facade::LIMIT, nested::deep::depth()]);
    emit("good", verify(s));
    match first(s) { Some(Shape::Dot) => emit("dot"), Some(x) => emit("area", x.area()), None => emit("none") }
}
-- base.conc --
pub const LIMIT: Int = 4;
pub const NAMES: Array<String> = ["a", "b"];
pub type Id = Int;
pub struct Point { pub x: Int = LIMIT, pub y: Int = 0 }
impl Point {
    pub fn at(x: Int) -> Self { Point { x: x } }
    pub fn plus(self, o: Point) -> Point { Point { x: self.x + o.x, y: self.y + o.y } }
}
pub fn both(a: Id, b: Id = LIMIT) -> Id { a + b }
-- shapes.conc --
use base::{Point, Id};
pub enum Shape { Dot, Line(Point, Point), Box { at: Point, w: Id } }
impl Shape {
    pub fn area(self) -> Int { match self { Shape::Dot => 0, Shape::Line(a, b) => a.plus(b).x, Shape::Box { at, w } => at.y * w } }
}
pub fn unit() -> Shape { Shape::Box { at: Point::at(base::LIMIT), w: 2 } }
-- boxes.conc --
pub struct Pair<A, B> { pub left: A, pub right: B }
impl<A, B> Pair<A, B> {
    pub fn new(left: A, right: B) -> Self { Pair { left: left, right: right } }
    pub fn swap(self) -> Pair<B, A> { Pair { left: self.right, right: self.left } }
}
pub schema Note { text: String, of?: Int }
pub fn twice<T>(x: T) -> Pair<T, T> { Pair::new(x, x) }
-- rules.conc --
use store::Shelf;
use shapes::Shape::Dot;
pub fn check(s: Shelf) -> Bool { s.items[0] == Dot || s.name.len() < base::both(1) }
pub fn note(text: String) -> boxes::Note { boxes::Note { text: text, of: base::NAMES.len() } }
-- store.conc --
use shapes::{Shape, unit};
pub struct Shelf { pub name: String, pub items: Array<Shape> = [], pub pair: boxes::Pair<Int, String>? = None }
impl Shelf {
    pub fn new(name: String) -> Self { Shelf { name: name, items: [unit(), Shape::Dot] } }
    pub fn size(self) -> Int { let p = boxes::twice(self.items.len()); p.swap().left }
}
-- facade.conc --
pub use base::LIMIT;
pub use shapes::Shape;
use store::Shelf as Rack;
pub fn first(r: Rack) -> Shape? { r.items.first() }
-- nested.conc --
pub mod deep;
pub fn outer() -> base::Id { deep::depth() }
-- nested/deep.conc --
use boxes::Pair;
pub fn depth() -> Int { let p: Pair<base::Id, Bool> = Pair::new(1, true); if p.right { p.left } else { 0 } }
-- lonely.conc --
pub struct Alone { pub n: Int }
pub fn alone() -> Alone { Alone { n: 1 } }
`

// examplesAsModules returns a program whose modules are the examples.
func examplesAsModules(t *testing.T) string {
	t.Helper()
	mains, err := filepath.Glob("../../../examples/*/main.conc")
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

// editor applies random edits to the texts of a program.
type editor struct {
	*rand.Rand
	names []string
	first map[string]string // original texts by path
	texts map[string]string
	paths []string
}

// newEditor returns an editor for the programs of a directory.
func newEditor(dir string, stream uint64) *editor {
	e := &editor{Rand: rand.New(rand.NewPCG(*seed, stream)), first: map[string]string{}, texts: map[string]string{}}
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for _, path := range s.Files() {
		if isManifest(path) {
			continue
		}
		text := s.File(path).String()
		for _, tok := range mustLex(lexer.Lex(source.NewFile("", []byte(text)))) {
			if tok.Kind == lexer.Ident {
				e.names = append(e.names, text[tok.Start:tok.End])
			}
		}
		e.first[path], e.texts[path] = text, text
		e.paths = append(e.paths, path)
	}
	return e
}

// words are the texts that edits insert.
var words = []string{"", "", ".", "(", ")", "{", "}", ";", " = ", " let y = 1; ", "x", "1", "\"a", "\"", "?", "use super::area;\n",
	"fn f(a: Int) -> Int { a }\n", "impl Int { fn odd(self) -> Bool { true } }\n", "struct S { a: Int }\n", "// note\n", "pub ", "@allow(W0220) ",
	" -> Int", "let s: String = 1;", "emit(\"a\", 1);", "return 1;", "for i in 0..3 { }", "missing(2)", "mod gone;\n", "const C: Int = 4;\n", "::", ", "}

// edit makes a random change of one file's text and returns the path of the file.
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
	case 0: // replace a token
		text = text[:tok.Start] + word + text[tok.End:]
	case 1: // insert after a token
		text = text[:tok.End] + word + text[tok.End:]
	case 2: // remove the last byte of a token
		text = text[:tok.End-1] + text[tok.End:]
	default: // replace an identifier; most edits do this
		for tok.Kind != lexer.Ident {
			tok = toks[e.IntN(len(toks)-1)]
		}
		text = text[:tok.Start] + e.names[e.IntN(len(e.names))] + text[tok.End:]
	}
	e.texts[path] = text
	return path
}

// rewrite makes a random change of one function's body and returns the path of the file.
func (e *editor) rewrite() string {
	path := e.paths[e.IntN(len(e.paths))]
	text := e.texts[path]
	tree, _ := parser.Parse(source.NewFile("", []byte(text)))
	var bodies []source.Span
	ast.InspectFile(tree, func(n ast.Node) bool {
		if b, ok := n.(*ast.Block); ok && b.Sp.End > b.Sp.Start+2 {
			bodies = append(bodies, b.Sp)
			return false
		}
		return true
	})
	if len(bodies) == 0 {
		return path
	}
	body := bodies[e.IntN(len(bodies))]
	inner := text[body.Start+1 : body.End-1]
	toks, _, _ := lexer.Lex(source.NewFile("", []byte(inner)))
	if tok := toks[e.IntN(len(toks))]; tok.Kind == lexer.Ident && e.IntN(2) == 0 {
		inner = inner[:tok.Start] + e.names[e.IntN(len(e.names))] + inner[tok.End:]
	} else {
		inner = []string{" let other = 1;", " // note\n", " let s: String = 1;", " missing(2);", " return;"}[e.IntN(5)] + inner
	}
	e.texts[path] = text[:body.Start+1] + inner + text[body.End-1:]
	return path
}

// declare makes a random change of one file's declarations and returns the path of the file. Most
// of the resulting texts still parse.
func (e *editor) declare() string {
	path := e.paths[e.IntN(len(e.paths))]
	text := e.texts[path]
	file := source.NewFile("", []byte(text))
	tree, _ := parser.Parse(file)
	var places []source.Span // names, types, fields and parameters outside of function bodies
	var decls []ast.Decl
	ast.InspectFile(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Block:
			return false
		case ast.Decl:
			decls = append(decls, n)
		case *ast.Ident, *ast.NamedType, *ast.FieldDecl, *ast.Param:
			places = append(places, n.Span())
		}
		return true
	})
	name := func() string { return e.names[e.IntN(len(e.names))] }
	put := func(at source.Span, with string) { text = text[:at.Start] + with + text[at.End:] }
	any := source.Span{Start: source.Pos(len(text)), End: source.Pos(len(text))}
	if len(decls) > 0 {
		any = decls[e.IntN(len(decls))].Span()
	}
	before := source.Span{Start: any.Start, End: any.Start}
	switch k := e.IntN(9); {
	case k == 0:
		put(before, "pub ")
	case k == 1:
		put(any, "")
	case k == 2: // move the declaration to another file
		moved := file.Slice(any)
		put(any, "")
		e.texts[path] = text
		path = e.paths[e.IntN(len(e.paths))]
		text = "pub " + moved + "\n" + e.texts[path]
	case k < 6 && len(places) > 0:
		at := places[e.IntN(len(places))]
		put(at, []string{name(), "Int", name() + ": Int", file.Slice(at) + ", " + name() + ": String", ""}[e.IntN(5)])
	default:
		put(before, fmt.Sprintf([]string{"pub fn %s(%s: Int) -> Int { 1 }\n", "pub struct %s { %s: Int }\n", "impl %s { fn %s(self) -> Int { 1 } }\n",
			"use %s::%s;\n", "pub use %s::%s;\n", "pub const %s: Int = %s;\n", "pub enum %s { %s }\n", "pub type %s = %s;\n", "pub trait %s { fn %s(self) -> Int; }\n",
			"impl %s for %s { fn name(self) -> String { \"\" } }\n"}[e.IntN(10)], name(), name()))
	}
	e.texts[path] = text
	return path
}

// TestRandomEdits compares a workspace after random edits with a new workspace of the same texts.
// Diagnostics and query results must be equal.
func TestRandomEdits(t *testing.T) {
	for name, archive := range map[string]string{"mixed": mixed, "linked": linked, "layered": layered, "examples": examplesAsModules(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writeTree(t, archive)
			e := newEditor(dir, uint64(len(name)))
			ws := New(Options{Folders: []string{dir}})
			for path, text := range e.texts {
				ws.Open(path, text)
			}
			partial := 0
			for n := range *edits {
				if n%6 == 5 { // restore the original texts, so that errors do not accumulate
					for _, path := range e.paths {
						e.texts[path] = e.first[path]
						ws.Change(path, e.first[path])
					}
				}
				path := []func() string{e.edit, e.declare, e.rewrite, e.rewrite}[e.IntN(4)]()
				for _, p := range e.paths {
					if e.texts[p] != ws.Snapshot().File(p).String() {
						ws.Change(p, e.texts[p])
					}
				}
				if e.IntN(4) == 0 {
					if _, err := ws.Snapshot().Verify(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
				e.diagnosticsByFile(t, ws.Snapshot())
				e.compare(t, ws, dir)
				if t.Failed() {
					t.Fatalf("diagnostics or queries differ after edit %d, of %s:\n%s", n, path, e.texts[path])
				}
				for _, s := range ws.results.slots {
					if s.last.prog != nil && s.last.prog.ReusedBodies() > 0 {
						partial++
					}
				}
			}
			if partial < *edits/8 {
				t.Errorf("results were reused after %d of %d edits, want at least an eighth", partial, *edits)
			}
		})
	}
}

// TestBodyEditsRecheckOnlyBodies counts the reused bodies after edits. An edit of a body checks
// only the bodies of its file. An edit of a signature or of the syntax causes a check of
// everything.
func TestBodyEditsRecheckOnlyBodies(t *testing.T) {
	dir := writeTree(t, mixed)
	main, loose := filepath.Join(dir, "main.conc"), filepath.Join(dir, "loose.conc")
	ws := New(Options{Folders: []string{dir}})
	text, other := ws.Snapshot().File(main).String(), ws.Snapshot().File(loose).String()
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
		{"it is back", other, false},
		{"a comment", "// note\n" + other, true},
		{"a broken body", strings.Replace(other, "n + deep", "n. + deep(", 1), true},
		{"it is back again", other, true},
		{"a signature", strings.Replace(other, "far(x: Float)", "far(x: Float, y: Int)", 1), false},
		{"another body", strings.Replace(other, "far(x: Float) -> Float { ", "far(x: Float, y: Int) -> Float { let z = 1; ", 1), true},
	} {
		ws.Change(loose, c.text)
		if _, err := ws.Snapshot().Diagnostics(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, s := range ws.results.slots {
			if n := s.last.prog.ReusedBodies(); (n > 0) != c.taken {
				t.Errorf("%s: number of reused bodies = %d", c.what, n)
			}
		}
	}
}

// TestSignatureEdits edits signatures. The results are those of a new workspace, also for files
// that do not name the changed declaration.
func TestSignatureEdits(t *testing.T) {
	for _, c := range []struct{ file, old, new, message string }{
		{"shop", "pub fn item(name: String) -> Item", "pub fn item(name: String, many: Int) -> Item", "report"},
		{"units", "pub const ZERO: Int = 0", "pub const ZERO: String = \"\"", "early"},
		{"units", "Food, Tool(Int)", "Food, Drink, Tool(Int)", "report"},
		{"units", "pub type Amount = Money", "pub type Amount = Int", "equal"},
		{"units", "fn price(self) -> Amount;", "fn price(self) -> Amount; fn tax(self) -> Amount;", "shop"},
		{"report", "pub use names::say as tell;", "pub use names::spoken as tell;", "names"},
		{"report", "pub fn same", "fn say() { } pub fn same", ""},
		{"cart", "pub paid: Bool = false", "paid: Bool = false", "early"},
		{"early", "pub fn later() -> Int", "pub fn later() -> Float", ""},
	} {
		dir := writeTree(t, linked)
		file := func(name string) string { return filepath.Join(dir, name+".conc") }
		ws := New(Options{Folders: []string{dir}})
		e := newEditor(dir, 1)
		for path, text := range e.texts {
			ws.Open(path, text)
		}
		if found := e.diagnosticsByFile(t, ws.Snapshot()); len(found[file(c.file)]) > 0 {
			t.Fatal(found)
		}
		text := strings.Replace(e.texts[file(c.file)], c.old, c.new, 1)
		if text == e.texts[file(c.file)] {
			t.Fatalf("the text %q does not occur in %s", c.old, c.file)
		}
		e.texts[file(c.file)] = text
		ws.Change(file(c.file), text)
		e.compare(t, ws, dir)
		if found := e.diagnosticsByFile(t, ws.Snapshot()); c.message != "" && len(found[file(c.message)]) == 0 {
			t.Errorf("edit to %q of %q: no diagnostics in %s", c.new, c.old, c.message)
		}
	}
}

func mustLex(toks []lexer.Token, _ []lexer.Comment, _ diag.List) []lexer.Token { return toks }

// compare compares a workspace with a new workspace of the same texts.
func (e *editor) compare(t *testing.T, ws *Workspace, dir string) {
	t.Helper()
	fresh := New(Options{Folders: []string{dir}})
	for _, path := range e.paths {
		fresh.Open(path, e.texts[path])
	}
	got, want := ws.Snapshot(), fresh.Snapshot()
	if d := cmp.Diff(e.diagnosticsByFile(t, want), e.diagnosticsByFile(t, got)); d != "" {
		t.Error(d)
	}
	ctx := context.Background()
	for range 4 {
		path := e.paths[e.IntN(len(e.paths))]
		pos := source.Pos(e.IntN(len(e.texts[path]) + 1))
		for what, ask := range map[string]func(*Snapshot) any{
			"hover":      func(s *Snapshot) any { return s.Hover(ctx, path, pos) },
			"definition": func(s *Snapshot) any { return formatLocations(s.Definition(ctx, path, pos)) },
			"references": func(s *Snapshot) any { return formatLocations(s.References(ctx, path, pos, true)) },
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

func formatLocations(ls []Location) []string {
	out := []string{}
	for _, l := range ls {
		out = append(out, fmt.Sprint(l.File.Name, l.Span))
	}
	return out
}

// diagnosticsByFile returns all diagnostics by file.
func (e *editor) diagnosticsByFile(t *testing.T, s *Snapshot) map[string][]string {
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
