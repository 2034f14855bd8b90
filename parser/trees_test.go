package parser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// TestSeedTrees parses the programs of the founding documents and checks the trees. testdata/seeds
// contains an exact copy of each, named after the document and the position in it. TestSeeds
// compiles them.
func TestSeedTrees(t *testing.T) {
	paths, err := filepath.Glob("testdata/seeds/*.conc")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, found := Parse(source.NewFile(name, []byte(asProgram(string(text)))))
			checkTree(t, file)
			if !found.HasErrors() {
				checkIDs(t, file)
			}
		})
	}
}

// asProgram converts a fragment to a program. Paragraphs with declarations stay unchanged, handlers
// become part of a listen, and all other text becomes the body of a function.
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

// checkTree checks that each node of the tree is within its parent, that nodes are in the order of
// the text, and that ids are unique.
func checkTree(t *testing.T, file *ast.File) {
	t.Helper()
	text := len(file.Source.Text)
	seen := make([]bool, file.IDs)
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			s := n.Span()
			if s.Start > s.End || int(s.End) > text {
				t.Errorf("%T has the span %v, but the text has %d bytes", n, s, text)
			}
			if x, ok := n.(interface{ ID() ast.ID }); ok {
				if id := int(x.ID()); id >= len(seen) || seen[id] {
					t.Errorf("%T has the id %d, which is not less than %d or belongs to two nodes", n, id, file.IDs)
				} else {
					seen[id] = true
				}
			}
			at := s.Start
			ast.Children(n, func(c ast.Node) {
				if !s.Contains(c.Span()) {
					t.Errorf("the node %T at %v does not contain its child %T at %v", n, s, c, c.Span())
				}
				if c.Span().Start < at {
					t.Errorf("children of %T at %v are not in the order of the text: %T at %v", n, s, c, c.Span())
				}
				at = c.Span().Start
			})
			return true
		})
	}
}

// checkIDs checks that the nodes of a tree without holes use all ids.
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
		t.Errorf("%d nodes have ids, want %d", n, file.IDs)
	}
}
