package analysis

import (
	"path/filepath"
)

// Program is a unit of checking, running and building.
type Program struct {
	Path  string // directory of the manifest, or the file of a program without one
	Entry string // path of the entry file; "" if it does not exist
}

// Programs returns all programs of the workspace.
func (s *Snapshot) Programs() []*Program {
	var out []*Program
	for _, r := range s.roots() {
		out = append(out, s.program(r))
	}
	return out
}

// ProgramOf returns the program that a document belongs to, or nil if it belongs to none.
func (s *Snapshot) ProgramOf(path string) *Program {
	if r := s.rootOf(s.realPath(path)); r != nil {
		return s.program(r)
	}
	return nil
}

func (s *Snapshot) program(r *root) *Program {
	if r.path != r.manifest {
		return &Program{s.shownPath(r.path), s.shownPath(r.path)}
	}
	p := &Program{Path: filepath.Dir(s.shownPath(r.path))}
	f := rootFinder{s: s}
	if entry := f.entryOf(r.path); s.textOf(entry) != nil {
		p.Entry = s.shownPath(entry)
	}
	return p
}

// Unsaved returns the editor's texts of all open files by path.
func (s *Snapshot) Unsaved() map[string]string {
	out := map[string]string{}
	for path, d := range s.open {
		if IsFile(path) {
			out[path], out[d.shown] = string(d.file.Text), string(d.file.Text)
		}
	}
	return out
}

// Real returns the path of a document with all symbolic links resolved. Two paths of the same file
// have the same result.
func (s *Snapshot) Real(path string) string { return s.realPath(path) }
