package analysis

import (
	"context"
	"path/filepath"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Link is a range of a document that links to a file or to the explanation of a diagnostic code.
type Link struct {
	Span       source.Span
	Path, Code string // exactly one of the two is set
}

// Links returns the links of a document: modules in separate files, paths in the manifest, and
// codes of diagnostics.
func (s *Snapshot) Links(ctx context.Context, path string) []Link {
	if isManifest(path) {
		return s.manifestLinks(path)
	}
	out := []Link{}
	f := s.checkFile(ctx, path)
	if f == nil {
		return out
	}
	ast.InspectFile(f.tree, func(n ast.Node) bool {
		if m, ok := n.(*ast.ModDecl); ok && !m.Inline && m.Name != nil {
			for _, l := range s.Definition(ctx, path, m.Name.Span().Start) {
				if to := s.PathOf(l.File); to != "" && to != path {
					out = append(out, Link{Span: m.Name.Span(), Path: to})
				}
			}
		}
		return true
	})
	toks, _, _ := lexer.Lex(f.text.file)
	for _, t := range toks {
		at := source.Span{Start: t.Start, End: t.End}
		if code := f.text.file.Slice(at); t.Kind == lexer.Ident && len(code) == 5 && diag.Lookup(code) != nil {
			out = append(out, Link{Span: at, Code: code})
		}
	}
	return out
}

func (s *Snapshot) manifestLinks(path string) []Link {
	out := []Link{}
	file := s.File(path)
	if file == nil {
		return out
	}
	m, _ := manifest.Parse(file)
	if m == nil {
		return out
	}
	add := func(at manifest.Place, to string) {
		if to == "" || at.Value.End <= at.Value.Start {
			return
		}
		if to = filepath.FromSlash(to); !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		if s.textOf(s.realPath(to)) != nil {
			out = append(out, Link{Span: at.Value, Path: to})
		}
	}
	add(m.Project.At["entry"], m.Project.Entry)
	for _, c := range m.Connections {
		add(c.At["script"], c.Script)
	}
	return out
}
