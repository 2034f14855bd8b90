package stdlib_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/stdlib"
)

// example matches a call in a doc comment with its result: `f(x)` is y.
var example = regexp.MustCompile("`([^`]+\\))` is ([^`]+)")

// examples returns the examples in a doc comment as pairs of a call and its result.
func examples(doc string) [][2]string {
	var out [][2]string
	for line := range strings.Lines(doc) {
		for _, m := range example.FindAllStringSubmatch(line, -1) {
			want := strings.TrimSpace(m[2])
			if i := strings.Index(want, ". "); i >= 0 && strings.ToUpper(want[i+2:i+3]) == want[i+2:i+3] {
				want = want[:i+1]
			}
			out = append(out, [2]string{m[1], strings.TrimRight(want, ".,")})
		}
	}
	return out
}

// TestExamples runs the examples in all doc comments. The examples of one page form one program.
func TestExamples(t *testing.T) {
	all := 0
	for _, p := range stdlib.Pages() {
		var body, modules []string
		for _, s := range p.Sections {
			for _, e := range s.Entries {
				for _, x := range examples(e.Doc) {
					body = append(body, "    assert_eq("+x[0]+", "+x[1]+");")
				}
			}
		}
		if len(body) == 0 {
			continue
		}
		all += len(body)
		for _, m := range stdlib.Library().Modules() {
			if strings.Contains(strings.Join(body, "\n"), m+"::") {
				modules = append(modules, "use std::"+m+";\n")
			}
		}
		t.Run(p.Name, func(t *testing.T) {
			text := strings.Join(modules, "") + "fn main() {\n" + strings.Join(body, "\n") + "\n}\n"
			t.Log(text)
			runProgram(t, compiletest.CompileClean(t, text), false)
		})
	}
	if all < 150 {
		t.Errorf("found only %d examples", all)
	}
}

// TestEveryEntryHasAnExample checks that each entry has a call in its doc comment, or an example. A
// test of package concerto runs the examples.
func TestEveryEntryHasAnExample(t *testing.T) {
	call := regexp.MustCompile("(?m)^ *`[^`]*[(\\[][^`]*`( is |$)")
	for _, p := range stdlib.Pages() {
		for _, s := range p.Sections {
			for _, e := range s.Entries {
				if e.Example == "" && !call.MatchString(e.Doc) {
					t.Errorf("%s: %s has no example: write one into stdlib/examples", p.Name, e.Name)
				}
			}
		}
	}
}

// TestReferenceIsCurrent compares the files in spec/std with the reference of the library.
func TestReferenceIsCurrent(t *testing.T) {
	written, err := filepath.Glob("../spec/std/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := stdlib.Pages()
	if len(written) != len(pages) {
		t.Errorf("spec/std has %d pages, want %d: run `make gen`", len(written), len(pages))
	}
	for _, p := range pages {
		text, err := os.ReadFile("../spec/std/" + p.Name + ".md")
		if err != nil || string(text) != p.Markdown() {
			t.Errorf("spec/std/%s.md is out of date: run `make gen`: %v", p.Name, err)
		}
	}
}
