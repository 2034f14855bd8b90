package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// libraries lists for each third-party module the only packages that may import it. A path that
// ends in /... includes all packages below it.
var libraries = []struct{ path, by string }{
	{"github.com/alecthomas/participle/v2", "parser"},
	{"github.com/BurntSushi/toml", "internal/text/tomlkeys"}, // which checks what the library does not
	{"github.com/creack/pty", "relay/ptyholder"},
	{"rsc.io/qr", "internal/relaycli/console"},
	{"github.com/google/go-dap", "internal/editor/dap"},
	{"github.com/google/go-dap", "internal/cli"}, // only in tests of the package
	{"go.yaml.in/yaml/v4", "internal/compile/manifest"},
	{"go.yaml.in/yaml/v4", "internal/text/yamlcore"},
	{"go.yaml.in/yaml/v4", "stdlib/formats"},
	{"github.com/BurntSushi/toml", "stdlib/formats"},
	{"github.com/BurntSushi/toml", "internal/agents/guard/setup"},
	{"github.com/spf13/cobra", "internal/cli/..."},
	{"github.com/spf13/cobra", "internal/term/cmdline/..."},
	{"github.com/spf13/cobra", "internal/relaycli/..."},
	{"github.com/spf13/pflag", "internal/relaycli/..."},
	{"github.com/spf13/pflag", "internal/cli/..."},
	{"github.com/spf13/pflag", "internal/term/cmdline/..."},
	{"github.com/modelcontextprotocol/go-sdk", "runtime/mcp"},
	{"golang.org/x/oauth2", "runtime/mcp"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/agents"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/testkit/testmcp"},
	{"github.com/google/go-cmp", "internal/testkit/golden"},
	{"github.com/google/go-cmp", "internal/testkit/evalresult"},
	{"github.com/rogpeppe/go-internal", "internal/testkit/golden"},
	{"github.com/rogpeppe/go-internal/diff", "internal/compile/repair"},
	{"github.com/rogpeppe/go-internal/diff", "internal/data/hostmsg/request"},
	{"github.com/rogpeppe/go-internal/txtar", "internal/editor/refactor/gen"},
	{"github.com/rogpeppe/go-internal/diff", "relay/hostd/rpc"},
	{"github.com/rogpeppe/go-internal/diff", "internal/cli/hosts/guards"},
	{"github.com/tailscale/hujson", "internal/agents/guard/setup"},
	{"github.com/ncruces/go-sqlite3", "runtime/world/sqlitestore"},
	{"github.com/ncruces/go-sqlite3", "bench/sqlite"}, // for the comparison of SQLite packages
	{"github.com/ncruces/go-sqlite3", "relay/store/sqlite"},
	{"github.com/ncruces/go-sqlite3", "internal/sim"}, // statements pass the gate
	{"github.com/ncruces/go-sqlite3", "relay/hostd/spool"},
	{"github.com/ncruces/go-sqlite3", "relay/sqliteintegrity"},
	{"github.com/ncruces/go-sqlite3", "internal/testkit/powercut"},
	{"github.com/ncruces/go-sqlite3", "internal/sim/simdisk"},
	{"github.com/jackc/pgx", "relay/store/postgres"},
	{"github.com/jackc/pgx", "internal/record/journal/postgres"},
	{"github.com/jackc/pgx", "bench/engine"},
	{"github.com/nats-io/nats.go", "relay/nats"},
	{"github.com/nats-io/nats-server/v2", "tools/relay/nats/natstest"},
	{"github.com/google/go-cmp", "relay/store/storetest"},
	{"github.com/google/go-cmp", "internal/record/journal/journaltest"},
	{"pgregory.net/rapid", "internal/record/journal/journaltest"},
	{"golang.org/x/crypto/argon2", "relay/server/auth"},
	{"github.com/landlock-lsm/go-landlock", "internal/process/sandbox/inside"},
	{"github.com/coder/websocket", "internal/cli/serve"},
	{"github.com/coder/websocket", "internal/cli/serve/servetest"},
	{"github.com/coder/websocket", "internal/sim"},                // only in tests of the package
	{"github.com/coder/websocket", "internal/testkit/faultproxy"}, // only in tests of the package
	{"github.com/coder/websocket", "tools/relay/relaytest"},       // only in tests of the package
	{"github.com/coder/websocket", "bench/relay"},
	{"github.com/coder/websocket", "relay/hostd/link"},
	{"github.com/coder/websocket", "internal/relaycli/connect"},
	{"github.com/coder/websocket", "relay/server"},
	{"github.com/coder/websocket", "relay/server/servertest"},
	{"github.com/andybalholm/brotli", "tools/web/gen"},
	{"github.com/andybalholm/brotli", "tools/playground"},
	{"github.com/klauspost/compress", "tools/playground"},
	{"github.com/klauspost/compress", "tools/web/gen"}, // compresses by one percent more than Go's package
	{"github.com/evanw/esbuild", "tools/web/build"},
	{"github.com/evanw/esbuild", "tools/site"},
	{"github.com/yuin/goldmark", "tools/site"},
	{"github.com/chromedp", "tools/browser"},
	{"golang.org/x/term", "internal/cli"},
	{"golang.org/x/term", "internal/relaycli/console"},
	{"golang.org/x/sys", "internal/process/procgroup"},
	{"golang.org/x/sys", "internal/process/lockfile"},
	{"golang.org/x/sys", "internal/process/userfile"},
	{"golang.org/x/sys", "internal/process/confine"},
	{"golang.org/x/sys", "internal/cli/project/doctor"},
	{"golang.org/x/sys", "internal/cli/console"},
	{"golang.org/x/sys", "internal/process/sandbox/inside"},
	{"golang.org/x/sys", "internal/testkit/testproc"},
	{"golang.org/x/sys", "runtime/keeper/ring"},
	{"golang.org/x/text", "internal/term/terminal"},
	{"golang.org/x/text", "internal/compile/graph"},
	{"golang.org/x/text", "internal/compile/pkg/tree"},
}

