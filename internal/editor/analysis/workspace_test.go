package analysis

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// writeTree writes the files of an archive into a temporary directory and returns its path.
func writeTree(t *testing.T, archive string) string {
	t.Helper()
	dir := realPath(t.TempDir())
	if err := txtar.Write(txtar.Parse([]byte(archive)), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// diagnosticRows returns the diagnostics of each file of a snapshot, in the format of `check
// --format json`.
func diagnosticRows(t *testing.T, s *Snapshot) map[string]string {
	t.Helper()
	all, err := s.Diagnostics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for p, ds := range all {
		var one []*diag.Diagnostic
		one, err = s.DiagnosticsOf(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if out[p] = rows(t, ds); out[p] != rows(t, one) {
			t.Errorf("DiagnosticsOf(%s) differs from Diagnostics: %s", p, cmp.Diff(out[p], rows(t, one)))
		}
	}
	return out
}

func rows(t *testing.T, ds []*diag.Diagnostic) string {
	t.Helper()
	var b bytes.Buffer
	if err := diag.JSON(&b, ds); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// codes returns the diagnostic codes of each file. The keys are paths relative to dir.
func codes(t *testing.T, s *Snapshot, dir string) map[string]string {
	t.Helper()
	all, err := s.Diagnostics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for p, ds := range all {
		var cs []string
		for _, d := range ds {
			cs = append(cs, d.Info.Code)
		}
		out[strings.TrimPrefix(filepath.ToSlash(p), filepath.ToSlash(dir)+"/")] = strings.Join(cs, " ")
	}
	return out
}

// TestDiagnosticsMatchCheck compares the diagnostics of each root with those of `concerto check`.
func TestDiagnosticsMatchCheck(t *testing.T) {
	dirs, err := filepath.Glob("../../../examples/*/main.conc")
	if err != nil || len(dirs) < 8 {
		t.Fatal(dirs, err)
	}
	broken := writeTree(t, `
-- Concerto.toml --
[project]
entry = "src/main.conc"
[hosts.w]
timeout = "x"
-- src/main.conc --
mod util;
mod gone;
use util::add;
fn main() { let a: Int = true; add(1); x.
}
-- src/util.conc --
pub fn add(a: Int, b: Int) -> Int { let c = 1; a + }
`)
	roots := []string{filepath.Join(broken, "Concerto.toml")}
	for _, d := range dirs {
		dir, err := filepath.Abs(filepath.Dir(d))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "main.conc")
		if _, err := os.Stat(filepath.Join(dir, "Concerto.toml")); err == nil {
			path = filepath.Join(dir, "Concerto.toml")
		}
		roots = append(roots, path)
	}
	for _, root := range roots {
		path, dir := root, filepath.Dir(root)
		if isManifest(path) {
			path = dir
		}
		in, err := driver.Load(driver.Request{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		checked := driver.Check(in)
		s := New(Options{Folders: []string{dir}}).Snapshot()
		files := map[string]bool{}
		want := map[string][]*diag.Diagnostic{}
		for _, d := range checked.Sorted() {
			want[filepath.FromSlash(d.File.Name)] = append(want[filepath.FromSlash(d.File.Name)], d)
		}
		for _, r := range s.roots() {
			if r.path == root {
				files = r.files
				files[root] = true
			}
		}
		got := diagnosticRows(t, s)
		for p := range files {
			if d := cmp.Diff(rows(t, want[p]), got[p]); d != "" {
				t.Errorf("diagnostics of %s differ from those of a check: %s", p, d)
			}
			delete(want, p)
		}
		for p := range want {
			t.Errorf("%s belongs to no root", p)
		}
	}
}

const project = `
-- a/Concerto.toml --
[project]
entry = "src/main.conc"
-- a/src/main.conc --
mod util;
fn main() { util::f(); }
-- a/src/util.conc --
mod deep;
pub fn f() { let x: Int = true; emit("x", x); }
-- a/src/util/deep.conc --
fn g() -> Int { nil }
-- a/tools/own.conc --
fn main() { let y = 1; }
-- a/nested/Concerto.toml --
[project]
entry = "gone.conc"
-- b/lone.conc --
mod part;
fn main() { part::h(1); }
-- b/part.conc --
pub fn h() { }
-- b/round.conc --
mod round2;
fn main() { }
-- b/round2.conc --
mod round;
`

// TestRoots checks that the diagnostics of every program are reported once and in the right files.
func TestRoots(t *testing.T) {
	dir := writeTree(t, project)
	ws := New(Options{Folders: []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}})
	want := map[string]string{
		"a/Concerto.toml": "", "a/src/main.conc": "", "a/src/util.conc": "E0301", "a/src/util/deep.conc": "E0301",
		"a/tools/own.conc": "W0220", "a/nested/Concerto.toml": "E0803",
		"b/lone.conc": "E0401", "b/part.conc": "", "b/round.conc": "", "b/round2.conc": "E0227",
	}
	got := codes(t, ws.Snapshot(), dir)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestEdits checks that diagnostics disappear after a fix, a revert, a rename or a removal of the
// file.
func TestEdits(t *testing.T) {
	dir := writeTree(t, project)
	ws := New(Options{Folders: []string{dir}})
	util, main := filepath.Join(dir, "a/src/util.conc"), filepath.Join(dir, "a/src/main.conc")
	expect := func(path, want string) {
		t.Helper()
		rel, _ := filepath.Rel(dir, path)
		if got, ok := codes(t, ws.Snapshot(), dir)[filepath.ToSlash(rel)]; got != want || !ok && want != "" {
			t.Errorf("codes of %s = %q, want %q", path, got, want)
		}
	}
	n := ws.Snapshot().Number()
	expect(util, "E0301")
	ws.Open(util, "mod deep;\npub fn f() { }")
	expect(util, "")
	ws.Change(util, "mod deep;\npub fn g() { }")
	expect(main, "E0203")
	if s := ws.Snapshot(); s.Number() <= n || s.File(util).String() != "mod deep;\npub fn g() { }" {
		t.Error(s.Number(), s.File(util))
	}
	ws.Close(util)
	expect(util, "E0301")
	expect(main, "")
	if ws.Change(util, "") {
		t.Error("Change of a document that is not open returned true")
	}
	if err := os.Remove(util); err != nil {
		t.Fatal(err)
	}
	ws.FilesChanged(util)
	if _, ok := codes(t, ws.Snapshot(), dir)["a/src/util.conc"]; ok {
		t.Error("a removed file has diagnostics")
	}
	expect(main, "E0227")
	if err := os.WriteFile(util, []byte("pub fn f() { }"), 0o600); err != nil {
		t.Fatal(err)
	}
	ws.FilesChanged(util)
	expect(main, "")
	expect(filepath.Join(dir, "a/src/util/deep.conc"), "E0301") // the file is now a separate program
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	ws.FilesChanged(filepath.Join(dir, "b"))
	if all := ws.Snapshot().Files(); len(all) != 6 {
		t.Error(all)
	}
	ws.SetFolders()
	if all := ws.Snapshot().Files(); len(all) != 0 {
		t.Error(all)
	}
}

// TestUnsaved checks two kinds of unsaved documents. A document that is no file is checked alone. A
// file that is not on the disk yet is checked with the other files of its program.
func TestUnsaved(t *testing.T) {
	dir := writeTree(t, project)
	ws := New(Options{})
	ws.Open("untitled:Untitled-1", "mod lone; fn main() { let x: Int = true; emit(\"x\", x); }")
	fresh := filepath.Join(dir, "b/fresh.conc")
	ws.Open(fresh, "mod part; fn main() { part::h(1); }")
	want := map[string]string{"untitled:Untitled-1": "E0227 E0301", "b/fresh.conc": "E0401"}
	if d := cmp.Diff(want, codes(t, ws.Snapshot(), dir)); d != "" {
		t.Error(d)
	}
	ws.Close("untitled:Untitled-1")
	ws.Close(fresh)
	if d := cmp.Diff(map[string]string{}, codes(t, ws.Snapshot(), dir)); d != "" {
		t.Error(d)
	}
}

// TestLinks opens a module through a symbolic link. The real path identifies the module, but its
// diagnostics have the path by which it was opened.
func TestLinks(t *testing.T) {
	dir := writeTree(t, project)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "a"), link); err != nil {
		t.Skip(err)
	}
	ws := New(Options{Folders: []string{filepath.Join(dir, "a")}})
	opened := filepath.Join(link, "src/util.conc")
	ws.Open(opened, "pub fn f() { g(); }")
	s := ws.Snapshot()
	ds, err := s.DiagnosticsOf(context.Background(), opened)
	if err != nil || len(ds) != 1 || s.PathOf(ds[0].File) != opened {
		t.Fatal(ds, err)
	}
	got := codes(t, s, dir)
	if got["link/src/util.conc"] == "" || got["a/src/util.conc"] != "" {
		t.Error(got)
	}
}

// TestCancel cancels a check whose result is not needed. The check runs again when its result is
// needed.
func TestCancel(t *testing.T) {
	dir := writeTree(t, project)
	s := New(Options{Folders: []string{dir}}).Snapshot()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Diagnostics(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	counting := &countedContext{Context: context.Background(), left: 3}
	if _, err := s.Diagnostics(counting); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := codes(t, s, dir); got["a/src/util.conc"] != "E0301" {
		t.Error(got)
	}
}

// countedContext is cancelled after left calls of Err.
type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestUnaffectedProgramsAreNotRechecked edits a file. Programs that do not contain the file are not
// checked again, and unchanged files are not parsed again.
func TestUnaffectedProgramsAreNotRechecked(t *testing.T) {
	dir := writeTree(t, project)
	ws := New(Options{Folders: []string{dir}})
	lone, util := filepath.Join(dir, "b/lone.conc"), filepath.Join(dir, "a/src/util.conc")
	codes(t, ws.Snapshot(), dir)
	first, tree := ws.results.slots[lone].last, ws.Snapshot().tree(lone)
	ws.Open(util, "pub fn f() { }")
	codes(t, ws.Snapshot(), dir)
	ws.FilesChanged(lone) // the file is unchanged
	codes(t, ws.Snapshot(), dir)
	if ws.results.slots[lone].last != first || ws.Snapshot().tree(lone) != tree {
		t.Error("a program was checked again for an edit elsewhere")
	}
	ws.Open(filepath.Join(dir, "b/part.conc"), "pub fn h(x: Int) { emit(\"x\", x); }")
	codes(t, ws.Snapshot(), dir)
	if ws.results.slots[lone].last == first || ws.Snapshot().tree(lone) != tree {
		t.Error("an edit of a module: the program was not checked again, or its unchanged entry was parsed again")
	}
}
