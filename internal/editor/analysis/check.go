package analysis

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
)

// result is the result of checking a root. It is valid for every snapshot in which the files that
// the check read are unchanged.
type result struct {
	root  string
	input *driver.Input
	prog  *sema.Program // nil if the entry file does not exist
	list  []*diag.Diagnostic
	infos map[*source.File]*sema.Info
	own   []*sema.Info // infos of the program's own files; queries may load more library files into prog
	size  int          // estimated memory in bytes after the check, before any query

	mu    sync.Mutex // guards queries of the program
	names map[*sema.Info][]sema.Ref

	toolsOnce sync.Once
	tools     map[string]Location // by the names that models use; see toolFunctions

	bodies *sema.Bodies // function bodies that the next check can reuse; nil if there is no program

	seen map[string]*text // files that the check read, by path; nil for a missing file
}

// check returns the result of a root. The only possible error is that of ctx.
func (s *Snapshot) check(ctx context.Context, r *root) (*result, error) {
	slot, err := s.results.acquire(ctx, r.path)
	if err != nil {
		return nil, err
	}
	defer slot.release()
	return s.checkInSlot(ctx, r, slot)
}

// listDiagnostics returns the diagnostics of a root. The diagnostics stay available after the
// result is dropped.
func (s *Snapshot) listDiagnostics(ctx context.Context, r *root) ([]*diag.Diagnostic, error) {
	slot, err := s.results.acquire(ctx, r.path)
	if err != nil {
		return nil, err
	}
	defer slot.release()
	if slot.isCurrent(s) {
		s.results.markListed(slot, s.isOpen(r))
		return slot.list, nil
	}
	res, err := s.checkInSlot(ctx, r, slot)
	if err != nil {
		return nil, err
	}
	return res.list, nil
}

// checkInSlot implements check. The caller must own the slot.
func (s *Snapshot) checkInSlot(ctx context.Context, r *root, slot *slot) (*result, error) {
	current := slot.isCurrent(s)
	if slot.last != nil && current {
		s.results.markUsed(slot, s.isOpen(r))
		return slot.last, nil
	}
	var retained driver.Previous
	if slot.last != nil {
		retained.Bodies = slot.last.bodies
	}
	check, isFirst := driver.Analyse, slot.seen == nil
	if isFirst {
		check = driver.CheckProgram
	}
	res, err := s.runCheck(ctx, r, &retained, check)
	if err != nil {
		return nil, err
	}
	slot.last, slot.seen = res, res.seen
	if !current {
		slot.list, slot.isVerified = res.list, isFirst
	}
	s.results.markUsed(slot, s.isOpen(r))
	return res, nil
}

// Verify generates the code of the programs that were edited since their code was last generated.
// The errors that this finds, such as an expression that is too large, are diagnostics of this and
// of later snapshots. Verify reports whether it found any. Call it when the user pauses, because it
// takes longer than a check after an edit.
func (s *Snapshot) Verify(ctx context.Context) (found bool, err error) {
	for _, r := range s.roots() {
		f, err := verifyRoot(ctx, s, r)
		if err != nil {
			return false, err
		}
		found = found || f
	}
	return found, nil
}

// verifyRoot implements Verify for one root.
func verifyRoot(ctx context.Context, s *Snapshot, r *root) (found bool, err error) {
	slot, err := s.results.acquire(ctx, r.path)
	if err != nil {
		return false, err
	}
	defer slot.release()
	if slot.isVerified && slot.isCurrent(s) {
		return false, nil
	}
	res, err := s.checkInSlot(ctx, r, slot)
	if err != nil || slot.isVerified {
		return false, err
	}
	if res.prog != nil && driver.GeneratesCode(res.prog) && !hasErrors(slot.list) {
		whole, err := s.runCheck(ctx, r, nil, driver.CheckProgram)
		if err != nil {
			return false, err
		}
		found = len(whole.list) != len(slot.list)
		slot.list = whole.list
	}
	slot.isVerified = true
	return found, nil
}

func hasErrors(list []*diag.Diagnostic) bool {
	return slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return d.Severity() == diag.Error })
}

// isOpen reports whether any file of a root is open in the editor.
func (s *Snapshot) isOpen(r *root) bool {
	for path := range s.open {
		if r.files[path] || r.path == path || r.manifest == path {
			return true
		}
	}
	return false
}

// isCurrent reports whether the root was checked, and the files that the last check read have the
// same contents in a snapshot.
func (s *slot) isCurrent(in *Snapshot) bool {
	for path, t := range s.seen {
		if in.textOf(path) != t {
			return false
		}
	}
	return s.seen != nil
}

// runCheck checks a root with driver.Analyse or driver.CheckProgram. retained, if not nil, contains
// the results of the previous check, and receives those of this one.
func (s *Snapshot) runCheck(ctx context.Context, r *root, retained *driver.Previous, check func(*driver.Input, func() bool) (*sema.Program, diag.List)) (*result, error) {
	v := &view{s: s, alone: !IsFile(r.path), texts: map[*source.File]*text{}}
	defer v.end()
	res := &result{root: r.path, seen: map[string]*text{}, infos: map[*source.File]*sema.Info{}}
	req := driver.Request{Path: r.path, Sources: v, Parsed: true, Previous: retained, Data: s.data, Seen: func(path string) { res.seen[path] = v.textOf(path) }}
	switch {
	case v.alone:
		res.seen[r.path] = s.textOf(r.path)
		req.Path, req.Inline = "", &driver.Inline{File: s.textOf(r.path).file, Alone: true}
	case r.path == r.manifest:
		req.Path = filepath.Dir(r.path)
	}
	in, err := driver.Load(req)
	if err != nil {
		return res, ctx.Err() // the entry cannot be read; the manifest's diagnostics report this
	}
	res.input = in
	prog, list := check(in, func() bool { return ctx.Err() != nil })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list = in.WithMain(prog, list)
	res.prog, res.list = prog, list.Sorted()
	if prog != nil {
		if retained != nil {
			res.bodies = retained.Bodies
		}
		for _, info := range prog.Files {
			res.size += perNode * int(info.File.IDs)
			if !info.Library {
				res.infos[info.File.Source] = info
				res.own = append(res.own, info)
			}
		}
	}
	return res, nil
}

// view provides the files of a snapshot to the driver.
type view struct {
	alone bool // the document is no file, so the view contains no other files
	mu    sync.Mutex
	s     *Snapshot // nil after the check, because a result outlives its snapshot and a snapshot references all roots
	texts map[*source.File]*text
}

func (v *view) textOf(path string) *text {
	if s := v.snapshot(); s != nil {
		return s.textOf(path)
	}
	return nil
}

// snapshot returns the snapshot, or nil if the view contains no files or the check has ended.
func (v *view) snapshot() *Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.alone {
		return nil
	}
	return v.s
}

func (v *view) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.s, v.texts = nil, nil
}

// Read returns the text of a file.
func (v *view) Read(path, _ string) (*source.File, error) {
	s := v.snapshot()
	if s == nil {
		return nil, fs.ErrNotExist
	}
	t, err := s.text(path)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.texts != nil {
		v.texts[t.file] = t
	}
	return t.file, nil
}

// IsFile reports whether a file exists.
func (v *view) IsFile(path string) bool { return v.textOf(path) != nil }

// Parse returns the syntax tree of a file. Each text is parsed only once.
func (v *view) Parse(f *source.File) (*ast.File, diag.List) {
	v.mu.Lock()
	t := v.texts[f]
	v.mu.Unlock()
	if t == nil {
		return parser.Parse(f)
	}
	return t.parse()
}
