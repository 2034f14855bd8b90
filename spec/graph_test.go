package spec_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/compile/graph/graphtest"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/compile/prefix"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// TestGraphs compares the graphs of the programs of the manual and of the examples with
// testdata/graphs, which has a file for each page. It checks each graph against the program's IR,
// and its drawing. -update writes the files.
func TestGraphs(t *testing.T) {
	if randtest.Raced {
		t.Skip("one goroutine compiles and draws")
	}
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	std, err := filepath.Glob("std/*.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, name := range append(pages, std...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parsePage(name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		for n, prog := range p.programs {
			if prog.main == nil || prog.tools || prog.manifest {
				continue
			}
			dir := t.TempDir()
			(&player{T: t, page: p, program: prog, dir: dir}).write()
			if name != "diagnostics.md" {
				noChangingPrefix(t, dir, "main.conc")
			}
			if text := graphOf(t, dir, "main.conc"); text != "" {
				got[goldenName(name)] += fmt.Sprintf("# program %d\n%s\n", n+1, text)
			}
		}
	}
	examples, err := filepath.Glob("../examples/*/main.conc")
	if err != nil || len(examples) == 0 {
		t.Fatal(examples, err)
	}
	nested, err := filepath.Glob("../examples/*/*/main.conc")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(examples, nested...) {
		dir := filepath.Dir(path)
		noChangingPrefix(t, dir, "")
		text := graphOf(t, dir, "")
		if text == "" {
			t.Errorf("%s has no graph", dir)
		}
		got["examples.txt"] += fmt.Sprintf("# %s\n%s\n", strings.TrimPrefix(filepath.ToSlash(dir), "../examples/"), text)
	}
	comparePicture(t)
	const golden = "testdata/graphs"
	if *update {
		if err := os.RemoveAll(golden); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(golden, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range got {
			if err := os.WriteFile(filepath.Join(golden, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := map[string]string{}
	files, err := os.ReadDir(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(golden, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		want[f.Name()] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("graphs (-testdata/graphs, +built; -update writes them):\n%s", diff)
	}
}

// comparePicture compares the picture in README.md with the drawing of its program.
func comparePicture(t *testing.T) {
	t.Helper()
	const picture = "../docs/graph.svg"
	in, err := driver.Load(driver.Request{Dir: "../examples/coder"})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := driver.Build(in)
	g, err := graph.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(picture, []byte(g.SVG()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(picture); err != nil || string(want) != g.SVG() {
		t.Errorf("%s is not the drawing of examples/coder (error %v): -update writes it", picture, err)
	}
}

func goldenName(page string) string {
	return strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "-") + ".txt"
}

// graphOf returns the graph of a program as text, or "" if it does not compile, or if the graph has
// nothing but functions.
func graphOf(t *testing.T, dir, path string) string {
	t.Helper()
	build := func(on optimize.Set) *ir.Program {
		in, err := driver.Load(driver.Request{Path: path, Dir: dir})
		if err != nil {
			t.Fatal(dir, err)
		}
		if in.Entry == nil {
			return nil
		}
		in.Passes = on
		p, _ := driver.Build(in)
		return p
	}
	plain := build(optimize.None)
	if plain == nil {
		return ""
	}
	g, err := graph.Build(plain)
	if err != nil {
		t.Fatal(dir, err)
	}
	optimized, err := graph.Build(build(optimize.All))
	if err != nil {
		t.Fatal(dir, err)
	}
	if diff := cmp.Diff(g, optimized); diff != "" {
		t.Errorf("%s: the optimiser changes the graph:\n%s", dir, diff)
	}
	compareIR(t, plain, g)
	graphtest.Check(t, g)
	if !slices.ContainsFunc(g.Nodes, func(n graph.Node) bool { return n.Kind != "function" }) {
		return ""
	}
	return g.Text()
}

// TestNoChangingPrefix checks the recipes of the cookbook and the templates of `concerto init`;
// TestGraphs does it for the manual and the examples.
func TestNoChangingPrefix(t *testing.T) {
	recipes, err := filepath.Glob("../docs/cookbook/*/main.conc")
	if err != nil || len(recipes) == 0 {
		t.Fatal(recipes, err)
	}
	templates, err := filepath.Glob("../internal/cli/project/templates/*/main.conc")
	if err != nil || len(templates) == 0 {
		t.Fatal(templates, err)
	}
	for _, path := range append(recipes, templates...) {
		dir := filepath.Dir(path)
		if slices.Contains(templates, path) { // the manifest of a template is incomplete
			text, err := os.ReadFile(path)
			dir = t.TempDir()
			if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "main.conc"), text, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if !noChangingPrefix(t, dir, "main.conc") {
			t.Errorf("%s is not checked", path)
		}
	}
}

// noChangingPrefix checks that a program has no warning about requests that begin differently each
// time, even if all its models had a cache. A memory with a maximum is a part of many examples. It
// returns false for a program with errors.
func noChangingPrefix(t *testing.T, dir, path string) bool {
	t.Helper()
	in, err := driver.Load(driver.Request{Path: path, Dir: dir, AnyParty: true})
	if err != nil {
		t.Fatal(dir, err)
	}
	p, found := driver.Analyse(in, nil)
	if p == nil || found.HasErrors() {
		return false
	}
	found = prefix.Check(p, func(*sema.Agent) bool { return true })
	for _, d := range found.Sorted() {
		if d.Info != diag.FullMemory {
			t.Errorf("%s:%d: %s %s", dir, d.File.Position(d.Span.Start).Line, d.Info.Code, d.Message)
		}
	}
	return true
}

// compareIR compares a graph with the tables and the code of a program that is not optimised.
func compareIR(t *testing.T, p *ir.Program, g *graph.Graph) {
	t.Helper()
	named := map[string]bool{}
	for _, n := range g.Nodes {
		named[n.Kind+" "+n.Name] = true
	}
	edges := map[string]bool{}
	handlers := map[string]int{}
	listens := 0
	for _, e := range g.Edges {
		edges[e.To] = true
		switch e.Kind {
		case "listens":
			listens++
		case "message":
			handlers[e.From+" "+e.Type]++
		}
	}
	node := func(file int, kind, name string) {
		if !isLibrary(p, file) && !named[kind+" "+name] {
			t.Errorf("%s: the graph has no %s %s:\n%s", p.Name, kind, name, g.Text())
		}
	}
	for i := range p.Agents {
		node(-1, "agent", p.Agents[i].Name)
	}
	for i := range p.Hosts {
		node(-1, "host", p.Hosts[i].Name)
	}
	inCode, inListens := map[string]int{}, 0
	for i := range p.Functions {
		f := &p.Functions[i]
		if isLibrary(p, f.File) {
			continue
		}
		for _, in := range f.Code {
			switch in.Op {
			case ir.OpLoadAgent:
				if !edges["agent:"+p.Agents[in.Imm].Name] {
					t.Errorf("%s: %s names agent %s, but no edge leads to it", p.Name, f.Name, p.Agents[in.Imm].Name)
				}
			case ir.OpLoadHost:
				if !edges["host:"+p.Hosts[in.Imm].Name] {
					t.Errorf("%s: %s names host %s, but no edge leads to it", p.Name, f.Name, p.Hosts[in.Imm].Name)
				}
			}
		}
		for _, l := range f.Listens {
			inListens++
			from := "host:*"
			if l.Host >= 0 {
				from = "host:" + p.Hosts[l.Host].Name
			}
			for _, h := range l.Handlers {
				if !h.Implicit {
					inCode[from+" "+h.Type]++
				}
			}
		}
	}
	if listens < inListens {
		t.Errorf("%s: the code has %d listens, the graph %d", p.Name, inListens, listens)
	}
	for key, n := range inCode {
		if handlers[key] < n {
			t.Errorf("%s: the code has %d handlers of %s, the graph %d", p.Name, n, key, handlers[key])
		}
	}
}

func isLibrary(p *ir.Program, file int) bool {
	return file >= 0 && strings.HasPrefix(p.Files[file].Name, "std/")
}
