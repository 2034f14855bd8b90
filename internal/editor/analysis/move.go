package analysis

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// Move is the old and the new path of a file or a directory.
type Move struct{ From, To string }

// moves are the files and directories that move in one operation.
type moves []Move

// newPath returns the path that p has after the moves.
func (ms moves) newPath(p string) string {
	for _, m := range ms {
		switch {
		case p == m.From:
			return m.To
		case isBelow(p, m.From):
			return m.To + strings.TrimPrefix(p, m.From)
		}
	}
	return p
}

// MoveEdits returns the edits that preserve the meaning of programs after files are moved: `mod`
// declarations, paths through the module, and paths in manifests. It changes nothing for a file
// that no module can declare at its new place.
func (s *Snapshot) MoveEdits(ctx context.Context, all []Move) ([]Edit, error) {
	var ms moves
	for _, m := range all {
		ms = append(ms, Move{s.realPath(m.From), realPath(m.To)})
	}
	out := []Edit{}
	for _, r := range s.roots() {
		if r.manifest != "" && r.path == r.manifest {
			out = append(out, s.manifestMoveEdits(r.manifest, ms)...)
		}
		touched := false
		for p := range r.files {
			touched = touched || ms.newPath(p) != p
		}
		if !touched {
			continue
		}
		res, err := s.check(ctx, r)
		if err != nil {
			return nil, err
		}
		if res.prog != nil && res.input.Entry != nil {
			m := newMover(res, ms)
			out = append(out, m.edits()...)
		}
	}
	return distinctEdits(out), nil
}

// manifestMoveEdits returns the edits of the paths in a manifest: the entry and the scripts of
// connections.
func (s *Snapshot) manifestMoveEdits(path string, ms moves) []Edit {
	t, err := s.text(path)
	if err != nil {
		return nil
	}
	m, _ := manifest.Parse(t.file)
	if m == nil {
		return nil
	}
	dir, to := filepath.Dir(path), filepath.Dir(ms.newPath(path))
	name := func(was string) (is string, moved bool) {
		from := filepath.Join(dir, filepath.FromSlash(was))
		rel, err := filepath.Rel(to, ms.newPath(from))
		is = filepath.ToSlash(rel)
		return is, err == nil && was != "" && !filepath.IsAbs(was) && is != was && s.textOf(from) != nil
	}
	var out []Edit
	change := func(at manifest.Places, key, was string) {
		if is, moved := name(was); moved && at[key].Value.End > at[key].Value.Start {
			out = append(out, Edit{Location{t.file, at[key].Value}, `"` + is + `"`})
		}
	}
	for _, c := range m.Connections {
		change(c.At, "script", c.Script)
	}
	if m.Project.Entry != "" {
		change(m.Project.At, "entry", m.Project.Entry)
	} else if is, moved := name(defaultEntry); moved {
		out = append(out, entryEdit(t.file, m, is))
	}
	return out
}

// entryEdit returns the edit that adds an entry to a manifest that has none.
func entryEdit(f *source.File, m *manifest.Manifest, name string) Edit {
	text := "entry = \"" + name + "\"\n"
	at := source.Pos(0)
	if header, ok := m.Project.At[""]; ok && header.Key.End > 0 {
		if n := f.LineOf(header.Key.Start) + 1; n <= f.Lines() {
			at = f.LineStart(n)
		}
	} else {
		text = "[project]\n" + text + "\n"
	}
	return Edit{Location{f, source.Span{Start: at, End: at}}, text}
}

// mover computes the edits of one program.
type mover struct {
	res  *result
	was  map[*sema.Info][]string // module path of each file before the move, without the entry's own name
	is   map[*sema.Info][]string
	list []Edit
}

func newMover(res *result, ms moves) *mover {
	m := &mover{res: res, was: map[*sema.Info][]string{}, is: map[*sema.Info][]string{}}
	entry := pathOfName(res.input.Entry.Name)
	for _, i := range res.own {
		p := pathOfName(i.File.Source.Name)
		if p == entry {
			m.was[i], m.is[i] = []string{}, []string{}
			continue
		}
		was, is := moduleNames(filepath.Dir(entry), p), moduleNames(filepath.Dir(ms.newPath(entry)), ms.newPath(p))
		if was != nil && is != nil {
			m.was[i], m.is[i] = was, is
		}
	}
	return m
}

