package analysis

import (
	"context"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// checkedFile is a file as one root sees it.
type checkedFile struct {
	s    *Snapshot
	res  *result
	path string // real
	text *text
	tree *ast.File
	info *sema.Info // nil if the root does not contain the file
}

// checkFile checks the root of a file, or nil if there is no such program.
func (s *Snapshot) checkFile(ctx context.Context, path string) *checkedFile {
	path = s.realPath(path)
	t, err := s.text(path)
	r := s.rootOf(path)
	if err != nil || r == nil || isManifest(path) {
		return nil
	}
	res, err := s.check(ctx, r)
	if err != nil {
		return nil
	}
	tree, _ := t.parse()
	return &checkedFile{s: s, res: res, path: path, text: t, tree: tree, info: res.info(t.file)}
}

// refs returns the names of a file.
func (f *checkedFile) refs() []sema.Ref {
	if f.info == nil {
		return nil
	}
	return f.res.refs(f.info)
}

// info has the tables of one of a program's files, or nil if it has none of that text.
func (r *result) info(f *source.File) *sema.Info {
	i := r.infos[f]
	if i == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prog.Complete(i)
	return i
}

// refs returns the names of one of a program's files.
func (r *result) refs(i *sema.Info) []sema.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[*sema.Info][]sema.Ref{}
	}
	if _, ok := r.names[i]; !ok {
		r.names[i] = r.prog.Refs(i)
	}
	return r.names[i]
}

// refsWithSpelling returns the names of a file, except those in declarations whose text contains no
// spelling.
func (r *result) refsWithSpelling(i *sema.Info, s *spelling) []sema.Ref {
	if !s.mayAppearIn(i.File.Source.Text) {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if names, ok := r.names[i]; ok {
		return names
	}
	return r.prog.RefsIn(i, s.mayAppearIn)
}

// refsAt returns the names that contain the place or end there: two if one word names both a field
// and a variable.
func (f *checkedFile) refsAt(pos source.Pos) []sema.Ref {
	all := f.refs()
	i, _ := slices.BinarySearchFunc(all, pos, func(r sema.Ref, p source.Pos) int {
		if r.At.End < p {
			return -1
		}
		return 1
	})
	var found []sema.Ref
	for ; i < len(all) && all[i].At.Start <= pos; i++ {
		if all[i].At.End < pos {
			continue
		}
		if len(found) > 0 && found[0].At != all[i].At {
			if found[0].At.End > pos {
				break
			}
			found = found[:0] // `a` in `a.b` ends where no name begins: the one that begins counts
		}
		found = append(found, all[i])
	}
	return found
}

// identity identifies a declaration across several checks of a text.
type identity struct {
	file string
	at   source.Pos
	name string
	kind sema.DefKind
}

func identityOf(d *sema.Def) identity {
	switch {
	case d.Info == nil:
		return identity{name: d.Name, kind: d.Kind}
	case d.Info.Library && d.File == nil: // parts of its files are texts of their own
		return identity{file: d.Info.File.Source.Name, name: d.Owner + "." + d.Name}
	}
	id := identity{file: d.Info.File.Source.Name, at: d.At.Start, name: d.Name}
	if d.File != nil {
		id.name = ""
	}
	return id
}

// path returns the innermost node around a place, with all nodes around it, outermost first.
func (f *checkedFile) nodesAt(pos source.Pos) []ast.Node { return nodesAt(f.tree, pos) }

func nodesAt(tree *ast.File, pos source.Pos) []ast.Node {
	var found []ast.Node
	ast.InspectFile(tree, func(n ast.Node) bool {
		s := n.Span()
		if s.Start > pos || pos > s.End {
			return false
		}
		for len(found) > 0 && !found[len(found)-1].Span().Contains(s) {
			found = found[:len(found)-1]
		}
		found = append(found, n)
		return true
	})
	return found
}

// clamp returns a place within a text.
func clamp(f *source.File, pos source.Pos) source.Pos {
	return max(0, min(pos, source.Pos(len(f.Text))))
}
