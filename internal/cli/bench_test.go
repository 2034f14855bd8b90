package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// BenchmarkRun measures a run of a one-line program, without starting a process.
func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(`fn main() { emit("x", 1); }`), 0o666); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if code := run([]string{"run", "main.conc"}, &console.Console{Stdout: io.Discard, Stderr: io.Discard, Dir: dir}); code != 0 {
			b.Fatal(code)
		}
	}
}
