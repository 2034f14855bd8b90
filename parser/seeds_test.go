package parser

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// The language's founding documents contain programs and fragments of programs. Each is in
// testdata/seeds as printed there, named after its document and position. All of them parse except
// these.
var refusedDesigns = map[string]string{
	"004_00.conc": "option A, handlers in a block after the call: refused in favour of option D, `listen`",
	"004_01.conc": "option B, handlers as a map of functions: refused in favour of option D",
	"004_02.conc": "option C, host output as a stream to loop over: refused in favour of option D",
}

func TestSeeds(t *testing.T) {
	paths, err := filepath.Glob("testdata/seeds/*.conc")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 20 {
		t.Fatalf("found %d programs only", len(paths))
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			if why, ok := refusedDesigns[name]; ok {
				t.Skip(why)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f := source.NewFile(name, []byte(asProgram(string(text))))
			file, list := Parse(f)
			if list.Len() > 0 {
				t.Errorf("%s\n%s", f.Text, render(list.Sorted()))
			}
			checkTree(t, file)
			checkIDs(t, file)
		})
	}
}

// The copies are the same as in the documents, if those are available.
func TestSeedCopies(t *testing.T) {
	docs, err := filepath.Glob("../../shared/seeds/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		t.Skip("the documents are not here")
	}
	fence := regexp.MustCompile("(?s)```concerto\n(.*?)```")
	n := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range fence.FindAllSubmatch(text, -1) {
			n++
			name := fmt.Sprintf("%s_%02d.conc", filepath.Base(doc)[:3], i)
			copied, err := os.ReadFile(filepath.Join("testdata/seeds", name))
			if err != nil || string(copied) != string(m[1]) {
				t.Errorf("testdata/seeds/%s is not program %d of %s: %v", name, i, filepath.Base(doc), err)
			}
		}
	}
	if copies, _ := filepath.Glob("testdata/seeds/*.conc"); len(copies) != n {
		t.Errorf("%d copies of %d programs", len(copies), n)
	}
}

// asProgram converts a fragment to a program: paragraphs with declarations stay as they are,
// handlers are put into a listen, and everything else into a function.
func asProgram(text string) string {
	var decls, stmts, handlers []string
	for _, part := range paragraphs(text) {
		switch toks, _, _ := lexer.Lex(source.NewFile("", []byte(part))); {
		case toks[0].Kind == lexer.EOF || startsDecl[toks[0].Kind] || toks[0].Kind == lexer.At:
			decls = append(decls, part)
		case strings.HasPrefix(part, "on "):
			handlers = append(handlers, part)
		default:
			stmts = append(stmts, part)
		}
	}
	if len(handlers) > 0 {
		stmts = append(stmts, "listen ClaudeCode.execute(\"…\") {\n"+strings.Join(handlers, "\n\n")+"\n}")
	}
	if len(stmts) > 0 {
		decls = append(decls, "fn fragment() {\n"+strings.Join(stmts, "\n\n")+"\n}")
	}
	return strings.Join(decls, "\n\n")
}

// paragraphs splits a text at blank lines outside all brackets.
func paragraphs(text string) (parts []string) {
	f := source.NewFile("", []byte(text))
	toks, _, _ := lexer.Lex(f)
	depth, start := 0, 0
	for i, t := range toks[:len(toks)-1] {
		if isOpening(t.Kind) {
			depth++
		} else if isClosing(t.Kind) {
			depth--
		}
		next := int(toks[i+1].Start)
		if gap := strings.Index(text[t.End:next], "\n\n"); depth == 0 && gap >= 0 {
			parts = append(parts, strings.TrimSpace(text[start:int(t.End)+gap]))
			start = int(t.End) + gap
		}
	}
	return append(parts, strings.TrimSpace(text[start:]))
}

// checkTree checks every tree: nodes are within their parents and in the order of the text, and ids
// are unique.
func checkTree(t *testing.T, file *ast.File) {
	t.Helper()
	text := len(file.Source.Text)
	seen := make([]bool, file.IDs)
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			s := n.Span()
			if s.Start > s.End || int(s.End) > text {
				t.Errorf("%T has the span %v of %d bytes", n, s, text)
			}
			if x, ok := n.(interface{ ID() ast.ID }); ok {
				if id := int(x.ID()); id >= len(seen) || seen[id] {
					t.Errorf("%T has the id %d, beyond %d or used before", n, id, file.IDs)
				} else {
					seen[id] = true
				}
			}
			at := s.Start
			ast.Children(n, func(c ast.Node) {
				if !s.Contains(c.Span()) {
					t.Errorf("%T %v holds %T %v", n, s, c, c.Span())
				}
				if c.Span().Start < at {
					t.Errorf("%T %v: %T %v comes too late", n, s, c, c.Span())
				}
				at = c.Span().Start
			})
			return true
		})
	}
}

// checkIDs checks that a tree without holes uses all its ids.
func checkIDs(t *testing.T, file *ast.File) {
	t.Helper()
	n := 0
	ast.InspectFile(file, func(node ast.Node) bool {
		if _, ok := node.(interface{ ID() ast.ID }); ok {
			n++
		}
		return true
	})
	if n != file.IDs {
		t.Errorf("%d nodes have ids, the file counts %d", n, file.IDs)
	}
}
