package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

const completionProgram = `
struct Point { x: Int, y: Int }
impl Point { fn len(self) -> Int { 1 } fn zero() -> Point { Point { x: 0, y: 0 } } }
enum Shape { Round(Float), Box { w: Int }, Nothing }
trait Named { fn name(self) -> String; fn kind(self) -> Int; }
agent Judge uses rules { model: "m" }
host Worker { connector: worker, output_format: "json" }
tool Db { description: "d", count: Int = 0, fn add(mut self, n: Int) -> Int { n } }
fn area(width: Int, height: Int = 1) -> Int { width * height }
`

const completionManifest = `[connections.rules]
provider = "scripted"
default_model = "m"
replies = [{ text = "x" }]

[connections.rules.models]
big = "m"
small = "m"

[hosts.worker]
command = "./w"
message_types = ["question", "ping"]
`

// completionCases lists texts with a `‸` at the cursor, the items that must be offered and the
// items that must not. A `^` before a label means that the item must be the first.
var completionCases = []struct{ name, text, with, without string }{
	{"members", "fn f(p: Point) { p.‸ }", "^x y len", "zero area let"},
	{"members after a partial name", "fn f(p: Point) { p.le‸; }", "len x", ""},
	{"members of a chain", "fn f(p: Point) { \"a\".to_upper().‸\n}", "len trim", "x"},
	{"an agent's members", "fn f() { Judge.‸ }", "execute execute_with_schema chat", "add"},
	{"a tool's members", "fn f() { Db.‸ }", "add", "execute"},
	{"a tool's own members", "tool T { n: Int = 0, fn g(self) -> Int { self.‸ } }", "n", ""},
	{"an error's members", "fn f(e: Error) { e.‸ }", "message kind", ""},
	{"variants", "fn f() { let s = Shape::‸; }", "Round Box Nothing", "Point let"},
	{"functions of a type", "fn f() { Point::‸ }", "zero", "len"},
	{"a module's names", "mod m { pub fn g() { } fn h() { } pub mod n { } }\nfn f() { m::‸ }", "g n", "h area"},
	{"modules of std", "use std::‸;", "math json", "area"},
	{"names of std", "use std::math::‸;", "sqrt", "json"},
	{"a list of names", "use std::math::{sqrt, ‸};", "pow", "json"},
	{"imports", "use ‸;", "std super", "area let"},
	{"variables", "fn f(first: Int) { let second = 1; for third in [1] { ‸ } let later = 2; }", "^first second third area Judge Some let if", "later fn_"},
	{"variables of a closure", "fn f() { [1].map(|each| ‸) }", "each", "let"},
	{"variables of a pattern", "fn f(s: Shape) { match s { Shape::Round(radius) => ‸, _ => 1 } }", "radius", ""},
	{"an argument's name", "fn f() { area(‸) }", "width height area", ""},
	{"arguments that are not given by position", "fn f() { area(1, ‸) }", "height", "width"},
	{"remaining arguments", "fn f() { area(width: 1, ‸) }", "height", "width"},
	{"with an import", "fn f() { sq‸ }", "sqrt", ""},
	{"decorators", "@‸\nfn f() { }", "test eval retry cache", "let"},
	{"decorators of an agent", "@‸\nagent A uses rules { }", "retry cache allow", "test eval param limit describe"},
	{"decorators of a tool function", "tool T { description: \"d\", @‸ fn g(self) { } }", "describe param approve", "test cache limit"},
	{"decorators of a parameter", "tool T { description: \"d\", fn g(self, @‸ n: Int) { } }", "param", "describe test cache"},
	{"decorators of a field", "schema S { @‸ n: Int }", "describe", "test param cache"},
	{"decorators of a struct", "@‸\nstruct S { n: Int }", "allow", "test param cache describe"},
	{"settings", "agent A uses rules { model: \"m\", ‸ }", "temperature system_prompt tools", "model connector let"},
	{"a host's settings", "host H { ‸ }", "connector timeout", "model"},
	{"connections", "agent A uses ‸ { }", "rules scripted", "worker"},
	{"connectors", "host H { connector: ‸ }", "worker", "rules"},
	{"fields", "fn f() { let p = Point { x: 1, ‸ }; }", "y", "x let"},
	{"fields before another line", "fn f() {\n    let p = Point { x: 1, ‸\n    let q = 2;\n}", "y", "x let"},
	{"the first field before another line", "fn f() {\n    let p = Point { ‸\n    let q = 2;\n}", "x y", "let"},
	{"fields of a pattern", "fn f(p: Point) { let Point { ‸ } = p; }", "x y", "let"},
	{"fields of a variant", "fn f() { let s = Shape::Box { ‸ }; }", "w", "let"},
	{"arms", "fn f(s: Shape) { match s { Shape::Nothing => 1, ‸ } }", "Shape::Round(_) _", "Shape::Nothing let"},
	{"arms of an Option", "fn f(s: Int?) { match s { ‸ } }", "Some(value) None", "let"},
	{"messages", "fn f() { let r = listen Worker.execute(\"x\") { \"progress\" => |p| nil, ‸ }; }", "question ping", "progress approval let"},
	{"messages in quotes", "fn f() { let r = listen Worker.execute(\"x\") { \"‸\" => |p| nil }; }", "question", "let"},
	{"types", "fn f(x: ‸) { }", "Point Shape Int Option String", "area let"},
	{"types of a let", "fn f() { let x: ‸", "Point Int", "area let"},
	{"types of a result", "fn f() -> ‸ { }", "Point Int", "area"},
	{"type arguments", "fn f(x: Array<‸>) { }", "Point Int", "area"},
	{"type parameters", "fn f<Thing>(x: ‸) { }", "Thing", ""},
	{"methods of a trait", "impl Named for Point { fn name(self) -> String { \"\" } ‸ }", "kind fn", "name let"},
	{"the name of a new variable", "fn f() { let ‸ = 1; }", "", "area let"},
	{"declarations", "‸", "fn agent host pub use", "let area"},
	{"a partial keyword", "age‸", "agent", "let"},
	{"plain text", "fn f() { \"a ‸ b\"; }", "", "area"},
	{"interpolation", "fn f(x: Int) { let s = \"a ${‸} b\"; }", "x area", ""},
	{"comments", "fn f() { // a ‸\n}", "", "area"},
	{"numbers", "fn f() { 12‸ }", "", "area"},
	{"aliases of models", "agent A uses rules { model: ‸ }", "^big small", "let Judge"},
	{"aliases in quotes", "agent A uses rules { model: \"‸\" }", "^big small", "let Judge"},
	{"a retry policy", "agent A uses rules { retry_policy: { ‸ } }", "^max_attempts backoff initial_delay_ms", "let Judge"},
	{"the rest of a retry policy", "agent A uses rules { retry_policy: { backoff: \"none\", ‸ } }", "max_attempts", "backoff"},
	{"a backoff", "agent A uses rules { retry_policy: { backoff: \"‸\" } }", "none exponential", "max_attempts"},
	{"a format", "host H { connector: worker, output_format: ‸ }", "^text json", "let"},
	{"tools", "agent A uses rules { tools: [‸] }", "^Db", "let Judge area"},
	{"mock targets", "@test\nfn t() { mock ‸ }", "Judge Worker Db", "let area"},
	{"a decorator's arguments", "@retry(‸)\nfn f() { }", "backoff", "let area"},
	{"the arguments of an eval", "@eval(data: \"rows.jsonl\", ‸)\nfn f(n: Int) -> Bool { true }", "repeat cluster lower gate margin name", "data let area"},
	{"the operand of a listen", "fn f() { let r = listen ‸ }", "^Worker Judge", "r"},
	{"a handler's parameter", "fn f() { let r = listen Worker.execute(\"x\") { \"question\" => |q: ‸| 1 }; }", "^HostQuestion Point", "area"},
	{"ask as a handler", "fn f() { let r = listen Worker.execute(\"x\") { \"question\" => ‸ }; }", "ask area", ""},
	{"ask as a handler of an unclosed listen", "fn f() { let r = listen Worker.execute(\"x\") { on \"approval\" => a‸", "ask", ""},
	{"no ask for a progress message", "fn f() { let r = listen Worker.execute(\"x\") { \"progress\" => ‸ }; }", "area", "ask"},
	{"no ask in the body of a handler", "fn f() { let r = listen Worker.execute(\"x\") { \"question\" => |q| ‸ }; }", "q area", "ask"},
	{"no ask in a match", "fn f(s: String) { match s { \"question\" => ‸ } }", "area", "ask"},
	{"traits", "impl ‸ for Point { }", "^Named", "area Self"},
	{"a type of a trait", "impl Named for ‸ { }", "Point Shape", "Self area"},
	{"of the expected type", "fn g(near: Int, at: Point) { let p: Point = ‸; }", "^at near Point", "p"},
	{"as an argument", "fn g(a: String, z: Int) { area(‸) }", "^z a width", ""},
	{"as a field", "fn g(a: Int, b: String) { let p = Point { x: ‸ }; }", "^a b area", "p"},
	{"as a result", "fn g(a: Int, s: Shape) -> Shape { ‸ }", "^s Shape::Round Shape::Nothing a", ""},
	{"of a union", "fn g() { let s: \"on\" | \"off\" = ‸; }", "^\"on\" \"off\" area", ""},
	{"in a union's quotes", "fn g() { let s: \"on\" | \"off\" = \"‸\"; }", "^on off", "let"},
	{"arms in quotes", "fn f(s: \"on\" | \"off\") { match s { \"on\" => 1, \"‸\" } }", "off", "on let"},
	{"a condition", "fn g(a: Int, yes: Bool) { if ‸ { } }", "^yes true a", ""},
	{"beside an operator", "fn g(a: Int, yes: Bool, no: Bool) { let x = yes == ‸; }", "^no a", "x"},
	{"a body that is never closed", "fn g(a: Int) { ‸", "a area let", "agent"},
	{"a bound", "fn g<T: ‸>(x: T) { }", "Named", "area let"},
	{"an alias's type", "type A = ‸", "Point Int", "area let"},
	{"a constant's type", "const X: ‸", "Point Int", "area let"},
	{"a store's type", "hashmap h: ‸", "Point HashMap", "area let"},
	{"a stage's parameter", "pipeline P(a: Int) -> Int { stage s(x: ‸) }", "Point Int", "area let"},
	{"a caught error", "fn g() { try { 1 } catch e: ‸ { } }", "Error", "area let"},
	{"an unclosed interpolation", "fn g(near: Int) { println(\"a ${‸\"); }", "near area", ""},
	{"a dollar that is text", "fn g(near: Int) { println(\"a \\${‸\"); }", "", "near area"},
	{"connections of an unclosed agent", "agent A uses ‸", "^rules scripted", "worker let"},
	{"fields of an unclosed value", "fn f() { let p = Point { x: 1, ‸", "y", "x let"},
	{"labels", "fn f() { 'outer: loop { 'inner: loop { break '‸", "inner outer", "let area"},
	{"labels in a body", "fn f() { 'outer: loop { break 'o‸; } }", "outer", "let area"},
	{"a tuple's members", "fn f() { let t = (1, \"a\"); t.‸", "^0 1", "2 area"},
	{"no break outside loops", "fn f() { ‸ }", "return", "break continue"},
	{"no break in a closure", "fn f() { loop { let g = || { ‸ }; } }", "return", "break continue"},
	{"break in loops", "fn f() { while true { if true { ‸ } } }", "break continue", ""},
	{"only traits in a bound", "fn g<T: ‸>(x: T) { }", "Named", "Point Int Shape"},
	{"messages of an unclosed listen", "fn f() { let r = listen Worker.execute(\"x\") { \"progress\" => |p| nil, ‸", "question", "progress"},
	{"messages in quotes beside others", "fn f() { let r = listen Worker.execute(\"x\") { \"progress\" => |p| nil, \"‸\" }; }", "question", "progress"},
	{"modules with an import", "fn f() { mat‸ }", "math", ""},
	{"a test's mock", "@test\nfn t() { mock Judge { ‸ } }", "response", "model"},
}

