package parser

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/golden"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// sameBothWays parses a text with the forms read by their generated readers
// and by participle: tree, ids and diagnostics must agree; of a wrong text the
// diagnostics, for what a reader had read of a form that it refuses stays.
func sameBothWays(t *testing.T, text string) {
	t.Helper()
	f := source.NewFile("main.conc", []byte(text))
	show := func(forms func(*parser, any)) string {
		file, list := parse(f, forms)
		if list.Len() > 0 {
			return render(list.Sorted())
		}
		var b strings.Builder
		if err := ast.Dump(&b, file); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, file.IDs, "ids")
		return b.String()
	}
	if generated, theirs := show(nil), show(byParticiple); generated != theirs {
		t.Fatalf("%s\nis read as\n%s\nand by participle as\n%s", text, generated, theirs)
	}
}

// declarations has each kind of form.
const declarations = mixedUnit + `
pub struct Wrapper<T: Show + Eq> { pub: Int, pub type: T, inner: Array<T>? = None }
pub enum Shape<T> { Round(Float), Box { w: Float, h: Float }, Empty }
schema Row { @min(1) @describe("how many") n: Int = 3, other?: "a" | "b" }
trait Show { fn show(self) -> String; pub fn twice(self) -> String { self.show() } }
impl<T> Show for Wrapper<T> { fn show(self) -> String { "" } async fn later(mut self) {} }
tool Search { description: "finds", hits: Int = 0, @param("q", "what") pub fn find(self, q: String) -> Int { 1 } }
mcp Files { fn read(path: String) -> String; }
pipeline P(a: Int, b: Int = 2) -> Int { stage one(n: Int) -> Int { n } @retry(3) stage two = one; }
pipeline Q { stage s() -> Int { 1 } }
agent Bare { model: "m", tools: [Search] }
agent Named uses demo { model: "m" }
@test("does") @cache async fn generic<A, B: Show>(@doc("x") mut a: A, b: fn(Int) -> B = |x| x, self) -> (A, B) { nested; }
memory m: Memory = Memory::new(3);
const C: Int = 1 + 2;
impl Show for Row { fn show(self) -> String { "" } }
impl<A: Show + Eq, B,> Array<A> { fn zip<C>(self, o: Array<C>) -> Int { 0 } fn nil<>() {} }
const PLAIN = [1];
type Alias<T> = Result<T, String>;
mod inner { pub fn f() {} host H { connector: h } }
`

// The readers read what participle reads and refuse what it refuses, with the
// same words: programs whole, declarations also with any one token missing,
// doubled or replaced.
func TestReadersAreParticiples(t *testing.T) {
	var texts []string
	for _, pattern := range []string{"testdata/ok/*.txtar", "testdata/errors/*.txtar"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			a := golden.Open(t, path)
			texts = append(texts, a.Input("main.conc"))
			a.Close()
		}
	}
	for _, pattern := range []string{"testdata/seeds/*.conc", "../stdlib/*.conc", "../examples/*/*.conc"} {
		paths, _ := filepath.Glob(pattern)
		if len(paths) == 0 {
			t.Fatal("no files", pattern)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		sameBothWays(t, text)
	}
	read := map[reflect.Type]bool{}
	count := func(p *parser, form any) {
		read[reflect.TypeOf(form)] = true
		byParticiple(p, form)
	}
	for _, text := range texts {
		parse(source.NewFile("main.conc", []byte(text)), count)
	}
	for form := range productions {
		if !read[form] {
			t.Errorf("no text has a %s", form.Elem().Name())
		}
	}
	text := strings.ReplaceAll(declarations, "%[1]d", "")
	sameBothWays(t, text)
	// One declaration at a time, since a whole program takes long.
	for _, one := range strings.Split(text, "\n") {
		toks, _, _ := lexer.Lex(source.NewFile("main.conc", []byte(one)))
		for _, k := range toks[:len(toks)-1] {
			before, word, after := one[:k.Start], one[k.Start:k.End], one[k.End:]
			for _, damaged := range []string{before + after, before + word + " " + word + after, before + "fn" + after, before + ";" + after, before} {
				sameBothWays(t, damaged)
			}
		}
	}
}

// FuzzForms looks for a text that the two ways read differently.
func FuzzForms(f *testing.F) {
	for one := range strings.SplitSeq(declarations, "\n") {
		f.Add(one)
	}
	f.Fuzz(sameBothWays)
}
