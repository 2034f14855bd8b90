package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// programOfLines returns a correct program of n lines. All declared names begin with prefix.
func programOfLines(prefix string, n int) string {
	var b strings.Builder
	for i := 0; strings.Count(b.String(), "\n") < n; i++ {
		fmt.Fprintf(&b, `struct %[1]s%[2]d { a: Int, b: String }
pub fn f%[2]d(k: Int) -> Int {
    let s = %[1]s%[2]d { a: k, b: "x" };
    let mut total = 0;
    for x in [1, 2, 3] {
        if x > k { total += x * s.a; } else { total -= s.b.len(); }
    }
    let ys = [1, 2].map(|y| y + total);
    ys.len() + total
}
`, prefix, i)
	}
	return b.String()
}

// writeModules writes a project of n modules, each of about 100 lines, and returns its folder.
func writeModules(tb testing.TB, n int) string {
	tb.Helper()
	dir := tb.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	var main strings.Builder
	for i := range n {
		fmt.Fprintf(&main, "mod m%d;\n", i)
		write(fmt.Sprintf("m%d.conc", i), programOfLines("S", 100)+"pub fn g() -> Int { common::used(1) }\n")
	}
	main.WriteString("mod common;\n")
	write("common.conc", "pub fn used(k: Int) -> Int { k }\n")
	main.WriteString("fn main() {\n")
	for i := range n {
		fmt.Fprintf(&main, "    emit(\"a\", m%d::f0(1));\n", i)
	}
	write("main.conc", main.String()+"}\n")
	return dir
}

// BenchmarkKeystroke measures the work from a keystroke to the diagnostics, in a file of 2,000
// lines and in one module of a project of 1,000 modules with 100 lines each.
func BenchmarkKeystroke(b *testing.B) {
	for _, c := range []struct {
		name string
		dir  func() string
		file string
		text string
	}{
		{"2000-lines", func() string { return b.TempDir() }, "main.conc", programOfLines("S", 1990) + "fn main() { emit(\"a\", f0(1)); }\n"},
		{"1000-modules", func() string { return writeModules(b, 1000) }, "m7.conc", programOfLines("S", 100)},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := c.dir()
			path := filepath.Join(dir, c.file)
			ws := New(Options{Folders: []string{dir}})
			ws.Open(path, c.text)
			check := func() {
				if ds, err := ws.Snapshot().DiagnosticsOf(context.Background(), path); err != nil || c.file == "main.conc" && len(ds) > 0 {
					b.Fatal(len(ds), err)
				}
			}
			check()
			for i := 0; b.Loop(); i++ {
				ws.Change(path, c.text+strings.Repeat(" ", 1+i%7))
				check()
			}
		})
	}
}

// BenchmarkFirstCheck measures the work to the first diagnostics of a project of 1,000 modules with
// 100 lines each.
func BenchmarkFirstCheck(b *testing.B) {
	dir := writeModules(b, 1000)
	for b.Loop() {
		if _, err := New(Options{Folders: []string{dir}}).Snapshot().Diagnostics(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReload measures the work of `check --watch` after the user saves an edit of a function
// body in one of 1,000 modules.
func BenchmarkReload(b *testing.B) {
	dir := writeModules(b, 1000)
	text := programOfLines("S", 100) + "pub fn g() -> Int { common::used(1) }\n"
	var a LoadCache
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(filepath.Join(dir, "m7.conc"), []byte(text+strings.Repeat(" ", i%7)), 0o600); err != nil {
			b.Fatal(err)
		}
		in, err := driver.Load(a.Request(driver.Request{Path: "main.conc", Dir: dir}))
		if err != nil {
			b.Fatal(err)
		}
		if found := driver.Check(in); found.Len() > 0 {
			b.Fatal(found.Sorted()[0])
		}
		if i == 0 {
			b.ResetTimer() // the first load checks the whole program
		}
	}
}

// BenchmarkFullCheck measures a check of the same program that reuses no results of an earlier
// check.
func BenchmarkFullCheck(b *testing.B) {
	dir := writeModules(b, 1000)
	for b.Loop() {
		in, err := driver.Load(driver.Request{Path: "main.conc", Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		driver.Check(in)
	}
}

// BenchmarkCompletion measures the work from a keystroke to the list of completions in a file of
// 2,000 lines.
func BenchmarkCompletion(b *testing.B) {
	path := filepath.Join(b.TempDir(), "main.conc")
	ws := New(Options{})
	text := programOfLines("S", 2000) + "fn main() { let s = S0 { a: 1, b: \"x\" }; s."
	ws.Open(path, text)
	for i := 0; b.Loop(); i++ {
		ws.Change(path, text+strings.Repeat(" ", i%7)+"}\n")
		if c := ws.Snapshot().Completion(context.Background(), path, source.Pos(len(text))); len(c.Items) < 2 {
			b.Fatal(c)
		}
	}
}

// BenchmarkRename measures the rename of a name that is used in each of 1,000 modules.
func BenchmarkRename(b *testing.B) {
	dir := writeModules(b, 1000)
	path := filepath.Join(dir, "common.conc")
	s := New(Options{Folders: []string{dir}}).Snapshot()
	at := strings.Index(s.File(path).String(), "used")
	for b.Loop() {
		if r, err := s.Rename(context.Background(), path, source.Pos(at), "renamed"); err != nil || len(r.Edits) < 1001 {
			b.Fatal(r, err)
		}
	}
}
