package analysis

import (
	"context"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// checkedFile is a file together with the check result of one root that contains it.
type checkedFile struct {
	s    *Snapshot
	res  *result
	path string // real path
	text *text
	tree *ast.File
	info *sema.Info // nil if the root does not contain the file
}

// checkFile checks the root of a file. It returns nil if the file belongs to no program.
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

// refs returns the names in a file with their declarations.
func (f *checkedFile) refs() []sema.Ref {
	if f.info == nil {
		return nil
	}
	return f.res.refs(f.info)
}

// info returns the tables of a file of the program, or nil if the program does not contain the file
// with that text.
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

// refs returns the names in a file of the program with their declarations.
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

// refsWithSpelling returns the names in a file. It skips the declarations whose text contains none
// of the spellings.
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

// refsAt returns the names that contain pos or end at pos. There are two if one word names both a
// field and a variable.
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
			found = found[:0] // at the `.` of `a.b`, `a` ends and no name begins; a name that begins at pos is preferred
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
	case d.Info.Library && d.File == nil: // a library text that is only a part of a library file
		return identity{file: d.Info.File.Source.Name, name: d.Owner + "." + d.Name}
	}
	id := identity{file: d.Info.File.Source.Name, at: d.At.Start, name: d.Name}
	if d.File != nil {
		id.name = ""
	}
	return id
}

// nodesAt returns the nodes that contain pos, the outermost first.
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

// clamp returns the position in the text that is nearest to pos.
func clamp(f *source.File, pos source.Pos) source.Pos {
	return max(0, min(pos, source.Pos(len(f.Text))))
}
