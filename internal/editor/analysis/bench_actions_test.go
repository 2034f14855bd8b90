package analysis

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/refactor"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// BenchmarkActions measures the code actions on an expression next to an error. One case measures
// all of the work, the other only the search for edits, without the check of their results.
func BenchmarkActions(b *testing.B) {
	all := func(string) bool { return true }
	for _, c := range []struct {
		name, file string
		dir        func() string
	}{
		{"2000-lines", "main.conc", func() string { return b.TempDir() }},
		{"1000-modules", "m7.conc", func() string { return writeModules(b, 1000) }},
	} {
		text := programOfLines("S", 1990) + "fn main() { emit(\"a\", f0(1)); }\n"
		if c.file != "main.conc" {
			text = programOfLines("S", 100) + "pub fn g() -> Int { common::used(1) }\n"
		}
		at := source.Pos(strings.Index(text, "x * s.a"))
		span := source.Span{Start: at, End: at + source.Pos(len("x * s.a"))}
		open := func() (*Workspace, string) {
			dir := c.dir()
			ws := New(Options{Folders: []string{dir}})
			path := filepath.Join(dir, c.file)
			ws.Open(path, text)
			if _, err := ws.Snapshot().Diagnostics(context.Background()); err != nil {
				b.Fatal(err)
			}
			return ws, path
		}
		b.Run(c.name+"/all", func(b *testing.B) {
			ws, path := open()
			for i := 0; b.Loop(); i++ {
				found, err := ws.Snapshot().Actions(context.Background(), path, span, all, false)
				if err != nil || len(found) < 2 {
					b.Fatal(found, err)
				}
			}
		})
		b.Run(c.name+"/mistakes", func(b *testing.B) {
			ws, path := open()
			wrong := strings.Replace(text, "let ys", "let a = 1\n    let b = 2\n    let c = a + b;\n    let ys", 1)
			ws.Change(path, wrong)
			caret := source.Pos(strings.Index(wrong, "let b"))
			for b.Loop() {
				found, err := ws.Snapshot().Actions(context.Background(), path, source.Span{Start: caret, End: caret}, all, false)
				if err != nil || len(found) == 0 {
					b.Fatal(found, err)
				}
			}
		})
		b.Run(c.name+"/edits", func(b *testing.B) {
			ws, path := open()
			f := ws.Snapshot().checkFile(context.Background(), path)
			for b.Loop() {
				in := &refactor.Input{File: f.text.file, Tree: f.tree, Info: f.info, Refs: f.refs, IsPreludeName: f.isPreludeName, At: span}
				for _, a := range refactor.Find(in, all) {
					formatEdits(a.Edits, f.text.file)
				}
			}
		})
	}
}
