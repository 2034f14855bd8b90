package prefix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/prefix"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// found checks a program whose connection demo caches, and returns its warnings with their lines.
func found(t *testing.T, src string) string {
	t.Helper()
	file, list := parser.Parse(source.NewFile("main.conc", []byte(src)))
	m := &sema.Manifest{Connections: map[string]sema.ManifestConnection{"demo": {Scripted: true}, "other": {Scripted: true}}}
	p, more := sema.Check(sema.Config{Name: "t", Library: stdlib.Library(), Manifest: m}, file)
	list.Append(more)
	if list.HasErrors() {
		var out strings.Builder
		diag.Text(&out, list.Sorted(), diag.TextOptions{})
		t.Fatalf("%s\n%s", src, out.String())
	}
	list = prefix.Check(p, func(a *sema.Agent) bool { return a.Connection == "demo" })
	var out []string
	for _, d := range list.Sorted() {
		out = append(out, fmt.Sprintf("%d %s %s", d.File.Position(d.Span.Start).Line, d.Info.Code, d.File.Slice(d.Span)))
	}
	return strings.Join(out, "\n")
}

// declarations precede the program of each test, on one line.
const declarations = `use std::{crypto, fs, random, run, time}; agent A uses demo { } agent Free uses other { } ` +
	`tool Calc { description: "Doubles", @describe("Doubles a number") @param("n", "The number") pub fn double(self, n: Int) -> Int { n * 2 } } ` +
	`fn stamp() -> String { let at = time::now(); "[${at}]" } struct Case { at: String, rules: String } const RULES: String = "`

func program(body string) string {
	return declarations + strings.Repeat("rule ", 220) + "\";\n" + body
}

// TestBreakers finds each source of changing values in each shape of a prompt or a list of tools.
func TestBreakers(t *testing.T) {
	sources := []string{"time::now()", "random::uuid()", "crypto::uuid()", "run::id()", "run::usage().tokens_in", "stamp()"}
	shapes := map[string]string{
		"interpolation": `fn main() { let _ = A.execute("At ${%s}: ${RULES}")?; }`,
		"addition":      `fn main() { let _ = A.execute("At " + "${%s}" + RULES)?; }`,
		"join":          `fn main() { let _ = A.execute(["At", "${%s}", RULES].join("\n"))?; }`,
		"locals":        `fn main() { let v = %s; let head = "At ${v}"; let all = "${head} ${RULES}"; for c in A.stream(all) { println(c.text); } }`,
		"appended":      `fn main() { let mut p = "At "; p += "${%s}"; p += RULES; let _ = A.execute(p)?; }`,
		"struct":        `fn main() { let c = Case { at: "${%s}", rules: RULES }; let _ = A.execute("${c.at} ${c.rules}")?; }`,
		"helper":        `fn ask(at: String) -> String { "At ${at}: ${RULES}" }` + "\n" + `fn main() { let _ = A.execute(ask("${%s}"))?; }`,
		"messages":      `fn main() { let m = Message { role: "user", content: "At ${%s}" }; let _ = A.chat([m, Message { role: "user", content: RULES }])?; }`,
		"file":          `fn main() { let v = %s; let text = fs::read_file("a.md")?; let _ = A.execute_with_schema<Int>("At ${v}\n${text.trim()}")?; }`,
		"tools":         `fn main() { let v = "${%s}"; let mut list = [Calc]; if v.contains("7") { list.push(Calc); } let _ = A.with_tools(list).execute("x")?; }`,
	}
	n := 0
	for name, shape := range shapes {
		for _, src := range sources {
			code := "W0744"
			if name == "tools" {
				code = "W0746"
			}
			got := found(t, program(fmt.Sprintf(shape, src)))
			value := strings.TrimSuffix(src, ".tokens_in")
			if name == "tools" {
				value = "list"
			}
			if !strings.HasSuffix(got, " "+code+" "+value) || strings.Contains(got, "\n") {
				t.Errorf("%s of %s: got %q, want one %s at %s", name, src, got, code, value)
				continue
			}
			n++
		}
	}
	if n != 60 {
		t.Errorf("found %d of 60", n)
	}
}

