package sema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// FuzzCheck checks programs that parse. The checker must not panic. Each diagnostic must have a
// position in the text, a message, and a hint.
func FuzzCheck(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatal("no seed programs", err)
	}
	for _, path := range archives {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(text).Files {
			if filepath.Ext(file.Name) == ".conc" {
				f.Add(string(file.Data))
			}
		}
	}
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools {
			continue
		}
		for _, p := range info.Pairs() {
			f.Add(p.Bad)
			f.Add(p.Good)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		_, list := check("fuzz.conc", src)
		for _, d := range list.Sorted() {
			if d.File == nil || d.Span.Start < 0 || d.Span.Start > d.Span.End || int(d.Span.End) > len(d.File.Text) {
				t.Fatalf("%s %q has no valid position: %v", d.Info.Code, d.Message, d.Span)
			}
			if d.Message == "" || len(d.Hints) == 0 && d.Info.Code > "E0200" {
				t.Fatalf("%s has the message %q and no hint", d.Info.Code, d.Message)
			}
		}
	})
}
