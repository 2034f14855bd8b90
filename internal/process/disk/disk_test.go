package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// tidied is a system in which another process removes all temporary files of a directory before
// each of the first renames and links, and after each link.
type tidied struct {
	system
	dir   string
	first int
}

func (s *tidied) tidy() {
	all, _ := filepath.Glob(filepath.Join(s.dir, TemporaryPrefix+"*")) // a valid pattern
	for _, path := range all {
		_ = os.Remove(path)
	}
}

func (s *tidied) tidyFirst() {
	if s.first > 0 {
		s.first--
		s.tidy()
	}
}

func (s *tidied) Rename(from, to string) error {
	s.tidyFirst()
	return s.system.Rename(from, to)
}

func (s *tidied) Link(from, to string) error {
	s.tidyFirst()
	err := s.system.Link(from, to)
	s.tidy()
	return err
}

// TestTidied writes files while another process removes temporary files.
func TestTidied(t *testing.T) {
	for name, write := range map[string]func(f Files) error{
		"put":  func(f Files) error { return f.Put("a", []byte("text")) },
		"make": func(f Files) error { return f.Make("a", []byte("text")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := On(&tidied{dir: dir, first: 1}, dir)
			if err := write(files); err != nil {
				t.Fatalf("a removed temporary file: %v", err)
			}
			if text, err := files.Read("a"); err != nil || string(text) != "text" {
				t.Errorf("the file has %q, error %v", text, err)
			}
			if names, err := files.List("."); err != nil || len(names) != 1 {
				t.Errorf("the directory has %q, error %v", names, err)
			}
			files = On(&tidied{dir: dir, first: 2}, dir)
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
			if err := write(files); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("with files that are always removed, the error is %v", err)
			}
		})
	}
}
