package driver

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// tree writes the files of an archive into a new directory and returns its path.
func tree(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if err := txtar.Write(txtar.Parse([]byte(archive)), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

const project = `
-- proj/Concerto.toml --
[project]
name = "demo"
entry = "src/main.conc"
-- proj/src/main.conc --
fn main() {}
-- proj/src/deep/other.conc --
fn main() { }
-- plain/main.conc --
fn main() {  }
-- plain/notes.txt --
x
-- bare/readme.md --
x
-- bare/main.conc-ir --
{}
`

func TestLoad(t *testing.T) {
	dir := tree(t, project)
	for _, c := range []struct {
		path, dir              string // dir is relative to the tree's root
		entry, name, root, man string // man is the manifest's path, or "" for no manifest
	}{
		{"", "proj/src/deep", "../main.conc", "src/main.conc", "proj", "../../Concerto.toml"},
		{"", "proj", "src/main.conc", "src/main.conc", "proj", "Concerto.toml"},
		{"proj", ".", "proj/src/main.conc", "src/main.conc", "proj", "proj/Concerto.toml"},
		{".", "proj", "src/main.conc", "src/main.conc", "proj", "Concerto.toml"},
		{"src/deep/other.conc", "proj", "src/deep/other.conc", "src/deep/other.conc", "proj", "Concerto.toml"},
		{"./proj/src/main.conc", ".", "proj/src/main.conc", "src/main.conc", "proj", "proj/Concerto.toml"},
		{"../plain/main.conc", "proj", "../plain/main.conc", "main.conc", "plain", ""},
		{"ABS/plain/main.conc", "proj", "ABS/plain/main.conc", "main.conc", "plain", ""},
	} {
		abs := func(s string) string { return strings.Replace(s, "ABS", filepath.ToSlash(dir), 1) }
		in, err := Load(Request{Path: abs(c.path), Dir: filepath.Join(dir, c.dir)})
		if err != nil {
			t.Errorf("Load(%q) in %s: %v", c.path, c.dir, err)
			continue
		}
		man := ""
		if in.Manifest != nil {
			man = in.Manifest.File.Name
		}
		got := []string{in.Entry.Name, in.EntryName, in.Root, man}
		want := []string{abs(c.entry), c.name, filepath.Join(dir, c.root), c.man}
		if strings.Join(got, "|") != strings.Join(want, "|") || in.Diagnostics.Len() != 0 {
			t.Errorf("Load(%q) in %s: got %q, want %q", c.path, c.dir, got, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := tree(t, project)
	for _, c := range []struct{ path, dir, message, hint string }{
		{"", "bare", "no Concerto.toml in this directory or its parents", "pass a file, such as `concerto run main.conc`, or a directory with a Concerto.toml"},
		{"nowhere.conc", ".", "nowhere.conc: no such file or directory", "check the path, which is relative to the working directory"},
		{"plain/mian.conc", ".", "plain/mian.conc: no such file or directory", "did you mean plain/main.conc?"},
		{"plain/none/x.conc", ".", "plain/none/x.conc: no such file or directory", "check the path, which is relative to the working directory"},
		{"plian", ".", "plian: no such file or directory", "did you mean plain?"},
		{"plain", ".", "plain: the directory has no Concerto.toml", "pass the file: plain/main.conc"},
		{"bare", ".", "bare: the directory has no Concerto.toml", "pass a file in it, or create a Concerto.toml with [project]"},
		{"plain/notes.txt", ".", "plain/notes.txt: not a Concerto program", "the name of a program ends with .conc"},
		{"bare/main.conc-ir", ".", "bare/main.conc-ir: not a Concerto program", "the name of a program ends with .conc"},
	} {
		_, err := Load(Request{Path: c.path, Dir: filepath.Join(dir, c.dir)})
		var pe *PathError
		if !errors.As(err, &pe) || err.Error() != c.message || pe.Hint != c.hint {
			t.Errorf("Load(%q): error = %v with the PathError %+v, want the message %q and the hint %q", c.path, err, pe, c.message, c.hint)
		}
	}
}

func TestLoadReportsErrors(t *testing.T) {
	for archive, want := range map[string]string{
		"-- Concerto.toml --\n[project]\nentry = \"gone.conc\"\n":                                                                      "Concerto.toml:2:9: E0803 the entry file `gone.conc` does not exist",
		"-- Concerto.toml --\n[project]\nname = \"x\"\n":                                                                               "Concerto.toml:1:1: E0803 the entry file `main.conc` does not exist",
		"-- Concerto.toml --\n[project\n":                                                                                              "Concerto.toml:1:9: E0801 expected `]` after the name of the table, found '\\n'",
		"-- main.conc --\n-- Concerto.toml --\n[connections.c]\nprovider = \"scripted\"\nscript = \"r.json\"\n":                        "Concerto.toml:3:10: E0803 could not read script `r.json`: no such file or directory",
		"-- main.conc --\n-- s/r.json --\n[{]\n-- Concerto.toml --\n[connections.c]\nprovider = \"scripted\"\nscript = \"s/r.json\"\n": "s/r.json:1:3: E0801 the script is not JSON: invalid character ']'",
	} {
		dir := tree(t, archive)
		in, err := Load(Request{Dir: dir})
		if err != nil {
			t.Errorf("Load of the archive %s: %v", archive, err)
			continue
		}
		var got []string
		for _, d := range in.Diagnostics.Sorted() {
			got = append(got, fmt.Sprintf("%s:%s: %s %s", d.File.Name, d.File.Position(d.Span.Start), d.Info.Code, d.Message))
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("diagnostics = %q, want %q", got, want)
		}
	}
}

func TestScripts(t *testing.T) {
	dir := tree(t, "-- main.conc --\n-- replies/a.toml --\n[[replies]]\ntext = \"x\"\n-- Concerto.toml --\n[connections.c]\nprovider = \"scripted\"\nscript = \"replies/a.toml\"\n[connections.d]\nprovider = \"openai\"\n")
	in, err := Load(Request{Dir: dir})
	if err != nil || in.Diagnostics.Len() != 0 {
		t.Fatal(err, in.Diagnostics.Sorted())
	}
	if got := string(in.Scripts["c"]); got != `[{"text":"x"}]` || len(in.Scripts) != 1 {
		t.Errorf("scripts = %s, want only c with one reply", in.Scripts)
	}
	f, err := in.Read("replies/a.toml")
	if err != nil || f.Name != "replies/a.toml" {
		t.Error(f, err)
	}
	if _, err := in.Read("no.conc"); err == nil || err.Error() != "read no.conc: no such file or directory" {
		t.Error(err)
	}
}