// moduleNames returns the module path of a file for an entry in dir. It returns nil if no module
// can be in that file.
func moduleNames(dir, path string) []string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || filepath.Ext(rel) != driver.SourceExt {
		return nil
	}
	names := strings.Split(strings.TrimSuffix(filepath.ToSlash(rel), driver.SourceExt), "/")
	if n := len(names); n > 1 && names[n-1] == "mod" {
		names = names[:n-1]
	}
	for _, name := range names {
		if checkName(name, sema.DefModule) != nil {
			return nil
		}
	}
	return names
}

func (m *mover) edits() []Edit {
	for _, i := range m.res.own {
		was, is := m.was[i], m.is[i]
		switch n := len(was); {
		case slices.Equal(was, is) || n == 0 || len(is) == 0:
		case slices.Equal(m.newNames(was[:n-1]), is[:len(is)-1]):
			if was[n-1] != is[len(is)-1] {
				m.renameModule(i, was[n-1], is[len(is)-1])
			}
		default:
			m.moveModule(i)
		}
	}
	return m.list
}

// newNames returns the module path after the move of the module whose path was was.
func (m *mover) newNames(was []string) []string {
	for i, names := range m.was {
		if slices.Equal(names, was) {
			return m.is[i]
		}
	}
	return was
}

func (m *mover) addEdit(f *source.File, at source.Span, text string) {
	m.list = append(m.list, Edit{Location{f, at}, text})
}

// renameModule renames a module in its declaration and in all references.
func (m *mover) renameModule(moved *sema.Info, was, is string) {
	m.eachDeclaration(moved, func(in *sema.Info, d *ast.ModDecl) { m.addEdit(in.File.Source, d.Name.Sp, is) })
	for _, i := range m.res.own {
		for _, r := range m.res.refs(i) {
			if f := i.File.Source; r.Def.Kind == sema.DefModule && r.Def.File == moved && f.Slice(r.At) == was {
				m.addEdit(f, r.At, is)
			}
		}
	}
}

// eachDeclaration calls f for each `mod` that declares the module moved.
func (m *mover) eachDeclaration(moved *sema.Info, f func(in *sema.Info, d *ast.ModDecl)) {
	for _, i := range m.res.own {
		ast.InspectFile(i.File, func(n ast.Node) bool {
			d, ok := n.(*ast.ModDecl)
			if ok && !d.Inline && d.Name != nil {
				for _, r := range m.res.refs(i) {
					if r.At == d.Name.Sp && r.Def.File == moved {
						f(i, d)
					}
				}
			}
			return true
		})
	}
}

// moveModule removes the declaration of a moved module, declares the module in its new parent and
// rewrites all paths that refer to it.
func (m *mover) moveModule(moved *sema.Info) {
	is := m.is[moved]
	var parent *sema.Info
	for i, names := range m.is {
		if slices.Equal(names, is[:len(is)-1]) {
			parent = i
		}
	}
	if parent == nil {
		return // no file can declare the module at the new path
	}
	head := "mod"
	if len(is) > 1 {
		head = "pub mod" // paths from outside of the parent name the module
	}
	m.eachDeclaration(moved, func(in *sema.Info, d *ast.ModDecl) { m.addEdit(in.File.Source, wholeLine(in.File.Source, d.Sp), "") })
	at := modPos(parent.File)
	m.addEdit(parent.File.Source, source.Span{Start: at, End: at}, head+" "+is[len(is)-1]+";\n")
	for _, i := range m.res.own {
		m.rewritePaths(i, moved)
	}
	m.rewriteSuper(moved)
}

// wholeLine extends a range to include the line end if only spaces follow the range on its line.
func wholeLine(f *source.File, s source.Span) source.Span {
	n := f.LineOf(s.End)
	if n < f.Lines() && strings.TrimSpace(f.Slice(source.Span{Start: s.End, End: f.LineStart(n + 1)})) == "" {
		s.End = f.LineStart(n + 1)
	}
	return s
}

// modPos returns where to insert a `mod`: after the existing ones, or at the beginning of the file.
func modPos(tree *ast.File) (at source.Pos) {
	for _, d := range tree.Decls {
		if x, ok := d.(*ast.ModDecl); ok && !x.Inline {
			at = wholeLine(tree.Source, x.Sp).End
		}
	}
	return at
}