// TestNoWarnings lists programs whose requests begin alike as far as possible, or whose texts are
// not known.
func TestNoWarnings(t *testing.T) {
	for _, body := range []string{
		`fn main() { let _ = A.execute("${RULES} At ${time::now()}")?; }`,
		`fn main() { let _ = A.execute("At ${time::now()}: ${RULES.slice(0, 999)}")?; }`,
		`fn main() { let _ = Free.execute("At ${time::now()}: ${RULES}")?; }`,
		`fn main() { let mut p = RULES; let _ = A.execute(p)?; p = "${time::now()} ${RULES}"; println(p); }`,
		`fn main() { let c = Case { at: time::now(), rules: RULES }; println(c.at); let _ = A.execute("${c.rules} ${c.rules}")?; }`,
		`fn main() { let _ = A.execute("${crypto::sha256("x")} ${time::format(0)} ${RULES}")?; }`,
		`fn main() { let r = A.execute("At ${time::now()}")?; let _ = A.execute("${r.text} ${RULES}")?; }`,
		`fn ask(at: String) -> Int { println(at); 3 }` + "\n" + `fn main() { let _ = A.execute("${ask(time::now())} ${RULES}")?; }`,
		`fn f(p: String) -> String { if p == "" { p } else { f("${p}${p}") } }` + "\n" + `fn main() { let _ = A.execute(f(RULES))?; }`,
		`fn main() { let mut p = "x"; for i in 0..3 { p = "${p} ${i} ${RULES}"; } let _ = A.execute(p)?; }`,
		`fn main() { println(time::now()); let _ = A.with_tools([Calc]).execute(RULES)?; }`,
		`memory all: Memory = Memory::new();` + "\n" + `memory short: Memory = Memory::new(4);` + "\n" + `memory talk: Memory = Memory::new(20, trim: 10);` + "\n" +
			`fn main() { for m in [all, short, talk] { let _ = A.with_memory(m).execute("x")?; } let _ = A.with_memory(short).execute("y")?; let _ = A.with_memory(talk).execute("y")?; }`,
		`fn main() { let a0 = RULES; ` + doubled(40) + ` let _ = A.execute("${time::now()} ${a40}")?; }`,
		`@allow(W0744) fn main() { let _ = A.execute("At ${time::now()}: ${RULES}")?; }`,
	} {
		if got := found(t, program(body)); got != "" {
			t.Errorf("%s\nhas the warnings %s", body, got)
		}
	}
}

// doubled returns variables of which each contains the one before it twice. A check that followed
// all of them would not finish.
func doubled(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "let a%d = a%d + a%d; ", i+1, i, i)
	}
	return out.String()
}

// TestMemories reports the memory of a declaration and of a call, once, with what to write.
func TestMemories(t *testing.T) {
	got := found(t, program(`memory talk: Memory = Memory::new(20).with_persistence("talk.db");
memory other: Memory = Memory::new(10);
agent B uses demo { memory: talk }
fn main() { let _ = B.execute("x")?; let _ = A.with_memory(talk).execute("x")?; let _ = A.with_memory(other).execute("x")?; let _ = Free.with_memory(other).execute("x")?; }`))
	if want := "2 W0745 Memory::new(20)\n3 W0745 Memory::new(10)"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestPlaces reports values in pipelines, conditions and the bodies of helpers.
func TestPlaces(t *testing.T) {
	for body, want := range map[string]string{
		`pipeline P { stage one(x: String) -> String { A.execute("${time::now()} ${RULES}")?.text } }` + "\nfn main() { println(P.run(\"x\")); }": "2 W0744 time::now()",
		`fn text() -> String { "At ${time::now()}\n${RULES}" }` + "\nfn main() { let _ = A.execute(text())?; let _ = A.execute(text())?; }":       "2 W0744 time::now()",
		`fn main() { let _ = A.execute("${if random::bool() { "Hi" } else { "Hello" }} ${RULES}")?; }`:                                            "2 W0744 random::bool()",
		`fn main() { let _ = ["a"].map(|x| A.execute("${x} ${time::now_ms()} ${RULES}")?.text); }`:                                                "2 W0744 time::now_ms()",
		`fn main() { let _ = A.with_tools([Calc].filter(|_| random::bool())).execute("x")?; }`:                                                    "2 W0746 [Calc].filter(|_| random::bool())",
	} {
		if got := found(t, program(body)); got != want {
			t.Errorf("%s\nhas %q, want %q", body, got, want)
		}
	}
}

// TestReused checks a program again, as editors do. The warnings must be the same, although the
// results of the checker for all bodies are reused.
func TestReused(t *testing.T) {
	file, _ := parser.Parse(source.NewFile("main.conc", []byte(program(`fn ask() -> String { "At ${time::now()}: ${RULES}" }
fn main() { let _ = A.execute(ask())?; }`))))
	cfg := sema.Config{Name: "t", Library: stdlib.Library(), LibraryBodiesUpToLines: sema.NoLibraryBodies, Bodies: &sema.Bodies{},
		Manifest: &sema.Manifest{Connections: map[string]sema.ManifestConnection{"demo": {Scripted: true}, "other": {Scripted: true}}}}
	for i := range 2 {
		p, _ := sema.Check(cfg, file)
		if n := p.ReusedBodies(); n > 0 != (i > 0) {
			t.Errorf("check %d reused the results of %d bodies", i+1, n)
		}
		list := prefix.Check(p, func(*sema.Agent) bool { return true })
		if found := list.Sorted(); len(found) != 1 || found[0].Info != diag.EarlyChange {
			t.Errorf("got %d warnings, want one", len(found))
		}
		cfg.Bodies = p.Bodies()
	}
}
