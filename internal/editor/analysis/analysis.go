// Package analysis answers the queries of editors about the open documents and the files on the
// disk: diagnostics, the meaning and the uses of names, completions, and others. It knows no editor
// protocol: positions are byte offsets into texts, and files are paths.
//
// A Workspace receives edits and returns Snapshots, which are immutable and safe for concurrent
// use. The caller of a query does its work.
//
//	ws := analysis.New(analysis.Options{Folders: []string{"/home/me/project"}})
//	ws.Open("/home/me/project/main.conc", text)    // the editor's text counts instead of the disk's
//	ws.Change("/home/me/project/main.conc", text)  // all of the new text
//	ws.FilesChanged("/home/me/project/Concerto.toml") // created, changed or removed on the disk
//	s := ws.Snapshot()
//	found, err := s.Diagnostics(ctx)               // by path; err is ctx's
//
// A Snapshot has these further queries, each in a separate file: Hover, Definition, TypeDefinition,
// Implementations, References, Highlights, FunctionAt with Incoming and Outgoing, Symbols,
// WorkspaceSymbols, Completion, Signature, PrepareRename and Rename, Tokens, Inlays, Folds,
// Selections, Links.
//
// Paths of files are absolute. A document that is not a file, such as "untitled:Untitled-1", has a
// path that is not absolute; it is checked alone, with its path as its name. A file is identified
// by its real path; results contain the path by which the document was opened. A query accepts the
// path of a document and any position in or outside its text, and returns an empty result if there
// is nothing at the position.
package analysis

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Options configures a new workspace.
type Options struct {
	// Folders are the directories whose programs are checked, even if none of their files is open.
	Folders []string
	// Data checks the datasets that evals name; nil checks none.
	Data driver.CheckData
}

// Workspace combines the documents open in the editor with the files on disk.
type Workspace struct {
	mu      sync.Mutex
	number  int
	folders []string
	data    driver.CheckData
	open    map[string]*document // keys are real paths
	disk    *disk
	listed  map[string]bool // programs and manifests in the folders; keys are real paths
	current *Snapshot
	results *results
}

// document is the text of a document that is open in the editor.
type document struct {
	*text
	shown string // path by which the editor opened the document
}

// New returns a workspace and scans its folders.
func New(o Options) *Workspace {
	w := &Workspace{data: o.Data, open: map[string]*document{}, disk: newDisk(), results: newResults()}
	w.SetFolders(o.Folders...)
	return w
}

// SetFolders replaces the folders.
func (w *Workspace) SetFolders(folders ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.folders = nil
	w.listed = map[string]bool{}
	for _, f := range folders {
		f = realPath(f)
		w.folders = append(w.folders, f)
		listFolder(f, w.listed)
	}
	w.dropSnapshot()
}

// Open opens a document with the given text, or replaces the text of a document that is already
// open.
func (w *Workspace) Open(path, txt string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := realPath(path)
	w.open[p] = &document{newText(p, []byte(txt)), path}
	w.dropSnapshot()
}

// Change replaces the text of an open document. It returns false if the document is not open.
func (w *Workspace) Change(path, txt string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, d := range w.open {
		if d.shown == path || p == path {
			w.open[p] = &document{newText(p, []byte(txt)), d.shown}
			w.dropSnapshot()
			return true
		}
	}
	return false
}

// Close closes a document. From then on the text on disk is used.
func (w *Workspace) Close(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, d := range w.open {
		if d.shown == path || p == path {
			delete(w.open, p)
			w.refresh(p)
			w.dropSnapshot()
			return
		}
	}
}

// FilesChanged notifies the workspace that files or folders on the disk were created, changed or
// removed.
func (w *Workspace) FilesChanged(paths ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range paths {
		w.refresh(realPath(p))
	}
	w.dropSnapshot()
}

// refresh drops the cached contents of a path, so that the next query reads the path from disk
// again.
func (w *Workspace) refresh(path string) {
	w.disk = w.disk.invalidate(path)
	w.listed = maps.Clone(w.listed)
	maps.DeleteFunc(w.listed, func(p string, _ bool) bool { return p == path || isBelow(p, path) })
	for _, f := range w.folders {
		if path == f || isBelow(path, f) {
			listFolder(path, w.listed)
			return
		}
	}
}

// dropSnapshot discards the current snapshot, so that the next call of Snapshot creates one.
func (w *Workspace) dropSnapshot() {
	w.number++
	w.current = nil
}

// Snapshot returns the current state of the workspace. Until something changes, all calls return
// the same snapshot.
func (w *Workspace) Snapshot() *Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == nil {
		w.current = &Snapshot{number: w.number, data: w.data, open: maps.Clone(w.open), disk: w.disk, listed: w.listed, results: w.results}
	}
	return w.current
}

// IsFile reports whether a document is a file: its path is absolute.
func IsFile(path string) bool { return filepath.IsAbs(path) }

// realPath returns the path of a file with all links resolved, even if the file does not exist.
func realPath(path string) string {
	if !IsFile(path) {
		return path
	}
	path = filepath.Clean(path)
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(realPath(dir), filepath.Base(path))
}

// isBelow reports whether a path is in a directory.
func isBelow(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// Location is a range of a file.
type Location struct {
	File *source.File
	Span source.Span
}

// Edit replaces the range of a Location with Text.
type Edit struct {
	Location
	Text string
}

// Files returns the sorted paths of all programs and manifests in the workspace.
func (s *Snapshot) Files() []string {
	found := map[string]bool{}
	for p := range s.listed {
		found[s.shownPath(p)] = true
	}
	for p := range s.open {
		found[s.shownPath(p)] = true
	}
	return slices.Sorted(maps.Keys(found))
}
