package sema_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// made applies the fix with the given title to a program and returns the result.
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
	t.Errorf("the diagnostics of\n%s\nhave no fix with the title %q, only %s\n%s", text, title, strings.Join(titles, ", "), codes(found))
	return text
}

// TestFixesAreFormatted checks that a formatted program is still formatted after a fix adds text to
// it.
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
		{"a variable beside an operator", "Declare variable `most`", `
fn f(n: Int) -> Int {
    println(most + 1);
    n
}
`, `
fn f(n: Int) -> Int {
    let most = 0;
    println(most + 1);
    n
}
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
		{"interpolation", "Convert to interpolation", `
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
		{"an answer", "Request a Bool", `
fn main() {
    let ok = await emit("approve", 1);
    if ok {
        println("done");
    }
}
`, `
fn main() {
    let ok = await emit<Bool>("approve", 1);
    if ok? {
        println("done");
    }
}
`},
		{"an answer of another type", "Request a Bool", `
fn main() {
    if await emit<String>("approve", 1) {
        println("done");
    }
}
`, `
fn main() {
    if await emit<Bool>("approve", 1)? {
        println("done");
    }
}
`},
		{"an answer that was taken out", "Request a Bool", `
fn main() {
    let ok = await emit<String>("approve", 1)?;
    if !ok {
        println("no");
    }
}
`, `
fn main() {
    let ok = await emit<Bool>("approve", 1)?;
    if !ok {
        println("no");
    }
}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad, want := strings.TrimPrefix(c.bad, "\n"), strings.TrimPrefix(c.good, "\n")
			got := made(t, bad, c.title)
			if got != want {
				t.Errorf("the fixed program is:\n%s\nwant:\n%s", got, want)
			}
			if longest(got) > format.DefaultWidth {
				return
			}
			if text, found := format.Source(source.NewFile("a.conc", []byte(got)), format.DefaultWidth); found.HasErrors() || string(text) != got {
				t.Errorf("the fixed program is not formatted; formatted it is:\n%s\n%s", text, codes(found))
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

// TestFixKeepsPipedArgument checks a call without parameters that receives a piped argument. No fix
// may remove the argument.
func TestFixKeepsPipedArgument(t *testing.T) {
	_, list := check("bad.conc", "fn f() -> Int { 1 }\nfn main() { println(1 |> f()); }")
	for _, d := range list.Sorted() {
		if d.Info == diag.ArgumentCount && len(d.Fixes) > 0 {
			t.Errorf("the diagnostic has the fix %q", d.Fixes[0].Title)
		}
	}
	if got := codes(list); !strings.Contains(got, "E0401 `f` takes no arguments, but got 1") {
		t.Errorf("diagnostics = %s", got)
	}
}

// TestNoPresenceCheckForBool checks expressions that are used as a Bool and are an Option or a
// Result. No hint or fix may check for the presence of a value, because the value may be false.
func TestNoPresenceCheckForBool(t *testing.T) {
	for _, held := range []string{"Bool", "Any", "Int", "String"} {
		for _, wrapped := range []string{"Option<%s>", "Result<%s, Error>", "Task<Result<%s, Error>>", "Task<Option<%s>>", "Option<Option<%s>>", "Result<Option<%s>, Error>"} {
			typ := fmt.Sprintf(wrapped, held)
			if typ == "Option<Any>" { // an Any, which is checked when it is used
				continue
			}
			for _, use := range []string{"if x {}", "while x {}", "if !x {}", "let _b = x && true;", "assert(x);", "let _b: Bool = x;", "give(x);", "if x == true {}",
				"let _ys = [1].filter(|_n| x);", "match 1 { n if x => {}, _ => {} }", "let _v = if x { 1 } else { 2 };"} {
				_, list := check("bad.conc", "fn give(_b: Bool) {}\nfn f(x: "+typ+") { "+use+" }\nfn g(x: "+typ+") -> Bool { return x; }")
				if !list.HasErrors() {
					t.Errorf("%s with x: %s has no error", use, typ)
				}
				for _, d := range list.Sorted() {
					hints := strings.Join(d.Hints, " ")
					for _, f := range d.Fixes {
						hints += f.Title
						for _, e := range f.Edits {
							hints += e.Text
						}
					}
					for _, word := range []string{"is_ok", "is_some", "is_err", "is_none", "None =", "= None", "nil", "if let", "to_string"} {
						if strings.Contains(hints, word) {
							t.Errorf("%s with x: %s: a hint or fix suggests a check for presence: %s", use, typ, hints)
						}
					}
				}
			}
		}
	}
}

// TestFixesForOtherLanguages checks the fixes that replace the syntax of other languages.
func TestFixesForOtherLanguages(t *testing.T) {
	for _, c := range []struct{ title, bad, good string }{
		{"Change to `execute_with_schema`", "agent A uses scripted {}\nstruct P { x: Int }\nfn main() { println(A.execute<P>(\"x\")?.x); }\n",
			"agent A uses scripted {}\nstruct P { x: Int }\nfn main() { println(A.execute_with_schema<P>(\"x\")?.x); }\n"},
		{"Change to `listen Coder.execute`", "fn f() { let r = Coder.listen(\"x\") { \"question\" => |q| \"yes\" }; }\n",
			"fn f() { let r = listen Coder.execute(\"x\") { \"question\" => |q| \"yes\" }; }\n"},
		{"Change to `=> |q|`", "fn f() { listen C.execute(\"x\") { on \"question\"(q) { \"yes\" } }; }\n",
			"fn f() { listen C.execute(\"x\") { on \"question\" => |q| { \"yes\" } }; }\n"},
		{"Change to `Search`", "tool Search { description: \"d\" }\nagent A uses scripted { tools: [Search.find] }\n",
			"tool Search { description: \"d\" }\nagent A uses scripted { tools: [Search] }\n"},
		{"Remove `Search.get`", "tool Search { description: \"d\" }\nagent A uses scripted { tools: [Search, Search.get] }\n",
			"tool Search { description: \"d\" }\nagent A uses scripted { tools: [Search] }\n"},
		{"Insert `= []`", "tool T {\n    description: \"d\",\n    xs: Array<Int>,\n}\n", "tool T {\n    description: \"d\",\n    xs: Array<Int> = [],\n}\n"},
		{"Insert `= 0`", "tool T {\n    description: \"d\",\n    n: Int\n\n    fn f(self) {}\n}\n", "tool T {\n    description: \"d\",\n    n: Int = 0,\n\n    fn f(self) {}\n}\n"},
		{"Put the fields in braces", "enum S { Circle(radius: Float), Dot }\n", "enum S { Circle { radius: Float }, Dot }\n"},
		{"Put the fields in braces", "enum S {\n    Box(\n        w: Int,\n        h: Int,\n    ),\n}\n", "enum S {\n    Box {\n        w: Int,\n        h: Int,\n    },\n}\n"},
		{"Name the fields", "enum S { Circle { radius: Float } }\nfn f() -> S { S::Circle(2.0) }\n", "enum S { Circle { radius: Float } }\nfn f() -> S { S::Circle { radius: 2.0 } }\n"},
		{"Change to `match`", "fn f(n: Int) -> Int { switch n { 1 => 2, _ => 3 } }\n", "fn f(n: Int) -> Int { match n { 1 => 2, _ => 3 } }\n"},
		{"Write `${…}`", "fn f(x: Int) -> String { let s = f\"a {x} {x + 1}\"; s }\n", "fn f(x: Int) -> String { let s = \"a ${x} ${x + 1}\"; s }\n"},
		{"Change to `xs.contains(2)`", "fn f(xs: Array<Int>) { if 2 in xs { println(1); } }\n", "fn f(xs: Array<Int>) { if xs.contains(2) { println(1); } }\n"},
		{"Change to `m.has(\"a\")`", "fn f(m: Map<String, Int>) { if \"a\" in m { println(1); } }\n", "fn f(m: Map<String, Int>) { if m.has(\"a\") { println(1); } }\n"},
	} {
		if got := made(t, c.bad, c.title); got != c.good {
			t.Errorf("the fix %q produces\n%s\nwant\n%s", c.title, got, c.good)
		}
	}
}
