package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// TestHover checks that the description of a decorator has its arguments and an example, and that
// of a generic function or type the types with which it is used.
func TestHover(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest)
	ws := New(Options{Folders: []string{dir}})
	path := filepath.Join(dir, "main.conc")
	for _, c := range []struct{ text, want string }{
		{"@re‸try(max: 2)\nfn f() -> Result<Int, String> { Ok(1) }", "@retry(max: Int,"},
		{"@re‸try(max: 2)\nfn f() -> Result<Int, String> { Ok(1) }", "mock Judge"},
		{"fn pair<A, B>(a: A, b: B) -> (A, B) { (a, b) }\nfn f() { println(pa‸ir(1, \"x\")); }", "Here: `pair(Int, String) -> (Int, String)`"},
		{"struct Tree<T> { v: T }\nfn f() { println(Tr‸ee { v: 1.5 }.v); }", "Here: `Tree<Float>`"},
		{"fn f() { println([1].ma‸p(|n| \"${n}\")); }", "Here: `Array<Int>.map(fn(Int) -> String) -> Array<String>`"},
	} {
		before, after, _ := strings.Cut(c.text, "‸")
		ws.Open(path, before+after)
		h := ws.Snapshot().Hover(context.Background(), path, source.Pos(len(before)))
		if h == nil || !strings.Contains(h.Text, c.want) {
			t.Errorf("%s: hover = %+v, want %s", c.text, h, c.want)
		}
	}
}

// TestMissingMain checks that the entry file of a program without main has the warning of
// `concerto check`, with its fix.
func TestMissingMain(t *testing.T) {
	dir := writeTree(t, "-- Concerto.toml --\n"+completionManifest+"-- main.conc --\nfn mian() { println(1); }\n")
	ws := New(Options{Folders: []string{dir}})
	s := ws.Snapshot()
	found := false
	for _, r := range s.roots() {
		list, err := s.listDiagnostics(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			found = found || d.Info.Code == "W0802" && len(d.Fixes) == 1
		}
	}
	if !found {
		t.Error("a program without main has no warning with a fix")
	}
}
