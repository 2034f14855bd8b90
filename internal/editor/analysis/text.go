package analysis

import (
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// text is the content of a file and its syntax tree, which is parsed on first use. Equal contents
// share one *text, so texts are compared by address.
type text struct {
	file *source.File

	once sync.Once
	tree *ast.File
	list diag.List
	mods []modPath
}

func newText(path string, b []byte) *text {
	return &text{file: source.NewFile(shownName(path), b)}
}

// parse returns the syntax tree of a program's text and the syntax errors.
func (t *text) parse() (*ast.File, diag.List) {
	t.once.Do(func() {
		t.tree, t.list = parser.Parse(t.file)
		t.mods = modPaths(nil, t.tree.Decls, nil)
	})
	return t.tree, t.list
}

// modPath is the path of a module that is in a separate file: the names of the enclosing inline
// modules and the module's name.
type modPath []string

// modPaths returns the paths of the modules that decls declare and that are in separate files.
func modPaths(all []modPath, decls []ast.Decl, around modPath) []modPath {
	for _, d := range decls {
		m, ok := d.(*ast.ModDecl)
		if !ok || m.Name == nil || m.Name.Missing() {
			continue
		}
		own := append(around[:len(around):len(around)], m.Name.Name)
		if m.Inline {
			all = modPaths(all, m.Decls, own)
		} else {
			all = append(all, own)
		}
	}
	return all
}
