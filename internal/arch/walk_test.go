package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

var (
	// reference matches a reference to a file, or to a declaration in a file: `sema/stmt.go:let`.
	reference = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.(?:go|conc|js))(?::([A-Za-z0-9_]+))?`")
	// folder matches a reference to a package or another folder: `internal/text/source`.
	folder = regexp.MustCompile("`((?:cmd|docs|examples|internal|parser|relay|runtime|sdk|sema|spec|stdlib|tools|vm|web)/[a-zA-Z0-9_/-]+)`")
	// testName matches a reference to a test with its package, such as `runtime/tool:TestGrants`,
	// or to a test script of the commands.
	testName = regexp.MustCompile("`(?:([a-z][a-z0-9/-]*:Test[A-Z]\\w*)|(\\w+\\.txtar))`")
	// bareTest matches the name of a test without its package.
	bareTest = regexp.MustCompile("`(Test[A-Z]\\w*)`")
)

// guides returns the texts of the documents for newcomers by path: ARCHITECTURE.md, the decisions,
// the pages of docs/adding, and the guides in the same folder.
func guides(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	decisions, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	if err != nil || len(decisions) < 50 {
		t.Fatalf("found %d files in docs/decisions (%v), want 50 or more", len(decisions), err)
	}
	adding, err := filepath.Glob(filepath.Join(root, "docs", "adding", "*.md"))
	if err != nil || len(adding) < 13 {
		t.Fatalf("found %d files in docs/adding (%v), want 13 or more", len(adding), err)
	}
	out := map[string]string{}
	for _, file := range append(slices.Concat(decisions, adding), filepath.Join(root, "ARCHITECTURE.md"), filepath.Join(root, "CONTRIBUTING.md"),
		filepath.Join(root, "docs", "threat-model.md"), filepath.Join(root, "docs", "annoyances.md"), filepath.Join(root, "docs", "walks.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.ToSlash(name)] = string(text)
	}
	return out
}

// TestGuides checks the references in the guides for newcomers: each file and folder exists, and
// each file declares the names that a guide refers to.
func TestGuides(t *testing.T) {
	randtest.InOneGoroutine(t)
	root := filepath.Join("..", "..")
	named := 0
	for guide, text := range guides(t) {
		for _, m := range folder.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "NAME") {
				continue // a placeholder for a folder that the reader creates
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", guide, m[1])
			}
		}
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			file, name := m[1], m[2]
			if strings.Contains(file, "NAME") || !strings.Contains(file, "/") && name == "" {
				continue // the reader creates the file, or the sentence implies the file's folder
			}
			source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			if err != nil {
				t.Errorf("%s names %s, which does not exist", guide, file)
				continue
			}
			if name == "" {
				continue
			}
			named++
			if !declares(t, file, source, name) {
				t.Errorf("%s names %s, which %s does not declare", guide, name, file)
			}
		}
	}
	if named < 15 {
		t.Errorf("found only %d references; their form may have changed", named)
	}
}

// TestGuidesNameTests checks that the tests and scripts that guides refer to exist.
func TestGuidesNameTests(t *testing.T) {
	exists := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for name, source := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, m := range declared.FindAllSubmatch(source, -1) {
				exists[string(m[1])] = true
				exists[path.Dir(name)+":"+string(m[1])] = true
			}
		}
	}
	scripts, err := filepath.Glob(filepath.Join("..", "..", "*", "*", "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		exists[filepath.Base(script)] = true
	}
	for guide, text := range guides(t) {
		names := testName.FindAllStringSubmatch(text, -1)
		for _, m := range bareTest.FindAllStringSubmatch(text, -1) {
			names = append(names, []string{m[0], m[1], ""})
		}
		for _, m := range names {
			if name := m[1] + m[2]; !exists[name] && name != "listen_question_answered.txtar" {
				t.Errorf("%s names %s, which does not exist", guide, name)
			}
		}
	}
}

// TestDecisionsAreListed compares the index of the decisions with the files: each is listed once,
// in order, with its title.
func TestDecisionsAreListed(t *testing.T) {
	all := guides(t)
	var want []string
	title := regexp.MustCompile(`^# (\d+)\. (.+)\n`)
	for file, text := range all {
		name := path.Base(file)
		if path.Dir(file) != "docs/decisions" || name == "README.md" || name == "seeds.md" { // seeds.md is a list of small ones
			continue
		}
		m := title.FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s does not begin with its number and title", file)
			continue
		}
		if n, err := strconv.Atoi(m[1]); err != nil || !strings.HasPrefix(name, fmt.Sprintf("%03d-", n)) {
			t.Errorf("the title of %s has the number %s, which differs from that of the file name", file, m[1])
		}
		want = append(want, fmt.Sprintf("- [%s. %s](%s)", m[1], m[2], name))
	}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[strings.Index(a, "]("):], b[strings.Index(b, "]("):]) })
	var got []string
	for line := range strings.Lines(all["docs/decisions/README.md"]) {
		if strings.HasPrefix(line, "- ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/decisions/README.md should list:\n%s", strings.Join(want, "\n"))
	}
}

// TestArchitectureIsShort limits the length of ARCHITECTURE.md.
func TestArchitectureIsShort(t *testing.T) {
	if n := len(strings.Fields(guides(t)["ARCHITECTURE.md"])); n > 2500 {
		t.Errorf("ARCHITECTURE.md has %d words; the maximum is 2,500: move reasons to docs/decisions", n)
	}
}

// declares reports whether a source file declares a name at its top level: a function, a method of
// any type, a type or a value.
func declares(t *testing.T, name string, source []byte, want string) bool {
	t.Helper()
	if strings.HasSuffix(name, ".conc") {
		return regexp.MustCompile(`\b(fn|struct|enum|trait) ` + want + `\b`).Match(source)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == want {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == want {
						return true
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.Name == want {
							return true
						}
					}
				}
			}
		}
	}
	return false
}
