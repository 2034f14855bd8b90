package parser

import (
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

func dumpOf(t *testing.T, f *source.File, n ast.Node) string {
	t.Helper()
	var b strings.Builder
	if err := ast.DumpNode(&b, f, n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestParseExpr(t *testing.T) {
	f := source.NewFile("e", []byte("a + f(1)"))
	x, ids, list := ParseExpr(f)
	if list.Len() > 0 || ids != 5 {
		t.Fatalf("ParseExpr returns %d ids and the diagnostics:\n%s", ids, render(list.Sorted()))
	}
	want := `Binary Op=+ @1:1-1:9
  X: PathExpr Segments=a @1:1-1:2
  Y: Call @1:5-1:9
    Fn: PathExpr Segments=f @1:5-1:6
    Args: Arg @1:7-1:8
      Value: IntLit Value=1 @1:7-1:8
`
	if got := dumpOf(t, f, x); got != want {
		t.Errorf("tree of the expression:\n%s", got)
	}
	for _, text := range []string{"", "a b", "a +", "let a = 1", "{", "0x )"} {
		if x, _, list := ParseExpr(source.NewFile("e", []byte(text))); x != nil || list.Len() != 1 {
			t.Errorf("ParseExpr(%q) = %T, want nil and a diagnostic; diagnostics:\n%s", text, x, render(list.Sorted()))
		}
	}
}

func TestParseSignature(t *testing.T) {
	f := source.NewFile("s", []byte("/// Doc.\n@a(1) pub async fn f<T: A + B>(mut self, x: T = 1) -> Result<T>;"))
	fn, _, list := ParseSignature(f)
	if list.Len() > 0 {
		t.Fatal(render(list.Sorted()))
	}
	want := `FnDecl Name=f Doc="Doc." Pub Async @2:1-2:64
  Decorators: Decorator Name=a @2:1-2:6
    Args: Arg @2:4-2:5
      Value: IntLit Value=1 @2:4-2:5
  Generics: TypeParam Name=T @2:22-2:30
    Bounds: NamedType Segments=A @2:25-2:26
    Bounds: NamedType Segments=B @2:29-2:30
  Params: Param Mut IsSelf Name=self @2:32-2:40
  Params: Param Name=x @2:42-2:50
    Type: NamedType Segments=T @2:45-2:46
    Default: IntLit Value=1 @2:49-2:50
  Result: NamedType Segments=Result @2:55-2:64
    Args: NamedType Segments=T @2:62-2:63
`
	if got := dumpOf(t, f, fn); got != want {
		t.Errorf("tree of the signature:\n%s", got)
	}
	if s := f.Slice(fn.Signature); s != "async fn f<T: A + B>(mut self, x: T = 1) -> Result<T>" {
		t.Errorf("text of the Signature span = %q", s)
	}
	for _, text := range []string{"", "f()", "fn f() {}", "fn f(", "fn f() -> ", "fn f(); fn g();"} {
		if fn, _, list := ParseSignature(source.NewFile("s", []byte(text))); fn != nil || list.Len() != 1 {
			t.Errorf("ParseSignature(%q) = %v, want nil and a diagnostic; diagnostics:\n%s", text, fn, render(list.Sorted()))
		}
	}
}

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
