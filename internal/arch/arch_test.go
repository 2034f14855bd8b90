package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/concerto-lang/concerto"

// policy says, lowest first, what of ours each package may import
// (ARCHITECTURE.md). A package imports only what stands above it here. DO NOT
// CHANGE IT TO MAKE A BUILD PASS: an import that is missing here is one to do
// without, or a decision to write down.
var policy = []rule{
	{"source", ""},
	{"value", ""},
	{"types", ""},
	{"internal/spell", ""},
	{"internal/foreign", ""},
	{"internal/parallel", ""},
	{"internal/ndjson", ""},
	{"internal/secret", ""},
	{"internal/terminal", ""},
	{"internal/procgroup", ""},
	{"internal/cputime", ""},
	{"internal/growth", "internal/cputime"}, // only tests
	{"internal/jsonrepair", ""},
	{"internal/golden", ""},  // only tests
	{"internal/arch", ""},    // only its test
	{"internal/progen", ""},  // only tests
	{"internal/seeds", ""},   // only tests
	{"internal/talkgen", ""}, // only tests
	{"internal/testhost", ""},
	{"internal/testllm", ""},
	{"internal/testmcp", ""},
	{"diag", "source internal/spell"},
	{"lexer", "source diag"},
	{"ast", "source"},
	{"parser", "source diag lexer ast internal/spell internal/foreign"},
	{"manifest", "source diag internal/foreign internal/secret internal/spell"},
	{"sema", "source diag ast types internal/spell internal/foreign"},
	{"ir", "source value internal/parallel"},
	{"codegen", "source diag ast types sema ir"},
	{"optimize", "ir"},
	{"schema", "value"},
	{"effect", "value"},
	{"store", "value"},
	{"vm", "value ir effect schema store"},
	{"internal/profile", "vm internal/cputime"},
	{"internal/trace", "effect vm"},
	{"internal/redfa", ""},
	{"stdlib", "source diag ast parser sema value schema store effect vm internal/jsonrepair internal/redfa"},
	{"runtime/permit", "effect"},
	{"runtime/clock", "effect"},
	{"runtime/command", "effect internal/procgroup"},
	{"runtime/emit", "value effect internal/ndjson internal/procgroup internal/terminal"},
	{"runtime/env", "effect internal/secret"},
	{"runtime/fs", "effect runtime/permit"},
	{"runtime/http", "effect"},
	{"runtime/random", "effect"},
	{"runtime/host", "value effect internal/ndjson internal/procgroup"},
	{"runtime/host/hosttest", "value effect runtime/host internal/testhost internal/procgroup"},
	{"runtime/limit", ""},
	{"runtime/llm", "value effect schema internal/secret internal/spell internal/jsonrepair"},
	{"internal/transcript", "effect vm runtime/limit runtime/llm"},
	{"runtime/log", "effect internal/secret"},
	{"runtime/mcp", "effect internal/procgroup internal/spell"},
	{"runtime/mock", "value effect"},
	{"runtime/store", "value effect store"},
	{"runtime", "value effect internal/secret runtime/clock runtime/command runtime/emit runtime/env runtime/fs runtime/http runtime/host runtime/limit runtime/llm runtime/log runtime/mcp runtime/mock runtime/permit runtime/random runtime/store"},
	{"format", "source diag lexer ast parser"},
	{"internal/doc", "manifest stdlib internal/spell"},
	{"internal/driver", "source diag lexer ast parser types manifest sema ir codegen optimize stdlib internal/spell"},
	{"", "source diag ir value effect vm stdlib internal/secret runtime runtime/emit runtime/host runtime/limit runtime/llm runtime/mcp runtime/mock runtime/permit runtime/store internal/driver internal/profile internal/trace internal/transcript"},
	// Programs: they may use what they need of the above.
	{"ir/gen", "ir"},
	{"manifest/gen", "manifest"},
	{"diag/gen", "diag"},
	{"stdlib/gen", "stdlib"},
	{"internal/doc/gen", "internal/doc"},
	{"cmd/concerto", " source diag manifest ir optimize value effect vm format runtime/emit runtime/log runtime/mcp runtime/permit internal/doc internal/driver internal/procgroup internal/secret internal/spell internal/terminal"},
	{"bench", "source internal/cputime parser sema codegen ir optimize stdlib internal/driver"},
	{"bench/caller", ""},
	{"bench/runs", "ir effect vm stdlib internal/driver"},
	{"bench/empty", ""},
	{"bench/host", ""},
	{"bench/inside", " "},
	{"bench/peer", ""},
	{"bench/sqlite", ""},
	{"examples/supervise/host", ""},
}

// rule is a package and the packages of ours that it may import, separated by
// spaces. The module's root is "", which a list names by beginning with a
// space.
type rule struct{ pkg, imports string }

func (r rule) allows(pkg string) bool {
	if pkg == "" {
		return strings.HasPrefix(r.imports, " ")
	}
	return slices.Contains(strings.Fields(r.imports), pkg)
}

