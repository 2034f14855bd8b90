package driver

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/ir"
)

// manyModules returns a project of nested modules, in both kinds of files and inline. It has enough
// functions that verification splits them into parts. Some modules also contain the text broken.
func manyModules(broken string) string {
	var b strings.Builder
	b.WriteString("-- Concerto.toml --\n[project]\nentry = \"src/main.conc\"\n")
	var write func(file, dir string, depth int)
	write = func(file, dir string, depth int) {
		fmt.Fprintf(&b, "-- %s --\n", file)
		var below []string
		if depth < 3 {
			below = []string{"left", "right"}
			b.WriteString("mod left;\nmod right;\nmod within { pub mod deep; pub fn n() -> Int { deep::value() } }\n")
		}
		fmt.Fprintf(&b, "pub fn value() -> Int { let unread = %d; [1, %d].map(|x| x * 2).len() }\n", len(file), depth)
		if len(dir)%3 == 0 {
			b.WriteString(broken)
		}
		for i, name := range below {
			if i == 0 {
				write(path.Join(dir, name+".conc"), path.Join(dir, name), depth+1)
			} else {
				write(path.Join(dir, name, "mod.conc"), path.Join(dir, name), depth+1)
			}
		}
		if depth < 3 {
			write(path.Join(dir, "within", "deep.conc"), path.Join(dir, "within", "deep"), 3)
		}
	}
	write("src/main.conc", "src", 0)
	return strings.Replace(b.String(), "-- src/main.conc --\n", "-- src/main.conc --\nfn main() { emit(\"n\", value() + left::value() + within::n()); }\n", 1)
}

// TestAnyNumberOfProcessors compiles a program of many files with several numbers of processors.
// The IR and the diagnostics must always be the same.
func TestAnyNumberOfProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, broken := range map[string]string{
		"right":  "",
		"syntax": "fn broken( { }\nlet x = ;\n",
		"types":  "pub fn wrong() -> Int { \"no\" + missing }\nmod gone;\n",
	} {
		dir := tree(t, manyModules(broken))
		var first string
		for _, processors := range []int{1, 2, 3, 8, 2, 8} {
			runtime.GOMAXPROCS(processors)
			in, err := Load(Request{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			p, found := Build(in)
			if (p == nil) != (broken != "") {
				t.Fatalf("diagnostics of %s = %v", name, found.Sorted())
			}
			var b strings.Builder
			if err := diag.Text(&b, found.Sorted(), diag.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if p != nil {
				b.Write(ir.Encode(p))
			}
			if first == "" {
				first = b.String()
			}
			if d := cmp.Diff(first, b.String()); d != "" {
				t.Fatalf("the result of %s differs with %d processors:\n%s", name, processors, d)
			}
		}
		if n := strings.Count(first, "W0220"); broken == "" && n < 10 {
			t.Errorf("found %d warnings W0220, want at least 10, in\n%s", n, first)
		}
	}
}