// pure lists the packages that must not access the outside: all packages below the runtime.
var pure = strings.Fields(`internal/text/source internal/data/value internal/data/hostmsg internal/compile/types internal/compile/diag lexer ast parser internal/compile/manifest sema ir codegen internal/compile/optimize internal/data/schema internal/data/effect internal/data/memstore vm stdlib internal/compile/format internal/text/suggest internal/text/foreign internal/text/ndjson internal/record/hosttrace internal/text/jsonrepair internal/text/jsonschema`)

// worldly lists the packages of the standard library that access the outside.
var worldly = strings.Fields(`os os/exec os/signal os/user net net/http net/rpc syscall math/rand math/rand/v2 crypto/rand
	time plugin log log/slog database/sql testing`)

// exceptions lists pure packages that import a worldly package, with the reason why the import is
// no access to the outside.
var exceptions = []struct{ pkg, imports, reason string }{
	{"internal/compile/manifest", "time", "TOML's dates are time.Time values"},
	{"internal/data/effect", "time", "what an instant is, in RFC 3339"},
	{"internal/text/jsonschema", "time", "what a date is"},
	{"vm", "time", "how long a cancelled exchange may take to close, as the deadline of a context"},
}

// ambient lists functions of otherwise pure packages that read the clock or the file system.
var ambient = map[string][]string{
	"time":          {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
}

// packageFiles parses the files of every package of the module and of tools, without tests.
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
		if d.IsDir() && p != "." && p != toolsFolder && isModule(filepath.Join(root, filepath.FromSlash(p))) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, filepath.Join(root, filepath.FromSlash(p)), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out[path.Dir(p)] = append(out[path.Dir(p)], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// isModule reports whether a directory is a separate module.
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

// TestImports compares every import within the module with the policy and vice versa. Each package
// has one row in the policy and uses every import that its row allows.
func TestImports(t *testing.T) {
	randtest.InOneGoroutine(t)
	imports := moduleImports(t)
	above := map[string]bool{}
	for _, r := range Policy {
		if above[r.Package] {
			t.Errorf("the policy contains two rows for the package %q", r.Package)
		}
		uses, exists := imports[r.Package]
		if !exists {
			t.Errorf("the policy lists %q, which is not a package", r.Package)
		}
		for _, p := range strings.Fields(r.Imports) {
			if !above[p] {
				t.Errorf("the policy allows %q to import %q, which is not listed before it", r.Package, p)
			}
			if !uses[p] {
				t.Errorf("the policy allows %q to import %q, but the package does not import it", r.Package, p)
			}
			if below, own := LayerOf(p), LayerOf(r.Package); below > own {
				t.Errorf("package %q imports %q: the layer %q is above the layer %q", r.Package, p, layerName(below), Layers[own].Name)
			}
		}
		for p := range uses {
			if !r.Allows(p) {
				t.Errorf("package %q imports %q: the policy does not allow it", r.Package, p)
			}
		}
		above[r.Package] = true
	}
	for pkg := range imports {
		if !above[pkg] {
			t.Errorf("package %q is not in the policy: add a row with its allowed imports", pkg)
		}
	}
}

func layerName(i int) string {
	if i == len(Layers) {
		return "programs and tests"
	}
	return Layers[i].Name
}

// moduleImports returns the packages of the module that each package imports.
func moduleImports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	for pkg, files := range packageFiles(t) {
		uses := map[string]bool{}
		for _, f := range files {
			for _, p := range imported(f) {
				if own, ok := strings.CutPrefix(p, Module); ok {
					uses[path.Clean(strings.TrimPrefix(own, "/"))] = true
				}
			}
		}
		out[pkg] = uses
	}
	return out
}

// TestLibraries checks that only the listed packages import each third-party module.
func TestLibraries(t *testing.T) {
	randtest.InOneGoroutine(t)
	for pkg, files := range packageFiles(t) {
		for _, f := range files {
			for _, p := range imported(f) {
				if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") || strings.HasPrefix(p, Module) {
					continue
				}
				if !slices.ContainsFunc(libraries, func(l struct{ path, by string }) bool {
					above, all := strings.CutSuffix(l.by, "/...")
					return (above == pkg || all && strings.HasPrefix(pkg, above+"/")) && (p == l.path || strings.HasPrefix(p, l.path+"/"))
				}) {
					t.Errorf("package %q imports %s: only the packages listed in libraries may import it", pkg, p)
				}
			}
		}
	}
}