// rewritePaths rewrites the paths of a file that go through a moved module. A path that begins with
// the module's name stays if an import provides that name.
func (m *mover) rewritePaths(i, moved *sema.Info) {
	f := i.File.Source
	toks, _, _ := lexer.Lex(f)
	to := strings.Join(m.is[moved], "::")
	imported := m.splitUseLists(i, moved, to)
	for _, r := range m.res.refs(i) {
		if r.Def.Kind != sema.DefModule || r.Def.File != moved || inList(i.File, r.At) {
			continue
		}
		at, _ := slices.BinarySearchFunc(toks, r.At.Start, func(t lexer.Token, p source.Pos) int { return int(t.Start - p) })
		first := at
		for first >= 2 && toks[first-1].Kind == lexer.PathSep {
			first -= 2
		}
		before := lexer.EOF
		if first > 0 {
			before = toks[first-1].Kind
		}
		switch {
		case before == lexer.Mod:
		case before == lexer.Use && toks[at+1].Kind == lexer.Semi && slices.Equal(append(slices.Clone(m.is[i]), r.Def.Name), m.is[moved]):
			imported = true // the new `mod` declares the name
			m.addEdit(f, wholeLine(f, source.Span{Start: toks[first-1].Start, End: toks[at+1].End}), "")
		case before == lexer.Use:
			imported = true
			m.addEdit(f, source.Span{Start: toks[first].Start, End: r.At.End}, to)
		case first < at || !imported:
			m.addEdit(f, source.Span{Start: toks[first].Start, End: r.At.End}, to)
		}
	}
}

// inList reports whether a name is part of a `use` with a list.
func inList(tree *ast.File, at source.Span) bool {
	for _, n := range nodesAt(tree, at.Start) {
		if u, ok := n.(*ast.UseDecl); ok && hasList(u.Tree) {
			return true
		}
	}
	return false
}

func hasList(t *ast.UseTree) bool { return t != nil && t.List != nil }

// splitUseLists replaces each `use` with a list that goes through a moved module by one `use` for
// each name. It reports whether one of them imports the module itself.
func (m *mover) splitUseLists(i, moved *sema.Info, to string) (imported bool) {
	f := i.File.Source
	leads := map[source.Span]bool{}
	for _, r := range m.res.refs(i) {
		if r.Def.Kind == sema.DefModule && r.Def.File == moved {
			leads[r.At] = true
		}
	}
	ast.InspectFile(i.File, func(n ast.Node) bool {
		u, ok := n.(*ast.UseDecl)
		if !ok || !hasList(u.Tree) {
			return true
		}
		var lines []string
		through := false
		for _, l := range useLeaves(u.Tree, nil) {
			names := []string{}
			for k, id := range l.path {
				names = append(names, id.Name)
				if leads[id.Sp] {
					names, through = []string{to}, true
					imported = imported || k == len(l.path)-1
				}
			}
			line := "use " + strings.TrimSuffix(strings.Join(names, "::"), "::self") + l.rest + ";"
			if u.Pub {
				line = "pub " + line
			}
			lines = append(lines, line)
		}
		if through {
			m.addEdit(f, u.Sp, strings.Join(lines, "\n"))
		}
		return false
	})
	return imported
}

// useLeaf is one name that a `use` imports, or a glob import of all names.
type useLeaf struct {
	path []*ast.Ident
	rest string // `::*`, ` as alias` or ""
}

func useLeaves(t *ast.UseTree, before []*ast.Ident) (out []useLeaf) {
	path := slices.Concat(before, t.Path)
	switch {
	case t.Glob:
		return []useLeaf{{path, "::*"}}
	case t.List == nil && t.Alias != nil:
		return []useLeaf{{path, " as " + t.Alias.Name}}
	case t.List == nil:
		return []useLeaf{{path, ""}}
	}
	for _, x := range t.List {
		out = append(out, useLeaves(x, path)...)
	}
	return out
}

// rewriteSuper rewrites the paths of a moved file that begin with `super`, so that they begin at
// the entry.
func (m *mover) rewriteSuper(moved *sema.Info) {
	f := moved.File.Source
	toks, _, _ := lexer.Lex(f)
	for n := 0; n < len(toks); n++ {
		start, around := n, m.was[moved]
		for n+1 < len(toks) && f.Slice(toks[n].Span()) == "super" && toks[n+1].Kind == lexer.PathSep && len(around) > 0 {
			around = around[:len(around)-1]
			n += 2
		}
		if n == start {
			continue
		}
		base := ""
		for _, name := range m.newNames(around) {
			base += name + "::"
		}
		if base == "" && len(m.is[moved]) > 0 {
			base = strings.Repeat("super::", len(m.is[moved]))
		}
		m.addEdit(f, source.Span{Start: toks[start].Start, End: toks[n].Start}, base)
	}
}
