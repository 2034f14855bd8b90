package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/driver/programcache"
	"github.com/concerto-lang/concerto/internal/eval/dataset"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
)

// compiledAs returns all results of compiling and of checking: code, findings, errors, and the
// files that were reported as read.
func compiledAs(r driver.Request) string {
	var b bytes.Buffer
	seen := map[string]bool{}
	r.Seen = func(path string) { seen[path] = true }
	r.Loaded = func(entry, manifest string, _ bool) { fmt.Fprintf(&b, "loaded %s with %q\n", entry, manifest) }
	p, found, err := CompileSource(r)
	fmt.Fprintf(&b, "error: %v\n", err)
	// The second form has the fixes. A buffer accepts everything.
	_ = errors.Join(diag.Text(&b, found.Sorted(), diag.TextOptions{}), diag.JSON(&b, found.Sorted()))
	if p != nil {
		evals, err := p.Evals("")
		fmt.Fprintf(&b, "evals: %s %v\n", cmp.Diff([]Eval(nil), evals, cmp.Exporter(func(reflect.Type) bool { return true })), err)
		fmt.Fprintf(&b, "root %s, manifest %t\n%s\n", p.root, p.manifest != nil, p.Encode())
	}
	r.Data = dataset.Checker(0)
	found, err = CheckWith(context.Background(), r, ToolSources{Dir: r.Dir})
	fmt.Fprintf(&b, "error of the check: %v\n", err)
	_ = diag.JSON(&b, found.Sorted()) // likewise
	files := make([]string, 0, len(seen))
	for path := range seen {
		files = append(files, path)
	}
	slices.Sort(files)
	return b.String() + strings.Join(files, "\n")
}

// isCached reports whether the program of a request is in the cache.
func isCached(t *testing.T, r driver.Request) bool {
	t.Helper()
	key, ok := programcache.Key(r, programcache.Build)
	if !ok {
		t.Fatal("the program has no key")
	}
	_, ok = programcache.Load(r.Programs, key)
	return ok
}

func copied(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestCachedPrograms changes a random file of each example. The results of compiling are the same
// with and without the cache.
func TestCachedPrograms(t *testing.T) {
	mains, err := filepath.Glob("../../examples/*/main.conc")
	if err != nil || len(mains) < 8 {
		t.Fatalf("%d examples, error %v", len(mains), err)
	}
	for i, main := range mains {
		t.Run(filepath.Base(filepath.Dir(main)), func(t *testing.T) {
			t.Parallel()
			dir := copied(t, filepath.Dir(main))
			r := driver.Request{Path: "main.conc", Dir: dir, Programs: filepath.Join(t.TempDir(), "programs")}
			without := r
			without.Programs = ""
			want := compiledAs(without)
			if got := compiledAs(r); got != want {
				t.Fatalf("the first compilation differs (-want +got):\n%s", cmp.Diff(want, got))
			}
			if strings.Contains(want, "\n{\"version\"") && !isCached(t, r) {
				t.Error("the program is not cached")
			}
			if got := compiledAs(r); got != want {
				t.Fatalf("the cached program differs (-want +got):\n%s", cmp.Diff(want, got))
			}
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for step := range 8 {
				what := change(t, dir, random)
				r.Tests, r.Evals, r.Plain, r.Mock = random.IntN(4) == 0, random.IntN(4) == 0, random.IntN(4) == 0, random.IntN(4) == 0
				without := r
				without.Programs = ""
				want := compiledAs(without)
				for _, time := range []string{"after the change", "again"} {
					if got := compiledAs(r); got != want {
						t.Fatalf("step %d, %s, %s (-want +got):\n%s", step, what, time, cmp.Diff(want, got))
					}
				}
			}
		})
	}
}

// change changes a random file below a directory, removes it, or adds one with a name that the
// compiler may try.
func change(t *testing.T, dir string, r *rand.Rand) (what string) {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	path := files[r.IntN(len(files))]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	switch at := r.IntN(len(text) + 1); r.IntN(6) {
	case 0:
		what, text = "removed a byte of", slices.Delete(text, at, min(at+1, len(text)))
	case 1:
		what, text = "added a line to", append(text, "\n"...)
	case 2:
		what, text = "added a declaration to", append(text, fmt.Sprintf("\nfn added_%d() -> Int { %d }\n", r.IntN(100), at)...)
	case 3:
		path = filepath.Join(filepath.Dir(path), []string{"main_test.conc", "Concerto.toml", "lib.conc", "concerto.lock"}[r.IntN(4)])
		what, text = "wrote", []byte("# new\n")
		if filepath.Ext(path) == ".conc" {
			text = []byte("@test\nfn added() { assert(true); }\n")
		}
	case 4:
		what, text = "added a section to", append(text, "\n[limits]\nmax_tokens = 7\n"...)
	case 5:
		if filepath.Base(path) == "main.conc" {
			return "changed nothing of " + path
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return "removed " + path
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return what + " " + path
}

const warned = `fn main() {
    let unused = 1;
    emit("x", 2);
}
`

// TestCachedCode compares all parts of a cached program with those of the compiled one.
func TestCachedCode(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, name := range []string{"eval", "tasks", "tools", "supervise"} {
		for _, with := range []driver.Request{{}, {Tests: true}, {Evals: true}, {Plain: true}} {
			with.Dir, with.Path, with.Mock = copied(t, "../../examples/"+name), ".", true
			want, found, err := CompileSource(with)
			if err != nil || want == nil {
				t.Fatalf("%s: %v, %d errors", name, err, found.Errors())
			}
			with.Programs = filepath.Join(t.TempDir(), "programs")
			compiledAs(with)
			key, _ := programcache.Key(with, programcache.Build)
			got, _, ok := loadCached(with, key)
			if !ok {
				t.Fatalf("%s is not cached", name)
			}
			if diff := cmp.Diff(want.ir, got.ir, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ir.Local{}, "Reserved"), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("%s: the cached code differs (-want +got):\n%s", name, diff)
			}
		}
	}
}

// TestCachedWarnings checks that a cached program repeats its warnings, with their lines and fixes.
func TestCachedWarnings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(warned), 0o644); err != nil {
		t.Fatal(err)
	}
	r := driver.Request{Path: "main.conc", Dir: dir, Programs: filepath.Join(dir, "programs")}
	first := compiledAs(r)
	if !strings.Contains(first, "warning[W") || !strings.Contains(first, "let unused") || !isCached(t, r) {
		t.Fatalf("no cached program with a warning: %s", first)
	}
	if again := compiledAs(r); again != first {
		t.Errorf("the cached program returns:\n%s\nwant:\n%s", again, first)
	}
	r.DenyWarnings = true
	if _, found, err := CompileSource(r); err != nil || !found.HasErrors() {
		t.Errorf("denied warnings: %d errors, error %v", found.Errors(), err)
	}
}