// libraries says who alone may import which module of others.
var libraries = []struct{ path, by string }{
	{"github.com/alecthomas/participle/v2", "parser"},
	{"github.com/BurntSushi/toml", "manifest"},
	{"github.com/spf13/cobra", "cmd/concerto"},
	{"github.com/spf13/pflag", "cmd/concerto"},
	{"github.com/santhosh-tekuri/jsonschema/v6", "internal/testllm"},
	{"github.com/modelcontextprotocol/go-sdk", "runtime/mcp"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/testmcp"},
	{"github.com/google/go-cmp", "internal/golden"},
	{"github.com/rogpeppe/go-internal", "internal/golden"},
	{"github.com/ncruces/go-sqlite3", "runtime/store"},
	{"github.com/ncruces/go-sqlite3", "bench/sqlite"}, // beside it
	{"golang.org/x/term", "cmd/concerto"},
	{"golang.org/x/sys", "internal/procgroup"},
}

// pure are the packages that never touch the world: everything that comes
// before the runtime.
var pure = strings.Fields(`source value types diag lexer ast parser manifest sema ir codegen optimize schema effect store vm stdlib
	format internal/spell internal/foreign internal/ndjson internal/jsonrepair internal/redfa`)

// worldly are the packages of Go's library by which a program touches the
// world.
var worldly = strings.Fields(`os os/exec os/signal os/user net net/http net/rpc syscall math/rand math/rand/v2 crypto/rand
	time plugin log log/slog database/sql testing`)

// exceptions say which pure package imports which worldly one, and why that
// touches nothing.
var exceptions = []struct{ pkg, imports, reason string }{
	{"manifest", "time", "TOML's dates are time.Time values"},
	{"vm", "time", "how long a cancelled exchange may take to close, as the deadline of a context"},
}

// ambient are functions of harmless packages that read the clock or the file
// system after all.
var ambient = map[string][]string{
	"time":          {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

// packageFiles parses the files of every package of the module, tests left out.
func packageFiles(t *testing.T) map[string][]*ast.File {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]*ast.File{}
	fset := token.NewFileSet()
	err = fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() && p != "." && isModule(filepath.Join(root, filepath.FromSlash(p))) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, filepath.FromSlash(p)), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := path.Dir(p)
		if pkg == "." {
			pkg = ""
		}
		out[pkg] = append(out[pkg], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isModule says whether a directory is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func imported(f *ast.File) []string {
	var out []string
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			panic(err)
		}
		out = append(out, p)
	}
	return out
}

// TestImports holds every import of ours against the policy, and the policy
// against itself.
func TestImports(t *testing.T) {
	rules := map[string]rule{}
	for _, r := range policy {
		for _, p := range strings.Fields(r.imports) {
			if _, ok := rules[p]; !ok {
				t.Errorf("the policy lets %q import %q, which does not stand above it", r.pkg, p)
			}
		}
		rules[r.pkg] = r
	}
	for pkg, files := range packageFiles(t) {
		r, known := rules[pkg]
		if !known {
			t.Errorf("package %q is not in the policy: say what it may import", pkg)
			continue
		}
		for _, f := range files {
			for _, p := range imported(f) {
				own, isOurs := strings.CutPrefix(p, module)
				own = strings.TrimPrefix(own, "/")
				if isOurs && !r.allows(own) {
					t.Errorf("package %q imports %q: the policy does not allow it", pkg, own)
				}
			}
		}
	}
}

// TestLibraries holds each module of others to the package that hides it.
func TestLibraries(t *testing.T) {
	for pkg, files := range packageFiles(t) {
		for _, f := range files {
			for _, p := range imported(f) {
				if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || strings.HasPrefix(p, module) {
					continue
				}
				if !slices.ContainsFunc(libraries, func(l struct{ path, by string }) bool {
					return l.by == pkg && (p == l.path || strings.HasPrefix(p, l.path+"/"))
				}) {
					t.Errorf("package %q imports %s: only the package that hides it may", pkg, p)
				}
			}
		}
	}
}

// TestPure keeps the world out of everything that precedes the runtime.
func TestPure(t *testing.T) {
	used := map[int]bool{}
	for pkg, files := range packageFiles(t) {
		if !slices.Contains(pure, pkg) {
			continue
		}
		for _, f := range files {
			for _, p := range imported(f) {
				if !slices.Contains(worldly, p) {
					continue
				}
				i := slices.IndexFunc(exceptions, func(e struct{ pkg, imports, reason string }) bool { return e.pkg == pkg && e.imports == p })
				if i < 0 {
					t.Errorf("package %q imports %s: it must not touch the world", pkg, p)
				}
				used[i] = true
			}
			for _, name := range ambientUses(f) {
				t.Errorf("package %q uses %s: it must not touch the world", pkg, name)
			}
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("the exception of %s for %s is no longer needed", e.imports, e.pkg)
		}
	}
}

// ambientUses lists the ambient functions that a file names.
func ambientUses(f *ast.File) []string {
	names := map[string]string{} // as imported: path
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if _, ok := ambient[p]; !ok {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = p
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(ambient[names[x.Name]], s.Sel.Name) {
				out = append(out, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

// TestPackageComments demands that every package says what it is for.
func TestPackageComments(t *testing.T) {
	for pkg, files := range packageFiles(t) {
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc != nil && len(f.Doc.Text()) > 40 }) {
			t.Errorf("package %q has no package comment", pkg)
		}
	}
}
