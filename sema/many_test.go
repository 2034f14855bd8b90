package sema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// TestManyErrors checks that all errors of a file with many errors are reported in one run, each of
// them once.
func TestManyErrors(t *testing.T) {
	var b strings.Builder
	const n = 100
	for i := range n {
		fmt.Fprintf(&b, "fn f%d(x: Int) -> Int { let y = \"%d\"; x + y.len() + missing%d }\n", i, i, i)
	}
	b.WriteString("fn main() { }\n")
	_, list := check("many.conc", b.String())
	if got := list.Len(); got != n {
		t.Fatalf("%d diagnostics, want %d:\n%s", got, n, codes(list))
	}
	for i, d := range list.Sorted() {
		if want := fmt.Sprintf("unknown name `missing%d`", i); d.Info != diag.UnknownName || d.Message != want || d.File.LineOf(d.Span.Start) != i+1 {
			t.Errorf("diagnostic %d = %s %q on line %d, want %q", i, d.Info.Code, d.Message, d.File.LineOf(d.Span.Start), want)
		}
	}
}

// TestManyNearNames checks a file with thousands of declarations and thousands of unknown names.
// The first errors contain a suggestion, and the later ones do not, because the total search is
// limited.
func TestManyNearNames(t *testing.T) {
	var b strings.Builder
	const n = 4000
	for i := range n {
		fmt.Fprintf(&b, "fn declared_%d_here() {}\n", i)
	}
	b.WriteString("fn main() {\n")
	for i := range n {
		fmt.Fprintf(&b, "    delcared_%d_here();\n", i)
	}
	b.WriteString("}\n")
	_, list := check("near.conc", b.String())
	all := list.Sorted()
	if len(all) != n {
		t.Fatalf("%d diagnostics, want %d", len(all), n)
	}
	suggested := 0
	for i, d := range all {
		near := slices.ContainsFunc(d.Hints, func(h string) bool { return h == fmt.Sprintf("did you mean `declared_%d_here`?", i) })
		if near && suggested < i {
			t.Fatalf("the error on line %d has a suggestion, but an earlier error has none", n+2+i)
		}
		if near {
			suggested++
		}
	}
	if suggested < n/4 || suggested > 3*n/4 {
		t.Errorf("%[2]d of %[1]d unknown names have a suggestion, want between a quarter and three quarters", n, suggested)
	}
}

// TestDeepNesting checks each form of nesting at depth 500. The time must be linear in the depth.
func TestDeepNesting(t *testing.T) {
	const depth = 500
	rep := func(s string) string { return strings.Repeat(s, depth) }
	shapes := map[string]string{
		"generic calls":  "fn id<T>(x: T) -> T { x }\nfn main() { emit(\"x\", " + rep("id(") + "1" + rep(")") + "); }",
		"closures":       "fn main() { let _f = " + rep("|x: Int| ") + "1; }",
		"closure calls":  "fn call(f: fn(Int) -> Int) -> Int { f(1) }\nfn main() { emit(\"x\", " + rep("call(|x| ") + "1" + rep(")") + "); }",
		"options":        "fn main() { let x = " + rep("Some(") + "1" + rep(")") + "; emit(\"x\", x == None); }",
		"option types":   "fn f(x: " + rep("Option<") + "Int" + rep(">") + ") -> Bool { x == None }\nfn main() { emit(\"x\", f(None)); }",
		"arrays":         "fn main() { let x = " + rep("[") + "1" + rep("]") + "; emit(\"x\", x); }",
		"ifs":            "fn main() { let x = " + rep("if true { ") + "1" + rep(" } else { 2 }") + "; emit(\"x\", x); }",
		"matches":        "fn main() { let x = " + rep("match 1 { 1 => ") + "1" + rep(", _ => 2 }") + "; emit(\"x\", x); }",
		"interpolations": "fn main() { let x = " + rep("\"${") + "1" + rep("}\"") + "; emit(\"x\", x); }",
		"tries":          "fn main() { let x = " + rep("try { ") + "1" + rep(" } catch { 2 }") + "; emit(\"x\", x); }",
		"patterns":       "fn f(x: Any) -> Int { match x { " + rep("Some(") + "1" + rep(")") + " => 1, _ => 2 } }\nfn main() { emit(\"x\", f(1)); }",
		"method chains":  "fn main() { emit(\"x\", [1]" + rep(".map(|x| x + 1)") + "); }",
	}
	for name, src := range shapes {
		t.Run(name, func(t *testing.T) {
			if _, list := check("deep.conc", src); list.Len() > 0 {
				t.Errorf("diagnostics of the nested program:\n%s", codes(list))
			}
		})
	}
}

// TestLongChainOfTypes checks a long chain of types, each declared before the type that it
// contains. The chain takes one iteration. With one iteration for each type, the test would take
// minutes.
func TestLongChainOfTypes(t *testing.T) {
	const n = 50_000
	chain := func(end string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "struct S%d { next: S%d }\n", i, i+1)
		}
		fmt.Fprintf(&b, "struct S%d { %s }\nfn main() { }\n", n, end)
		return b.String()
	}
	if _, list := check("chain.conc", chain("n: Int")); list.Len() > 0 {
		t.Errorf("%d diagnostics, want none; the first is %s", list.Len(), list.Sorted()[0].Message)
	}
	if _, list := check("chain.conc", chain("back: S0")); list.Len() != n+1 || list.Sorted()[0].Info != diag.EndlessType {
		t.Errorf("%d diagnostics for a cycle of %d types", list.Len(), n+1)
	}
}