// TestCachedEntries damages the entry of a program in each way. The program is compiled again, and
// stored again where the directory can be written.
func TestCachedEntries(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, dir, entry string) (isMended bool){
		"truncated": func(t *testing.T, _, entry string) bool { return truncate(t, entry, 1000) },
		"empty":     func(t *testing.T, _, entry string) bool { return truncate(t, entry, 0) },
		"1 GB":      func(t *testing.T, _, entry string) bool { return truncate(t, entry, 1<<30) },
		"a changed byte": func(t *testing.T, _, entry string) bool {
			text, err := os.ReadFile(entry)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)-20] ^= 1
			return write(t, entry, text)
		},
		"another program": func(t *testing.T, dir, entry string) bool {
			other := driver.Request{Dir: dir, Inline: &driver.Inline{Name: "other", Text: []byte("fn main() { emit(\"other\", 1); }")}, Programs: filepath.Dir(entry)}
			compiledAs(other)
			key, _ := programcache.Key(other, programcache.Build)
			text, err := os.ReadFile(filepath.Join(other.Programs, key))
			if err != nil {
				t.Fatal(err)
			}
			return write(t, entry, text)
		},
		"a directory": func(t *testing.T, _, entry string) bool {
			return os.Remove(entry) == nil && os.MkdirAll(filepath.Join(entry, "x"), 0o755) != nil
		},
		"no directory": func(t *testing.T, _, entry string) bool { return os.RemoveAll(filepath.Dir(entry)) == nil },
		"a file in place of the directory": func(t *testing.T, _, entry string) bool {
			programs := filepath.Dir(entry)
			if err := os.RemoveAll(programs); err != nil {
				t.Fatal(err)
			}
			write(t, programs, nil)
			return false
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "main.conc"), []byte(warned))
			r := driver.Request{Path: "main.conc", Dir: dir, Programs: filepath.Join(dir, "cache", "programs")}
			want := compiledAs(r)
			key, _ := programcache.Key(r, programcache.Build)
			isMended := damage(t, dir, filepath.Join(r.Programs, key))
			if isCached(t, r) {
				t.Fatal("the damaged entry is used")
			}
			for range 2 {
				if got := compiledAs(r); got != want {
					t.Errorf("the program is:\n%s\nwant:\n%s", got, want)
				}
			}
			if got := isCached(t, r); got != isMended {
				t.Errorf("stored again: %t, want %t", got, isMended)
			}
			if left, _ := filepath.Glob(filepath.Join(r.Programs, ".new-*")); len(left) > 0 {
				t.Errorf("temporary files remain: %v", left)
			}
		})
	}
}

func truncate(t *testing.T, path string, size int64) bool {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	return true
}

func write(t *testing.T, path string, text []byte) bool {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return true
}
