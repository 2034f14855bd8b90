package codegen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/ir"
)

// FuzzGenerate compiles every text that the checker accepts. Generation must not panic. The program
// must pass the verifier and must not change when it is encoded and decoded, both before and after
// optimisation.
func FuzzGenerate(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "main.conc" {
				f.Add(string(file.Data))
			}
		}
	}
	f.Add("fn f() -> Int { return 1; listen w.execute(\"x\") {}; 2 }\nhost w { connector: worker }\n")
	everywhere, err := optimize.Parse("-hot")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, _ := compiletest.Source(text)
		if p == nil {
			return
		}
		if err := ir.Verify(p); err != nil {
			t.Fatal(err)
		}
		decoded, err := ir.Decode(ir.Encode(p))
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(decoded); err != nil {
			t.Fatal(err)
		}
		optimize.Program(decoded, everywhere)
		if err := ir.Verify(decoded); err != nil {
			t.Fatal(err)
		}
	})
}
