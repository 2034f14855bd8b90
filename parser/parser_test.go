package parser

import (
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestConcurrentParses checks that concurrent parses do not affect each other, although they take
// their parsers from one pool.
func TestConcurrentParses(t *testing.T) {
	texts := []string{mixedText(300), "fn f() -> Int { |x: Int| { fn g(y: Int = 1) -> Int { y } g(x) } }", "struct S { a Int }"}
	want := make([]int, len(texts))
	for i, text := range texts {
		_, list := Parse(source.NewFile("", []byte(text)))
		want[i] = list.Len()
	}
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			i := n % len(texts)
			for range 5 {
				if _, list := Parse(source.NewFile("", []byte(texts[i]))); list.Len() != want[i] {
					t.Errorf("text %d: %d diagnostics in a concurrent parse, want %d", i, list.Len(), want[i])
				}
			}
		})
	}
	wg.Wait()
}

// TestNestedForms parses values that contain closures with declarations, so that forms nest.
func TestNestedForms(t *testing.T) {
	text := `const f = |x: Int| { struct P { a: Int = 1 } fn g(y: Int = { fn h() {} 2 }) -> Int { y } g(x) };
agent A { model: { @log("x") fn k() {} "m" }, tools: [|| { const C: Int = 1; C }] }
fn after(@a({ fn z() {} 1 }) p: Int) {}`
	f := source.NewFile("main.conc", []byte(text))
	file, list := Parse(f)
	if list.Len() > 0 {
		t.Fatal(render(list.Sorted()))
	}
	checkTree(t, file)
	checkIDs(t, file)
	names := []string{}
	ast.InspectFile(file, func(n ast.Node) bool {
		if d, ok := n.(ast.Decl); ok && d.Head().Name != nil {
			names = append(names, d.Head().Name.Name)
		}
		return true
	})
	if got := strings.Join(names, " "); got != "f P g h A k C after z" {
		t.Errorf("declared names = %s", got)
	}
}

// TestLongHeaders checks that lists in headers may have any length, and that excessive nesting is
// reported.
func TestLongHeaders(t *testing.T) {
	for _, text := range []string{
		"use a::{" + strings.Repeat("b, ", maxNesting+1) + "};",
		"struct S<" + strings.Repeat("A, ", maxNesting+1) + "> {}",
		"fn f(" + strings.Repeat("a: Int, ", maxNesting+1) + ") {}",
		"fn f<A: " + strings.Repeat("B + ", maxNesting+1) + "B>() {}",
		strings.Repeat("@a ", maxNesting+1) + "fn f() {}",
		strings.Repeat("@a(1) ", room) + "fn f(" + strings.Repeat("a: Int, ", room) + ") {}",
	} {
		if ds, _ := parseText(text); len(ds) != 0 {
			t.Errorf("diagnostics of %.20s…:\n%.500s", text, render(ds))
		}
	}
	text := "use " + strings.Repeat("a::{", maxNesting+1) + "a" + strings.Repeat("}", maxNesting+1) + ";"
	if ds, _ := parseText(text); len(ds) != 1 || ds[0].Info != diag.TooDeep {
		t.Errorf("diagnostics of %.20s…:\n%.500s", text, render(ds))
	}
}
