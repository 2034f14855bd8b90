package lsp

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// watchedPatterns is the glob pattern of the files that programs depend on. Clients that watch
// files receive it.
const watchedPatterns = "**/*.{conc,toml,json}"

// isWatched reports whether a path matches watchedPatterns.
func isWatched(path string) bool {
	return slices.Contains([]string{".conc", ".toml", ".json"}, filepath.Ext(path))
}

// filesChanged notifies the workspace of changed files and schedules a check.
func (s *server) filesChanged(paths []string) {
	paths = slices.DeleteFunc(paths, func(p string) bool { return !filepath.IsAbs(p) })
	if len(paths) > 0 {
		s.workspace.FilesChanged(paths...)
		s.afterEdit()
	}
}

func (s *server) didChangeWatchedFiles(p *protocol.DidChangeWatchedFilesParams) {
	var paths []string
	for _, c := range p.Changes {
		paths = append(paths, pathOf(c.URI))
	}
	s.filesChanged(paths)
}

func (s *server) didSave(p *protocol.DidSaveTextDocumentParams) {
	s.filesChanged([]string{pathOf(p.TextDocument.URI)})
}

func (s *server) didCreateFiles(p *protocol.CreateFilesParams) {
	var paths []string
	for _, f := range p.Files {
		paths = append(paths, pathOf(protocol.DocumentURI(f.URI)))
	}
	s.filesChanged(paths)
}

func (s *server) didRenameFiles(p *protocol.RenameFilesParams) {
	var paths []string
	for _, f := range p.Files {
		paths = append(paths, pathOf(protocol.DocumentURI(f.OldURI)), pathOf(protocol.DocumentURI(f.NewURI)))
	}
	s.filesChanged(paths)
}

func (s *server) didDeleteFiles(p *protocol.DeleteFilesParams) {
	var paths []string
	for _, f := range p.Files {
		paths = append(paths, pathOf(protocol.DocumentURI(f.URI)))
	}
	s.filesChanged(paths)
}

func (s *server) didChangeWorkspaceFolders(p *protocol.DidChangeWorkspaceFoldersParams) {
	for _, f := range p.Event.Removed {
		s.folders = slices.DeleteFunc(slices.Clone(s.folders), func(x string) bool { return x == pathOf(f.URI) })
	}
	for _, f := range p.Event.Added {
		if path := pathOf(f.URI); filepath.IsAbs(path) && !slices.Contains(s.folders, path) {
			s.folders = append(s.folders, path)
		}
	}
	s.workspace.SetFolders(s.folders...)
	s.updateView(func(v *view) { v.linked = linksOf(s.folders) })
	s.afterEdit()
}

// stamp is the modification time and size of a file. If the stamp changes, the file has changed.
type stamp struct {
	time time.Time
	size int64
}

// poll scans for changed files once a second. It is used for a client that does not watch files.
func (s *server) poll() {
	s.after(aliveInterval, func() {
		places := s.watchedDirs()
		go func() {
			now := readStamps(places)
			s.enqueue(func() {
				was := s.polled
				s.polled = now
				s.filesChanged(changedPaths(was, now))
				s.poll()
			})
		}()
	})
}

// changedPaths returns the paths of the files that were created, changed or removed between two
// scans.
func changedPaths(was, is map[string]stamp) (paths []string) {
	for path, x := range was {
		if is[path] != x {
			paths = append(paths, path)
		}
	}
	for path := range is {
		if _, existed := was[path]; !existed {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// watchedDirs returns the directories to scan: the workspace folders, and the directories of open
// documents outside of the folders.
func (s *server) watchedDirs() map[string]bool {
	all := map[string]bool{} // the value is true if the scan includes subdirectories
	for _, d := range s.view.docs {
		if filepath.IsAbs(d.path) {
			all[filepath.Dir(d.path)] = false
		}
	}
	for _, f := range s.folders {
		all[f] = true
	}
	return all
}

func (s *server) stamps() map[string]stamp { return readStamps(s.watchedDirs()) }

// readStamps scans directories and returns the stamps of the watched files. The values of places
// are those of watchedDirs.
func readStamps(places map[string]bool) map[string]stamp {
	all := map[string]stamp{}
	for dir, deep := range places {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // an unreadable file is treated as a missing one
			case d.IsDir():
				if path != dir && (!deep || strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
					return fs.SkipDir
				}
			case isWatched(path):
				if info, err := d.Info(); err == nil {
					all[path] = stamp{info.ModTime(), info.Size()}
				}
			}
			return nil
		})
	}
	return all
}
