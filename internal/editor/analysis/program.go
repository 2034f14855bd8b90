package analysis

import (
	"path/filepath"
)

// Program is a unit of checking, running and building.
type Program struct {
	Path  string // of the manifest's directory, else of the file
	Entry string // the file with which it begins; "" when it is not there
}

// Programs returns all that there are.
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

// Unsaved returns the texts that are open in files, as the editor has them, by their paths.
func (s *Snapshot) Unsaved() map[string]string {
	out := map[string]string{}
	for path, d := range s.open {
		if IsFile(path) {
			out[path], out[d.shown] = string(d.file.Text), string(d.file.Text)
		}
	}
	return out
}

// Real returns the path of a document through all links: two that are the same file have the same.
func (s *Snapshot) Real(path string) string { return s.realPath(path) }
