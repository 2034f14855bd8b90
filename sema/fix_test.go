package sema_test

import (
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/format"
	"github.com/concerto-lang/concerto/internal/repair"
	"github.com/concerto-lang/concerto/internal/source"
)

// made is what a program becomes by the fix of a title.
func made(t *testing.T, text, title string) string {
	t.Helper()
	_, found := check("bad.conc", text)
	var titles []string
	for _, d := range found.Sorted() {
		for _, f := range d.Fixes {
			if f.Title == title {
				return string(repair.Apply(source.NewFile("bad.conc", []byte(text)), f.Edits))
			}
			titles = append(titles, f.Title)
		}
	}
	t.Errorf("of\n%s\nno fix is called %q: %s\n%s", text, title, strings.Join(titles, ", "), codes(found))
	return text
}

// What a fix adds to a formatted program is as the formatter writes it.
func TestFixesAreFormatted(t *testing.T) {
	for _, c := range []struct{ name, title, bad, good string }{
		{"arms on lines", "Add the missing arms", `
fn f(o: Option<Bool>) -> Int {
    match o {
        Some(true) => 1, // the usual
    }
}
`, `
fn f(o: Option<Bool>) -> Int {
    match o {
        Some(true) => 1, // the usual
        None => panic("not written yet"),
        Some(false) => panic("not written yet"),
    }
}
`},
		{"arms of an empty match", "Add the missing arms", `
enum Shape { Dot, Circle(Int), Box { w: Int } }

fn f(s: Shape) -> Int { match s {} }
`, `
enum Shape { Dot, Circle(Int), Box { w: Int } }

fn f(s: Shape) -> Int { match s { Shape::Dot => panic("not written yet"), Shape::Circle(_) => panic("not written yet"), Shape::Box { .. } => panic("not written yet") } }
`},
		{"fields on lines", "Add the missing fields", `
struct P { x: Int, y: Array<Float>, z: String? }

fn f() -> P {
    P {
        x: 1,
    }
}
`, `
struct P { x: Int, y: Array<Float>, z: String? }

fn f() -> P {
    P {
        x: 1,
        y: [],
        z: None,
    }
}
`},
		{"methods", "Add the missing methods", `
trait Show {
    fn show(self) -> String;
    fn width(self, most: Int) -> Int;
    fn hidden(self) -> Bool { false }
}

impl Show for Int {}

impl Show for Bool {
    fn show(self) -> String { "b" }
}
`, `
trait Show {
    fn show(self) -> String;
    fn width(self, most: Int) -> Int;
    fn hidden(self) -> Bool { false }
}

impl Show for Int {
    fn show(self) -> String {
        panic("not written yet")
    }

    fn width(self, most: Int) -> Int {
        panic("not written yet")
    }
}

impl Show for Bool {
    fn show(self) -> String { "b" }
}
`},
		{"another method", "Add the missing methods", `
trait Show {
    fn show(self) -> String;
    fn width(self) -> Int;
}

impl Show for Bool {
    fn show(self) -> String { "b" }
}
`, `
trait Show {
    fn show(self) -> String;
    fn width(self) -> Int;
}

impl Show for Bool {
    fn show(self) -> String { "b" }

    fn width(self) -> Int {
        panic("not written yet")
    }
}
`},
		{"a method behind one in a line", "Add the missing methods", `
trait Show {
    fn show(self) -> String;
    fn width(self) -> Int;
}

impl Show for Bool { fn show(self) -> String { "b" } }
`, `
trait Show {
    fn show(self) -> String;
    fn width(self) -> Int;
}

impl Show for Bool {
    fn show(self) -> String { "b" }

    fn width(self) -> Int {
        panic("not written yet")
    }
}
`},
		{"handlers", "Add the missing handlers", `
host W { connector: worker }

fn main() {
    let _r = listen W.execute("go") {
        "progress" => |p| println(p.message),
    };
}
`, `
host W { connector: worker }

fn main() {
    let _r = listen W.execute("go") {
        "progress" => |p| println(p.message),
        "question" => |q: HostQuestion| panic("not written yet"),
        "approval" => |a: HostApproval| panic("not written yet"),
    };
}
`},
		{"a name of std", "Import `std::math`", `
fn main() { println(sqrt(2.0)); }
`, `
use std::math;

fn main() { println(math::sqrt(2.0)); }
`},
		{"a type of std", "Import `std::collections::Set`", `
use std::math;

fn size(s: Set<Int>) -> Int { s.len() }
`, `
use std::math;
use std::collections::Set;

fn size(s: Set<Int>) -> Int { s.len() }
`},
		{"a variable", "Declare variable `most`", `
fn f(xs: Array<Int>) -> Int {
    let first = xs.len();
    first + g(most)
}

fn g(n: Int) -> Int { n }
`, `
fn f(xs: Array<Int>) -> Int {
    let first = xs.len();
    let most = 0;
    first + g(most)
}

fn g(n: Int) -> Int { n }
`},
		{"a variable that is assigned", "Declare variable `total`", `
fn main() {
    total = 3;
    println(total);
}
`, `
fn main() {
    let total = 3;
    println(total);
}
`},
		{"a function", "Declare function `area`", `
fn main() {
    let width = 3;
    let a: Float = area(width, "m", 0.5);
    println(a);
}
`, `
fn main() {
    let width = 3;
    let a: Float = area(width, "m", 0.5);
    println(a);
}

fn area(width: Int, arg2: String, arg3: Float) -> Float {
    panic("not written yet")
}
`},
		{"a memory", "Declare memory `talk`", `
/// Talks.
agent A uses demo { memory: talk }
`, `
memory talk: Memory = Memory::new();

/// Talks.
agent A uses demo { memory: talk }
`},
		{"interpolation", "Turn into interpolation", `
fn f(n: Int) -> String { "a: " + n }
`, `
fn f(n: Int) -> String { "a: ${n}" }
`},
		{"an import behind others", "Import `std::math`", `
use std::fs;

fn main() { println(math::sqrt(2.0), fs::exists("a")); }
`, `
use std::fs;
use std::math;

fn main() { println(math::sqrt(2.0), fs::exists("a")); }
`},
		{"the first import", "Import `std::math`", `
// What this is for.

/// Runs.
fn main() { println(math::sqrt(2.0)); }
`, `
// What this is for.

use std::math;

/// Runs.
fn main() { println(math::sqrt(2.0)); }
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad, want := strings.TrimPrefix(c.bad, "\n"), strings.TrimPrefix(c.good, "\n")
			got := made(t, bad, c.title)
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if longest(got) > format.DefaultWidth {
				return
			}
			if text, found := format.Source(source.NewFile("a.conc", []byte(got)), format.DefaultWidth); found.HasErrors() || string(text) != got {
				t.Errorf("the formatter makes of it:\n%s\n%s", text, codes(found))
			}
		})
	}
}

func longest(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		n = max(n, len(line))
	}
	return n
}

// TestPipedIntoTooMany: what is piped into a call that takes nothing cannot be left out there.
func TestPipedIntoTooMany(t *testing.T) {
	_, list := check("bad.conc", "fn f() -> Int { 1 }\nfn main() { println(1 |> f()); }")
	for _, d := range list.Sorted() {
		if d.Info == diag.ArgumentCount && len(d.Fixes) > 0 {
			t.Errorf("it brings %q", d.Fixes[0].Title)
		}
	}
	if got := codes(list); !strings.Contains(got, "E0401 `f` takes no arguments, not 1") {
		t.Errorf("it gives %s", got)
	}
}
