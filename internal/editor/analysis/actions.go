package analysis

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/editor/refactor"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// Action is a code action. The edits of a program leave it formatted. An edit of a file that does
// not exist creates the file.
type Action struct {
	Kind, Title string
	Preferred   bool             // the fix is safe: editors apply it as the default
	Mends       *diag.Diagnostic // the diagnostic that the action fixes; nil for a refactoring
	Edits       []Edit
}

// Actions returns the code actions of the requested kinds at a range of a document. These are the
// fixes of diagnostics in the range and the refactorings after which the program still compiles.
// The action that applies all safe fixes is included if there are several safe fixes, or with asked
// also if there is one.
func (s *Snapshot) Actions(ctx context.Context, path string, at source.Span, wanted func(kind string) bool, asked bool) ([]Action, error) {
	found, err := s.DiagnosticsOf(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []Action
	if wanted(refactor.QuickFix) {
		out = s.collectFixes(found, at, s.newFileDir(ctx, path))
	}
	if wanted(refactor.FixAll) {
		edits, n, err := s.safeFixes(ctx, path)
		if err != nil {
			return nil, err
		}
		if n > 1 || n == 1 && asked {
			out = append(out, Action{Kind: refactor.FixAll, Title: "Apply all safe fixes", Edits: edits})
		}
	}
	more, err := s.refactorings(ctx, path, at, wanted)
	return append(out, more...), err
}

// collectFixes returns the fixes of the diagnostics at a range, and the fixes whose edits change
// the text of the range.
func (s *Snapshot) collectFixes(found []*diag.Diagnostic, at source.Span, dir string) (out []Action) {
	touches := func(s source.Span) bool { return s.Start <= at.End && s.End >= at.Start }
	for _, d := range found {
		if d.File == nil {
			continue
		}
		for _, f := range d.Fixes {
			here := func(e diag.Edit) bool { return (e.File == nil || e.File == d.File) && touches(e.Span) }
			if !touches(d.Span) && !slices.ContainsFunc(f.Edits, here) {
				continue
			}
			edits, ok := resolvePaths(f.Edits, dir)
			if !ok {
				continue
			}
			a := Action{Kind: refactor.QuickFix, Title: f.Title, Preferred: f.Safe, Mends: d, Edits: formatEdits(edits, d.File)}
			if !slices.ContainsFunc(out, a.equal) {
				out = append(out, a)
			}
		}
	}
	return out
}

// newFileDir returns the directory for files that a fix of the document creates, or "" if the
// document belongs to no program.
func (s *Snapshot) newFileDir(ctx context.Context, path string) string {
	r := s.rootOf(s.realPath(path))
	if r == nil || !IsFile(path) {
		return ""
	}
	if res, err := s.check(ctx, r); err == nil && res.input != nil {
		return res.input.Root
	}
	return ""
}

// resolvePaths returns edits in which the name of a new file is a path below dir. ok is false if an
// edit creates a file and dir is "".
func resolvePaths(edits []diag.Edit, dir string) (out []diag.Edit, ok bool) {
	for _, e := range edits {
		if e.File != nil && len(e.File.Text) == 0 && !IsFile(pathOfName(e.File.Name)) {
			if dir == "" {
				return nil, false
			}
			e.File = source.NewFile(shownName(filepath.Join(dir, pathOfName(e.File.Name))), nil)
		}
		out = append(out, e)
	}
	return out, true
}

func (a Action) equal(b Action) bool {
	return a.Title == b.Title && slices.EqualFunc(a.Edits, b.Edits, func(x, y Edit) bool { return x.File.Name == y.File.Name && x.Span == y.Span && x.Text == y.Text })
}

// formatEdits returns the formatted edits, grouped by file. own is the file of the edits that name
// no file.
func formatEdits(edits []diag.Edit, own *source.File) (out []Edit) {
	var files []*source.File
	by := map[*source.File][]diag.Edit{}
	for _, e := range edits {
		f := cmp.Or(e.File, own)
		if by[f] == nil {
			files = append(files, f)
		}
		by[f] = append(by[f], e)
	}
	for _, f := range files {
		all := by[f]
		slices.SortStableFunc(all, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
		if !isManifest(pathOfName(f.Name)) {
			all = repair.Restyle(f, all)
		}
		for _, e := range all {
			out = append(out, Edit{Location{f, e.Span}, e.Text})
		}
	}
	return out
}

// safeFixes applies all safe fixes of a file in rounds, as `check --fix` does. It returns the
// resulting edits and the number of fixes.
func (s *Snapshot) safeFixes(ctx context.Context, path string) (edits []Edit, n int, err error) {
	file := s.File(path)
	if file == nil {
		return nil, 0, nil
	}
	rounds := repair.Rounds{Program: func(name string) bool { return !isManifest(pathOfName(name)) }}
	for next := s; ; {
		found, err := next.DiagnosticsOf(ctx, path)
		if err != nil {
			return nil, 0, err
		}
		changed := rounds.Round(withOwnFixes(found))
		if len(changed) == 0 {
			break
		}
		next = s.withEdits([]Edit{{Location{file, source.Span{End: source.Pos(len(file.Text))}}, string(changed[0].Text())}})
	}
	for _, f := range rounds.Files() {
		edits, n = formatEdits(f.Edits, file), f.Fixes
	}
	return edits, n, nil
}

// withOwnFixes returns copies of diagnostics. Each copy has only the fixes that change no other
// file.
func withOwnFixes(found []*diag.Diagnostic) (out []*diag.Diagnostic) {
	for _, d := range found {
		own := *d
		own.Fixes = nil
		for _, f := range d.Fixes {
			if !slices.ContainsFunc(f.Edits, func(e diag.Edit) bool { return e.File != nil && e.File.Name != d.File.Name }) {
				own.Fixes = append(own.Fixes, f)
			}
		}
		out = append(out, &own)
	}
	return out
}

// refactorings returns the actions of package refactor that add no error to the program.
func (s *Snapshot) refactorings(ctx context.Context, path string, at source.Span, wanted func(string) bool) (out []Action, err error) {
	f := s.checkFile(ctx, path)
	if f == nil {
		return nil, ctx.Err()
	}
	_, list := f.text.parse()
	in := &refactor.Input{File: f.text.file, Tree: f.tree, Broken: list.HasErrors(), Info: f.info,
		Refs: f.refs, IsPreludeName: f.isPreludeName, At: at}
	for _, a := range refactor.Find(in, wanted) {
		x := Action{Kind: a.Kind, Title: a.Title, Edits: formatEdits(a.Edits, f.text.file)}
		sound, err := s.compilesWith(ctx, f, x.Edits)
		if err != nil {
			return nil, err
		}
		if sound {
			out = append(out, x)
		}
	}
	return out, nil
}

// isPreludeName reports whether a name is declared in the prelude, which every program can use
// without an import.
func (f *checkedFile) isPreludeName(name string) bool {
	if f.info == nil || f.res.prog == nil {
		return false
	}
	f.res.mu.Lock()
	defer f.res.mu.Unlock()
	return slices.ContainsFunc(f.res.prog.Prelude(f.info), func(n sema.Named) bool { return n.Name == name })
}

// compilesWith reports whether the edits add no error to the programs that contain a file.
func (s *Snapshot) compilesWith(ctx context.Context, f *checkedFile, edits []Edit) (bool, error) {
	next := s.withEdits(edits)
	before, after := map[string][]*diag.Diagnostic{}, map[string][]*diag.Diagnostic{}
	for _, r := range s.roots() {
		if r.path != f.res.root && !r.files[f.path] {
			continue
		}
		was, err := s.check(ctx, r)
		if err != nil {
			return false, err
		}
		is, err := next.check(ctx, r)
		if err != nil {
			return false, err
		}
		before[r.path], after[r.path] = was.list, is.list
	}
	return findNewError(before, after) == nil, nil
}

// IncludesKind reports whether a kind of actions is requested. A requested kind includes its
// subkinds; an empty list includes all.
func IncludesKind(only []string, kind string) bool {
	for _, k := range only {
		if k == "" || kind == k || strings.HasPrefix(kind, k+".") {
			return true
		}
	}
	return len(only) == 0
}

// ActionKinds returns the kinds of all actions.
func ActionKinds() []string { return refactor.Kinds() }
