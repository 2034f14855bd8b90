package analysis

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/driver"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
)

// result is a checked root. It holds for every snapshot in which the files that were looked
// at are what they were.
type result struct {
	root  string
	input *driver.Input
	prog  *sema.Program // nil when there is no entry
	list  []*diag.Diagnostic
	infos map[*source.File]*sema.Info
	own   []*sema.Info // of the program's own files; asking may bring more of the library's

	mu    sync.Mutex // who asks the program afterwards
	names map[*sema.Info][]sema.Ref

	toolsOnce sync.Once
	tools     map[string]Location // see toolFunctions

	bodies *sema.Bodies // for the next check; nil where there is no program

	seen map[string]*text // what was looked at: nil for what is not there
}

// results are the last results of each root.
type results struct {
	mu    sync.Mutex
	slots map[string]*slot // by the root's path
}

// slot holds a root's last result. Who checks the root holds the token meanwhile.
type slot struct {
	token chan struct{}
	last  *result
}

func newResults() *results { return &results{slots: map[string]*slot{}} }

// begun are results for another state of the workspace, which begin with the last ones: what of them holds is taken
// over. One that is being made is left out.
func (r *results) begun() *results {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := newResults()
	for path, s := range r.slots {
		select {
		case s.token <- struct{}{}:
			out.slots[path] = &slot{token: make(chan struct{}, 1), last: s.last}
			<-s.token
		default:
		}
	}
	return out
}

func (r *results) slot(path string) *slot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots[path] == nil {
		r.slots[path] = &slot{token: make(chan struct{}, 1)}
	}
	return r.slots[path]
}

// keep forgets all but the given roots.
func (r *results) keep(roots []*root) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := map[string]bool{}
	for _, x := range roots {
		have[x.path] = true
	}
	maps.DeleteFunc(r.slots, func(path string, _ *slot) bool { return !have[path] })
}

// check gives the result of a root. The error is ctx's.
func (s *Snapshot) check(ctx context.Context, r *root) (*result, error) {
	slot := s.results.slot(r.path)
	select {
	case slot.token <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-slot.token }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if slot.last != nil && s.holds(slot.last) {
		return slot.last, nil
	}
	var kept driver.Kept
	if slot.last != nil {
		kept.Bodies = slot.last.bodies
	}
	res, err := s.checkAnew(ctx, r, &kept)
	if err == nil {
		slot.last = res
	}
	return res, err
}

// holds says whether a result is one of this snapshot.
func (s *Snapshot) holds(r *result) bool {
	for path, t := range r.seen {
		if s.state(path) != t {
			return false
		}
	}
	return true
}

func (s *Snapshot) checkAnew(ctx context.Context, r *root, kept *driver.Kept) (*result, error) {
	v := &view{s: s, alone: !IsFile(r.path), texts: map[*source.File]*text{}}
	res := &result{root: r.path, seen: map[string]*text{}, infos: map[*source.File]*sema.Info{}}
	req := driver.Request{Path: r.path, Sources: v, Kept: kept, Seen: func(path string) { res.seen[path] = v.state(path) }}
	switch {
	case v.alone:
		res.seen[r.path] = s.state(r.path)
		req.Path, req.Given = "", &driver.Given{File: s.state(r.path).file, Alone: true}
	case r.path == r.manifest:
		req.Path = filepath.Dir(r.path)
	}
	in, err := driver.Load(req)
	if err != nil {
		return res, ctx.Err() // nothing there can be read: what cannot is told by who names it
	}
	res.input = in
	prog, list := driver.Analyse(in, func() bool { return ctx.Err() != nil })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res.prog, res.list = prog, list.Sorted()
	if prog != nil {
		res.bodies = kept.Bodies
		for _, info := range prog.Files {
			if !info.Library {
				res.infos[info.File.Source] = info
				res.own = append(res.own, info)
			}
		}
	}
	return res, nil
}

// view is a snapshot as the driver sees it.
type view struct {
	s     *Snapshot
	alone bool // there are no files
	mu    sync.Mutex
	texts map[*source.File]*text
}

func (v *view) state(path string) *text {
	if v.alone {
		return nil
	}
	return v.s.state(path)
}

// Read gives the text of a file.
func (v *view) Read(path, _ string) (*source.File, error) {
	if v.alone {
		return nil, fs.ErrNotExist
	}
	t, err := v.s.text(path)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.texts[t.file] = t
	return t.file, nil
}

// IsFile says whether there is a file.
func (v *view) IsFile(path string) bool { return v.state(path) != nil }

// Parse gives the tree of a text, parsed once.
func (v *view) Parse(f *source.File) (*ast.File, diag.List) {
	v.mu.Lock()
	t := v.texts[f]
	v.mu.Unlock()
	if t == nil {
		return parser.Parse(f)
	}
	return t.parse()
}
