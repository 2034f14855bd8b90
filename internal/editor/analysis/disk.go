package analysis

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// disk caches the contents of files until a change is reported.
type disk struct {
	mu    sync.Mutex
	files map[string]*diskFile
}

// diskFile is the cached content of a file, or the error of reading it.
type diskFile struct {
	text *text
	err  error
}

func newDisk() *disk { return &disk{files: map[string]*diskFile{}} }

// invalidate returns a disk that reads a file, or all files of a directory, again. If the text is
// unchanged, its syntax tree is reused.
func (d *disk) invalidate(path string) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := newDisk()
	for p, f := range d.files {
		if p != path && !isBelow(p, path) {
			next.files[p] = f
		} else if now := readDisk(p); f.text != nil && now.text != nil && string(now.text.file.Text) == string(f.text.file.Text) {
			next.files[p] = f
		} else {
			next.files[p] = now
		}
	}
	return next
}

// read returns a file.
func (d *disk) read(path string) *diskFile {
	d.mu.Lock()
	f := d.files[path]
	d.mu.Unlock()
	if f != nil {
		return f
	}
	f = readDisk(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := d.files[path]; first != nil {
		return first
	}
	d.files[path] = f
	return f
}

func readDisk(path string) *diskFile {
	b, err := userfile.Read(path, userfile.MaxText)
	if err != nil {
		return &diskFile{err: err}
	}
	return &diskFile{text: newText(path, b)}
}

// shownName returns a path in the form that diagnostics show.
func shownName(path string) string { return filepath.ToSlash(path) }

// pathOfName is the inverse of shownName.
func pathOfName(name string) string { return filepath.FromSlash(name) }

// listFolder adds the programs and manifests of a directory, or a single file. It skips hidden
// names and directories of package managers.
func listFolder(path string, into map[string]bool) {
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // directories that cannot be read are skipped
		case d.IsDir():
			if p != path && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
		case isProgram(p) || isManifest(p):
			into[realPath(p)] = true
		}
		return nil
	})
}

func isProgram(path string) bool  { return filepath.Ext(path) == driver.SourceExt }
func isManifest(path string) bool { return filepath.Base(path) == manifest.FileName }