func TestCompletion(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	for _, c := range completionCases {
		before, after, ok := strings.Cut(c.text, "‸")
		if !ok {
			t.Fatalf("%s: the text has no cursor", c.name)
		}
		full := completionProgram + before
		ws.Open(path, full+after)
		got := ws.Snapshot().Completion(context.Background(), path, source.Pos(len(full)))
		labels := map[string]int{}
		var all []string
		for i, x := range got.Items {
			if _, twice := labels[x.Label]; twice {
				t.Errorf("%s: the item %s is offered twice", c.name, x.Label)
			}
			labels[x.Label] = i
			all = append(all, x.Label)
		}
		for _, w := range strings.Fields(c.with) {
			label, first := strings.CutPrefix(w, "^")
			if i, there := labels[label]; !there || first && i != 0 {
				t.Errorf("%s: the item %s is missing or not first in %v", c.name, w, all)
			}
		}
		for _, w := range strings.Fields(c.without) {
			if _, there := labels[w]; there {
				t.Errorf("%s: the item %s must not be offered, got %v", c.name, w, all)
			}
		}
		if c.with == "" && len(all) > 0 {
			t.Errorf("%s: items = %v, want none", c.name, all)
		}
	}
}

// TestCompletionItems checks the texts that items insert.
func TestCompletionItems(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	for _, c := range []struct{ text, label, signature, snippet, edit string }{
		{"fn f() { ar‸ }", "area", "(width: Int, height: Int = 1) -> Int", "area($0)", ""},
		{"fn f() { ar‸(1) }", "area", "(width: Int, height: Int = 1) -> Int", "", ""},
		{"fn f(p: Point) { p.‸ }", "x", ": Int", "", ""},
		{"fn f() { sq‸ }", "sqrt", "(x: Float) -> Float", "", "use std::math::sqrt;\n"},
		{"fn f() { let r = listen Worker.execute(\"x\") { ‸ }; }", "question", ": HostQuestion", "\"question\" => |q: HostQuestion| $0,", ""},
		{"fn f() { let r = listen Worker.execute(\"x\") { \"‸\" => |p| nil }; }", "question", ": HostQuestion", "", ""},
		{"agent A uses rules { ‸ }", "top_p", ": Float", "top_p: $0,", ""},
	} {
		before, after, _ := strings.Cut(c.text, "‸")
		full := completionProgram + before
		ws.Open(path, full+after)
		got := ws.Snapshot().Completion(context.Background(), path, source.Pos(len(full)))
		found := false
		for _, x := range got.Items {
			if x.Label != c.label {
				continue
			}
			found = true
			edit := ""
			for _, e := range x.Edits {
				edit += e.Text
			}
			if x.Signature != c.signature || x.Snippet != c.snippet || edit != c.edit {
				t.Errorf("%s: signature %q, snippet %q, edit %q", c.text, x.Signature, x.Snippet, edit)
			}
			_ = x.Doc()
		}
		if !found {
			t.Errorf("%s: no item %s", c.text, c.label)
		}
	}
}

