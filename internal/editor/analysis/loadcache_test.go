package analysis

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// loadNext loads the program of a folder with a. The cache reuses results of its previous load.
func loadNext(t *testing.T, a *LoadCache, dir string) *driver.Input {
	t.Helper()
	in, err := driver.Load(a.Request(driver.Request{Path: "main.conc", Dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLoadCacheChecksOnlyChanges counts the modules that are parsed and checked after an edit in a
// program of 31 modules. An edit of a function body parses and checks one module. An edit of a
// signature parses one module and checks all.
func TestLoadCacheChecksOnlyChanges(t *testing.T) {
	dir := writeModules(t, 30)
	path := filepath.Join(dir, "m7.conc")
	text := programOfLines("S", 100) + "pub fn g() -> Int { common::used(1) }\n"
	var a LoadCache
	var before *sema.Program
	for _, c := range []struct {
		what            string
		text            string
		parsed, checked int // numbers of modules
		wrong           int
	}{
		{"first load", text, 32, 32, 0},
		{"no edit", text, 0, 0, 0},
		{"a body", strings.Replace(text, "ys.len()", "ys.len() + 1", 1), 1, 1, 0},
		{"an error in the body", strings.Replace(text, "ys.len()", "ys", 1), 1, 1, 1},
		{"the body, with the error", strings.Replace(text, "ys.len()", "ys  ", 1), 1, 1, 1},
		{"the error fixed", text, 1, 1, 0},
		{"a signature", text + "fn more() {}\n", 1, 32, 0},
		{"the signature restored", text, 1, 32, 0},
	} {
		save(t, path, c.text)
		now, found := driver.Analyse(loadNext(t, &a, dir), nil)
		if found.Len() != c.wrong {
			t.Errorf("%s: %d errors, want %d", c.what, found.Len(), c.wrong)
		}
		if parsed, checked := countNewTrees(now, before), countChecked(now); parsed != c.parsed || checked != c.checked {
			t.Errorf("%s: %d modules were parsed and %d checked; want %d and %d", c.what, parsed, checked, c.parsed, c.checked)
		}
		before = now
	}
}

// countNewTrees returns the number of syntax trees of p that of does not contain.
func countNewTrees(p, of *sema.Program) (n int) {
	have := map[*ast.File]bool{}
	if of != nil {
		for _, i := range of.Files {
			have[i.File] = true
		}
	}
	for _, i := range p.Files {
		if !i.Library && !have[i.File] {
			n++
		}
	}
	return n
}

// countChecked returns the number of modules whose bodies were checked.
func countChecked(p *sema.Program) (n int) {
	for _, i := range p.Files {
		if !i.Library && !p.HasReusedBodies(i) {
			n++
		}
	}
	return n
}

// TestLoadCacheMatchesFirstCheck compares the diagnostics after each edit with those of a check
// that reuses nothing. Some edits add errors that prevent a build.
func TestLoadCacheMatchesFirstCheck(t *testing.T) {
	dir := writeTree(t, mixed)
	e := newEditor(dir, 3)
	main := filepath.Join(dir, "main.conc")
	e.first[main] += strings.Repeat("\n", 2100) // a build reuses bodies only in a long file
	e.texts[main] = e.first[main]
	for path, text := range e.texts {
		save(t, path, text)
	}
	var checked, built LoadCache
	reused := 0
	for n := range 3 * *edits {
		if n%10 == 9 { // restore the first texts, so that errors do not accumulate
			for _, path := range e.paths {
				e.texts[path] = e.first[path]
				save(t, path, e.first[path])
			}
		}
		path := e.edit()
		save(t, path, e.texts[path])
		fresh, err := driver.Load(driver.Request{Path: "main.conc", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		p, got := driver.Analyse(loadNext(t, &checked, dir), nil)
		if p.ReusedBodies() > 0 {
			reused++
		}
		if d := cmp.Diff(renderList(driver.Check(fresh)), renderList(got)); d != "" {
			t.Fatalf("after edit %d, of %s: %s", n, path, d)
		}
		want, whole := driver.Build(fresh)
		program, list := driver.Build(loadNext(t, &built, dir))
		if d := cmp.Diff(renderList(whole), renderList(list)); d != "" || (program == nil) != (want == nil) {
			t.Fatalf("build after edit %d, of %s: built %v, want %v: %s", n, path, program != nil, want != nil, d)
		}
	}
	if reused < *edits/2 {
		t.Errorf("results were reused after %d of %d edits, want %d or more", reused, 3**edits, *edits/2)
	}
}

func renderList(l diag.List) string {
	var b strings.Builder
	if err := diag.JSON(&b, l.Sorted()); err != nil {
		panic(err)
	}
	return b.String()
}

// TestActionCheckReusesOtherModules checks a program with the edits of a code action. Only the
// edited module is checked again.
func TestActionCheckReusesOtherModules(t *testing.T) {
	dir := writeModules(t, 30)
	path := filepath.Join(dir, "m7.conc")
	s := New(Options{Folders: []string{dir}}).Snapshot()
	if _, err := s.DiagnosticsOf(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	file := s.File(path)
	at := source.Pos(strings.Index(file.String(), "ys.len()"))
	next := s.withEdits([]Edit{{Location{file, source.Span{Start: at, End: at}}, "1 + "}})
	res, err := next.check(t.Context(), next.rootOf(next.realPath(path)))
	if err != nil {
		t.Fatal(err)
	}
	if n := countChecked(res.prog); n != 1 {
		t.Errorf("%d modules were checked, want 1", n)
	}
}
