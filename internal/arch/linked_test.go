package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// namedImporters is the maximum number of importers that a list names for a package.
const namedImporters = 3

// keepsMethods contains the packages of the standard library that the module may not use in its
// programs, because they call methods whose names are not known when the program is linked.
var keepsMethods = []string{"text/template", "html/template"}

// TestLinked compares the packages that each program links on Linux with
// testdata/linked/PROGRAM.txt. The difference of this file in a change shows which packages the
// change adds to the program.
//
// A line contains a package and its importers. Packages of the standard library come last and have
// no importers. Only those that the module imports directly are listed, because the others differ
// between versions of Go. `go test ./internal/arch -run TestLinked -update` rewrites the files.
func TestLinked(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, program := range []string{"concerto", "concerto-relay"} {
		got, file := linkedList(t, program), filepath.Join("testdata", "linked", program+".txt")
		for _, pkg := range keepsMethods {
			if slices.Contains(strings.Split(got, "\n"), pkg) {
				t.Errorf("cmd/%s uses %s, which calls methods by name. The linker then includes every exported method of every type: 3 MB of concerto", program, pkg)
			}
		}
		if golden.Updating() {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("cmd/%s links other packages than %s lists (-want +got). If this is intended, rewrite the file with -update:\n%s", program, file, diff)
		}
	}
}

// optional contains what a Go application links only if it imports a package of its own.
var optional = []string{"github.com/modelcontextprotocol/", "github.com/jackc/", "github.com/nats-io/", "github.com/spf13/"}

// TestEmbedding checks that package concerto links nothing that is optional for applications.
func TestEmbedding(t *testing.T) {
	randtest.InOneGoroutine(t)
	list := exec.Command("go", "list", "-deps", ".")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if slices.ContainsFunc(optional, func(path string) bool { return strings.HasPrefix(pkg, path) }) {
			t.Errorf("package concerto links %s", pkg)
		}
	}
}

// linkedList returns the list for a program.
func linkedList(t *testing.T, program string) string {
	t.Helper()
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Standard", "./cmd/"+program)
	list.Dir = "../.."
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOWORK=off") // use only the versions of go.mod
	out, err := list.StdoutPipe()
	if err == nil {
		err = list.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	importers, library := map[string][]string{}, map[string]bool{}
	for d := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Standard {
			continue
		}
		if _, ok := importers[p.ImportPath]; !ok {
			importers[p.ImportPath] = nil
		}
		for _, i := range p.Imports {
			switch first, _, _ := strings.Cut(i, "/"); {
			case strings.Contains(first, "."):
				importers[i] = append(importers[i], p.ImportPath)
			case strings.HasPrefix(p.ImportPath, Module):
				library[i] = true
			}
		}
	}
	if err := list.Wait(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(importers)) {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-60s %s", shortPath(pkg), importersText(importers[pkg])), " "))
	}
	for _, pkg := range slices.Sorted(maps.Keys(library)) {
		fmt.Fprintln(&b, pkg)
	}
	return b.String()
}

// importersText returns the first importers of a package, in order.
func importersText(importers []string) string {
	if len(importers) == 0 {
		return ""
	}
	slices.Sort(importers)
	names := "from"
	for _, i := range importers[:min(len(importers), namedImporters)] {
		names += " " + shortPath(i)
	}
	if more := len(importers) - namedImporters; more > 0 {
		names += fmt.Sprintf(" +%d", more)
	}
	return names
}

// shortPath returns the path below the module for a package of the module, and the full path for
// any other.
func shortPath(pkg string) string {
	if pkg == Module {
		return "."
	}
	return strings.TrimPrefix(pkg, Module+"/")
}
