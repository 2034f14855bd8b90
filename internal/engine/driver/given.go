package driver

import (
	"path/filepath"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// Inline is a program whose text is passed in memory. Messages show Name as the name of its file.
// If Body is set and the text has no main, the text is the body of main, except that declarations
// before its first statement remain outside main.
type Inline struct {
	Name string
	Text []byte
	Body bool
	// Alone means that no manifest is used.
	Alone bool
	// File, if not nil, is the program; Name and Text are then ignored.
	File *source.File
}

// loadInline loads a program from memory, with the nearest manifest.
func (in *Input) loadInline(g *Inline) error {
	in.Root = in.dir
	if m, ok := manifest.Locate(in.dir, in.exists); ok && !g.Alone {
		if err := in.manifest(m); err != nil {
			return err
		}
	}
	if f := g.File; f != nil {
		in.Entry, in.EntryName = f, f.Name
		in.names[f.Name] = f.Name
		return nil
	}
	text := g.Text
	if g.Body {
		text = withMain(g)
	}
	in.Entry, in.EntryName = source.NewFile(g.Name, text), in.Name(filepath.Join(in.dir, g.Name))
	in.names[g.Name] = in.EntryName
	return nil
}

// withMain wraps the statements of a text without main in a main function. Messages show the
// wrapped text.
func withMain(g *Inline) []byte {
	file, found := parser.Parse(source.NewFile(g.Name, g.Text))
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FnDecl); ok && f.Name != nil && f.Name.Name == "main" {
			return g.Text
		}
	}
	for _, d := range found.Sorted() {
		if d.Info != diag.LooseStatement {
			continue
		}
		at := int(d.Span.Start)
		out := append([]byte{}, g.Text[:at]...)
		out = append(out, "fn main() { "...)
		out = append(out, g.Text[at:]...)
		return append(out, "\n}\n"...)
	}
	return g.Text
}
