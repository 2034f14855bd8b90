package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// bannedWords maps words that names must not contain to their replacements. A function name
// consists of a verb and a noun. A past participle is not a function name.
var bannedWords = map[string]string{
	"told": "notified, reported", "tell": "notify, report, send", "tells": "notifies, reports", "telling": "notifying",
	"heard": "received", "hear": "receive", "hears": "receives", "hearing": "receiving",
	"said": "message, text, output", "say": "print, report, send", "says": "prints, reports", "saying": "printing",
	"looked": "checked, read", "anew": "again", "besides": "a named part", "leavings": "abandoned",
	"whom": "the role", "nobody": "no handler, no client", "behind": "after, rest", "meanwhile": "concurrently",
	"stray": "out-of-exchange message", "strays": "out-of-exchange messages", "strayed": "diverged",
	"errand": "request", "errands": "requests", "fate": "outcome", "fates": "outcomes", "deed": "action", "deeds": "actions",
	"tray": "queue", "trays": "queues", "gives": "returns", "stands": "is", "mistake": "error", "mistakes": "errors",
}

// bannedFunctionWords maps words that names of functions and types must not contain to their
// replacements.
var bannedFunctionWords = map[string]string{
	"kept": "stored, retained", "gone": "exited, closed, removed, absent", "given": "value, argument, answer",
	"taken": "claimed, used", "takes": "accepts, reads", "looks": "checks, reads", "again": "retry, repeat, recover",
}

// nameExceptions lists the declared names that may contain a banned word, by file and name.
var nameExceptions = map[string]string{
	"internal/data/effect/table.go: ClassTold": "the name of the class in journals",
}

// nameWords matches the words of a name in mixed caps.
var nameWords = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// TestNames reports declared names that contain a banned word.
func TestNames(t *testing.T) {
	randtest.InOneGoroutine(t)
	used := map[string]bool{}
	for _, file := range textFiles(t) {
		if filepath.Ext(file) != ".go" {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range declaredNames(f) {
			for _, word := range nameWords.FindAllString(name.Name, -1) {
				instead := bannedWords[strings.ToLower(word)]
				if instead == "" && name.isFunction {
					instead = bannedFunctionWords[strings.ToLower(word)]
				}
				if e := file + ": " + name.Name; instead != "" && nameExceptions[e] != "" {
					used[e] = true
				} else if instead != "" {
					t.Errorf("%s:%d: the name %s contains %q: write %s", file, fset.Position(name.Pos()).Line, name.Name, word, instead)
				}
			}
		}
	}
	for e := range nameExceptions {
		if !used[e] {
			t.Errorf("nameExceptions: %q is no longer needed", e)
		}
	}
}

// declaredName is a name at its declaration.
type declaredName struct {
	*ast.Ident
	isFunction bool // the name of a function or a type
}

// declaredNames returns the names of types, functions, variables, parameters and fields that a file
// declares.
func declaredNames(f *ast.File) (names []declaredName) {
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if name, ok := e.(*ast.Ident); ok {
				names = append(names, declaredName{name, false})
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, declaredName{n.Name, true})
		case *ast.TypeSpec:
			names = append(names, declaredName{n.Name, true})
		case *ast.ValueSpec:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				add(name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return names
}

// maxColumns is the maximum length of a line in a comment or a document. A tab counts as four
// columns.
const maxColumns = 100

// TestLineLength reports lines that are longer than maxColumns in comments of Go files and in prose
// of Markdown files. Tables, code, HTML, and lines with a URL are exempt.
func TestLineLength(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, file := range textFiles(t) {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range longLines(file, string(data)) {
			t.Errorf("%s:%d: the line has more than %d columns", file, line, maxColumns)
		}
	}
}

// longLines returns the numbers of the lines of text that are too long.
func longLines(file, data string) (long []int) {
	prose := func(string) bool { return false }
	inFence := false
	switch filepath.Ext(file) {
	case ".go":
		prose = func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), "// ")
		}
	case ".md":
		prose = func(line string) bool {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inFence = !inFence
			}
			return !inFence && !strings.HasPrefix(strings.TrimSpace(line), "|")
		}
	}
	if generated.MatchString(data) || generatedPage.MatchString(data) {
		return nil
	}
	n := 0
	for line := range strings.Lines(data) {
		n++
		columns := utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    "))
		exempt := strings.HasPrefix(line, "<") || strings.HasPrefix(line, "`") || strings.Contains(line, "://") || strings.Contains(line, "](")
		if prose(line) && columns > maxColumns && !exempt {
			long = append(long, n)
		}
	}
	return long
}

// generatedPage matches the note in a document which states that a program writes the document.
// Such a document has one line for each paragraph.
var generatedPage = regexp.MustCompile(`(?m); do not edit -->$|^This page is generated from the library's source\.$`)

// TestLongLines checks which lines longLines reports.
func TestLongLines(t *testing.T) {
	words := strings.Repeat("word ", 25)
	for _, test := range []struct{ file, text, want string }{
		{"a.go", "package a\n\n// " + words + "\n", "[3]"},
		{"a.go", "package a\n\nvar a = `" + words + "`\n", "[]"},
		{"a.go", "package a\n\n// See https://example.com/" + words + "\n", "[]"},
		{"a.md", words + "\n\n```sh\n" + words + "\n```\n\n| " + words + " |\n", "[1]"},
		{"a.py", "# " + words + "\n", "[]"},
	} {
		if got := fmt.Sprint(longLines(test.file, test.text)); got != test.want {
			t.Errorf("%s: %q has long lines %s, expected %s", test.file, test.text, got, test.want)
		}
	}
}
