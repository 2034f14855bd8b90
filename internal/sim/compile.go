package sim

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/engine"
)

// compileText compiles a program.
func compileText(t *testing.T, text, manifest string) *engine.Program {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "main.conc"), []byte(text), 0o600), os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(manifest), 0o600)); err != nil {
		t.Fatal(err)
	}
	p, found, err := engine.Compile("main.conc", dir)
	if err != nil || p == nil {
		for _, d := range found.Sorted() {
			t.Errorf("line %d: %s", d.File.Position(d.Span.Start).Line, d.Message)
		}
		t.Fatalf("cannot compile: %v\n%s", err, text)
	}
	return p
}
