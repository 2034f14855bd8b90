package arch

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// Maximum and minimum sizes of folders, packages and types.
const (
	maxPackages = 14 // number of packages in a folder
	maxFiles    = 45 // number of files in a package, without tests
	minLines    = 60 // number of lines in a package
	maxMethods  = 60 // number of methods of a type
)

// crowded lists the folders ("name/"), packages and types ("name()") that exceed a limit, with
// their present sizes. The sizes may only be reduced.
var crowded = map[string]int{
	"internal/editor/analysis.Snapshot()":  73,
	"internal/editor/analysis.completer()": 87,
	"internal/testkit/program.gen()":       89,
	"internal/testkit/program.modeller()":  71,
	"relay/server.Server()":                69,
	"relay/store.Store()":                  106,
	"sema":                                 52,
	"vm":                                   59,
	"vm.VM()":                              89,
	"vm.task()":                            158,
}

// small lists the packages that have fewer than minLines lines, with the reason for each.
var small = map[string]string{
	"web/lexemes":               "a program: it writes the lexemes that the page's highlighter uses",
	"cmd/concerto":              "a program: it calls internal/cli",
	"cmd/concerto-relay":        "a program: it calls internal/relaycli",
	"sdk":                       "embeds the SDKs' files, which are beside it",
	"internal/text/fileuri":     "used by the language server and the debugger, for any system",
	"internal/text/hexsum":      "used by seventeen packages from the data to the commands",
	"internal/data/intmath":     "used by the VM, the checker and the library, which share nothing else below them",
	"relay/ancestry":            "used by the daemon's socket and by the process that holds a terminal",
	"internal/process/parallel": "used by the compiler and the editors' analysis",
	"internal/process/cputime":  "used by tests and by profiles",
	"relay/store/postgres":      "links its driver only into programs that want it",
	"relay/hostlog":             "used by the daemon and by its installer",

	"internal/record/journal/localowner": "reads the machine and the process, which package journal and its stores do not access",
}

// TestFolders checks the sizes of folders, packages and types.
func TestFolders(t *testing.T) {
	randtest.InOneGoroutine(t)
	used := map[string]bool{}
	check := func(what string, n, most int, kind string) {
		if n > most {
			used[what] = true
			if n > crowded[what] {
				t.Errorf("%s has %d %s; the maximum is %d", what, n, kind, max(most, crowded[what]))
			} else if n < crowded[what] {
				t.Errorf("%s has only %d %s now: reduce its number in `crowded`", what, n, kind)
			}
		}
	}
	folders := map[string]int{}
	all := packageFiles(t)
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		files := all[pkg]
		if above := path.Dir(pkg); above != "." && LayerOf(pkg) < len(Layers) { // the root directory contains the folders of all layers
			folders[above+"/"]++
		}
		check(pkg, len(files), maxFiles, "files")
		methods := map[string]int{}
		for _, f := range files {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
					methods[typeName(d.Recv.List[0].Type)]++
				}
			}
		}
		for name, n := range methods {
			if visitors := LayerOf(pkg); visitors < len(Layers) && Layers[visitors].Name == "language" {
				continue // a visitor has one method for each kind of node
			}
			check(pkg+"."+name+"()", n, maxMethods, "methods")
		}
	}
	for folder, n := range folders {
		check(folder, n, maxPackages, "packages")
	}
	for what := range crowded {
		if !used[what] {
			t.Errorf("%s is no longer crowded: remove it from the list", what)
		}
	}
}

// typeName returns the name of a type of the package, or of the type that a pointer points to.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// TestSmallPackages requires a reason for each very small package.
func TestSmallPackages(t *testing.T) {
	randtest.InOneGoroutine(t)
	lines := map[string]int{}
	for name, text := range goFiles(t) {
		if !strings.HasSuffix(name, "_test.go") {
			lines[path.Dir(name)] += strings.Count(string(text), "\n")
		}
	}
	for pkg, n := range lines {
		if LayerOf(pkg) == len(Layers) || strings.HasSuffix(pkg, "/gen") {
			continue
		}
		if reason := small[pkg]; n < minLines && reason == "" {
			t.Errorf("package %q has %d lines: merge it into another package, or add the reason to `small`", pkg, n)
		} else if n >= minLines && reason != "" {
			t.Errorf("package %q has %d lines: remove it from `small`", pkg, n)
		}
	}
}