func TestCompletionInTheManifest(t *testing.T) {
	for text, with := range map[string]string{
		"[hosts.w]\n‸":                      "command timeout",
		"[hosts.w]\ncommand = \"x\"\n‸":     "timeout",
		"[connections.a]\nprovider = \"‸\"": "scripted openai",
		"[connections.a]\nprovider = ‸":     "scripted",
		"[‸":                                "hosts connections project",
		"[connections.a]\ndefault_model = ‸\n[connections.a.models]\nbig = \"x\"":       "big",
		"[connections.a]\nfallback = [\"‸\"]\n[connections.b]\nprovider = \"scripted\"": "b",
		"[hosts.w]\n# ‸": "",
		"[connections.a.retry]\nbackoff = \"expo‸\"": "exponential linear",
	} {
		before, after, _ := strings.Cut(text, "‸")
		dir := writeTree(t, "-- Concerto.toml --\n")
		path := filepath.Join(dir, "Concerto.toml")
		ws := New(Options{Folders: []string{dir}})
		ws.Open(path, before+after)
		labels := " "
		for _, x := range ws.Snapshot().Completion(context.Background(), path, source.Pos(len(before))).Items {
			labels += x.Label + " "
		}
		for _, w := range strings.Fields(with) {
			if !strings.Contains(labels, " "+w+" ") {
				t.Errorf("%q: no item %s in %s", text, w, labels)
			}
		}
		if with == "" && labels != " " || strings.Contains(text, "command =") && strings.Contains(labels, " command ") {
			t.Errorf("%q: items = %s", text, labels)
		}
	}
}

