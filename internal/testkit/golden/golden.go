// Package golden tests a stage with txtar archives, which hold an input and its expected results:
// tokens, trees, assembly, diagnostics. A test fails if a result differs; `go test ./pkg -update`
// rewrites the expected results. Only tests import the package.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expectations in golden files")

// Archive is one txtar file under test: a comment, then named sections. Only one
// test may use it.
type Archive struct {
	t       testing.TB
	path    string
	ar      *txtar.Archive
	changed bool
}

// Run runs f as a subtest for each archive that matches pattern (as in
// filepath.Glob), named after its file. It fails when none matches. Archives
// whose expectations f changed under -update are written back.
func Run(t *testing.T, pattern string, f func(t *testing.T, a *Archive)) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatalf("no archive matches %s", pattern)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(t *testing.T) {
			a := Open(t, path)
			f(t, a)
			a.Close()
		})
	}
}

// Open reads an archive. The caller must call Close.
func Open(t testing.TB, path string) *Archive {
	t.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &Archive{t: t, path: path, ar: ar}
}

// Close writes the archive if -update changed it.
func (a *Archive) Close() {
	a.t.Helper()
	if !a.changed {
		return
	}
	if err := os.WriteFile(a.path, txtar.Format(a.ar), 0o666); err != nil {
		a.t.Fatal(err)
	}
	a.t.Logf("rewrote %s", a.path)
}

// Comment returns the text before the first section.
func (a *Archive) Comment() string { return string(a.ar.Comment) }

// Has reports whether the archive has the section.
func (a *Archive) Has(section string) bool { return a.find(section) != nil }

// Input returns the text of a section. The test fails if the section does not exist.
func (a *Archive) Input(section string) string {
	a.t.Helper()
	f := a.find(section)
	if f == nil {
		a.t.Fatalf("%s has no section %q", a.path, section)
	}
	return string(f.Data)
}

// Sections returns the names of the sections that end in suffix, in order.
func (a *Archive) Sections(suffix string) (names []string) {
	for _, f := range a.ar.Files {
		if strings.HasSuffix(f.Name, suffix) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Check compares got with a section; with -update it writes the section. An empty text needs no
// section.
func (a *Archive) Check(section, got string) {
	a.t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") {
		got += "\n"
	}
	f := a.find(section)
	switch {
	case f == nil && got == "", f != nil && string(f.Data) == got:
		return
	case *update:
		a.set(f, section, got)
		return
	}
	want := ""
	if f != nil {
		want = string(f.Data)
	}
	a.t.Errorf("%s: section %q differs (-want +got); -update rewrites it:\n%s", a.path, section, diff(want, got))
}

// CheckIfPresent is like Check for a section that an archive may omit.
func (a *Archive) CheckIfPresent(section, got string) {
	a.t.Helper()
	if a.Has(section) {
		a.Check(section, got)
	}
}

// set replaces a section, appends a new one, or removes one that is now empty.
func (a *Archive) set(f *txtar.File, section, got string) {
	a.changed = true
	switch {
	case got == "":
		for i := range a.ar.Files {
			if &a.ar.Files[i] == f {
				a.ar.Files = append(a.ar.Files[:i], a.ar.Files[i+1:]...)
				return
			}
		}
	case f != nil:
		f.Data = []byte(got)
	default:
		a.ar.Files = append(a.ar.Files, txtar.File{Name: section, Data: []byte(got)})
	}
}

func (a *Archive) find(section string) *txtar.File {
	for i := range a.ar.Files {
		if a.ar.Files[i].Name == section {
			return &a.ar.Files[i]
		}
	}
	return nil
}

// diff returns the line-by-line difference of two texts.
func diff(want, got string) string {
	return cmp.Diff(lines(want), lines(got))
}

func lines(s string) []string {
	return strings.Split(string(bytes.TrimSuffix([]byte(s), []byte("\n"))), "\n")
}

// Updating reports whether the test must rewrite expectations.
func Updating() bool { return *update }