// TestPure checks that no package below the runtime accesses the outside.
func TestPure(t *testing.T) {
	randtest.InOneGoroutine(t)
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
					t.Errorf("package %q imports %s: the package must not access the outside", pkg, p)
				}
				used[i] = true
			}
			for _, name := range ambientUses(f) {
				t.Errorf("package %q uses %s: the package must not access the outside", pkg, name)
			}
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			t.Errorf("the exception of %s for %s is no longer needed", e.imports, e.pkg)
		}
	}
}

// ambientUses returns the ambient functions that a file uses.
func ambientUses(f *ast.File) []string {
	names := map[string]string{} // import paths by local name
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

// TestPackageComments checks that every package has a package comment.
func TestPackageComments(t *testing.T) {
	randtest.InOneGoroutine(t)
	for pkg, files := range packageFiles(t) {
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc != nil && len(f.Doc.Text()) > 40 }) {
			t.Errorf("package %q has no package comment", pkg)
		}
	}
}

// maxBytes is the maximum size of a file. Every clone contains a committed file forever. Test data,
// unmodified third-party files and lists that npm writes are exempt.
const maxBytes = 100 << 10

// TestFileSizes checks that no file is larger than maxBytes.
func TestFileSizes(t *testing.T) {
	randtest.InOneGoroutine(t)
	root := filepath.Join("..", "..")
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(files) < 100 {
		t.Fatalf("only %d files are tracked", len(files))
	}
	for _, name := range files {
		if strings.Contains("/"+name, "/testdata/") || strings.HasPrefix(name, "web/vendor/") || strings.HasPrefix(name, "tools/browser/axe/") || filepath.Base(name) == "package-lock.json" {
			continue
		}
		info, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			continue // the file is deleted, but the deletion is not committed
		}
		if info.Size() > maxBytes {
			t.Errorf("%s has %d bytes; the maximum outside of testdata is %d", name, info.Size(), maxBytes)
		}
	}
}