// TestSignature checks the signature of the call at the cursor.
func TestSignature(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	for text, want := range map[string]string{
		"fn f() { area(‸) }":                      "area(width: Int, height: Int = 1) -> Int [width: Int]",
		"fn f() { area(1, ‸":                      "area(width: Int, height: Int = 1) -> Int [height: Int = 1]",
		"fn f() { area(height: ‸) }":              "area(width: Int, height: Int = 1) -> Int [height: Int = 1]",
		"@retry(2, ‸)\nfn f() { }":                "@retry(max: Int, backoff: String, delay_ms: Int) [backoff: String]",
		"fn f() { area([1, ‸]) }":                 "",
		"fn f() { \"a\".replace(\"a\", ‸) }":      "replace(from: String, to: String) -> String [to: String]",
		"fn f() { Shape::Round(‸) }":              "Round(Float) -> Shape [Float]",
		"fn f(g: fn(Int) -> Bool) { g(‸) }":       "g(Int) -> Bool [Int]",
		"fn f() { area(1, 2, 3‸) }":               "area(width: Int, height: Int = 1) -> Int []",
		"fn f() { ‸ }":                            "",
		"fn f() { Judge.execute(‸\n}\nfn g() { }": "execute(p: String) -> Result<Response, AgentError> [p: String]",
		"fn f() { let x = area(area(1), ‸); }":    "area(width: Int, height: Int = 1) -> Int [height: Int = 1]",
	} {
		before, after, _ := strings.Cut(text, "‸")
		full := completionProgram + before
		ws.Open(path, full+after)
		got := ""
		if s := ws.Snapshot().Signature(context.Background(), path, source.Pos(len(full))); s != nil {
			active := ""
			if s.Active >= 0 {
				active = s.Label[s.Params[s.Active].Start:s.Params[s.Active].End]
			}
			got = s.Label + " [" + active + "]"
		}
		if got != want {
			t.Errorf("signature in %s: got %s, want %s", text, got, want)
		}
	}
}
