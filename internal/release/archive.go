package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive. Its content is data or, if from is not "", that of a file.
type entry struct {
	name       string // path with /
	executable bool
	data       []byte
	from       string
}

// Modes of the entries of archives. They do not depend on the umask.
const (
	fileMode       = 0o644
	executableMode = 0o755
)

func (e entry) mode() fs.FileMode {
	if e.executable {
		return executableMode
	}
	return fileMode
}

func (e entry) open() (io.ReadCloser, int64, error) {
	if e.from == "" {
		return io.NopCloser(bytes.NewReader(e.data)), int64(len(e.data)), nil
	}
	f, err := os.Open(e.from)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// entriesOf returns the files below dir as entries below the path name.
func entriesOf(dir, name string) ([]entry, error) {
	var all []entry
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", file)
		}
		rel, err := filepath.Rel(dir, file)
		all = append(all, entry{name: path.Join(name, filepath.ToSlash(rel)), from: file})
		return err
	})
	return all, err
}

// below returns the entries with their names below dir.
func below(dir string, entries []entry) []entry {
	moved := slices.Clone(entries)
	for i := range moved {
		moved[i].name = path.Join(dir, moved[i].name)
	}
	return moved
}

// withFolders returns the names of the entries and of all directories that contain them, sorted
// bytewise. The name of a directory ends with a slash and has no entry.
func withFolders(entries []entry) (names []string, byName map[string]entry, err error) {
	byName = map[string]entry{}
	for _, e := range entries {
		if _, ok := byName[e.name]; ok {
			return nil, nil, fmt.Errorf("two files of the archive are %s", e.name)
		}
		byName[e.name] = e
		names = append(names, e.name)
		for dir := path.Dir(e.name); dir != "."; dir = path.Dir(dir) {
			names = append(names, dir+"/")
		}
	}
	slices.Sort(names)
	return slices.Compact(names), byName, nil
}

// writeTar writes a compressed tar archive to a new file.
func writeTar(file string, entries []entry, modified time.Time, folders bool) error {
	return create(file, func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		t := tar.NewWriter(z)
		names, byName, err := withFolders(entries)
		if err != nil {
			return err
		}
		for _, name := range names {
			e, isFile := byName[name]
			switch {
			case isFile:
				err = writeTarFile(t, e, modified)
			case folders:
				err = t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: executableMode, ModTime: modified})
			}
			if err != nil {
				return err
			}
		}
		return errors.Join(t.Close(), z.Close())
	})
}

func writeTarFile(t *tar.Writer, e entry, modified time.Time) error {
	content, size, err := e.open()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: int64(e.mode()), Size: size, ModTime: modified}); err != nil {
		return err
	}
	_, err = io.Copy(t, content)
	return err
}

// firstZipYear is the first year that a zip archive can represent.
const firstZipYear = 1980

// writeZip writes a zip archive to a new file.
func writeZip(file string, entries []entry, modified time.Time) error {
	if modified.Year() < firstZipYear {
		modified = time.Date(firstZipYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return create(file, func(w io.Writer) error {
		z := zip.NewWriter(w)
		names, byName, err := withFolders(entries)
		if err != nil {
			return err
		}
		for _, name := range names {
			h := &zip.FileHeader{Name: name, Modified: modified, Method: zip.Deflate}
			e, isFile := byName[name]
			h.SetMode(e.mode())
			if !isFile {
				h.Method = zip.Store
				h.SetMode(fs.ModeDir | executableMode)
			}
			to, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			if !strings.HasSuffix(name, "/") {
				if err := copyEntry(to, e); err != nil {
					return err
				}
			}
		}
		return z.Close()
	})
}

func copyEntry(w io.Writer, e entry) error {
	content, _, err := e.open()
	if err != nil {
		return err
	}
	defer content.Close()
	_, err = io.Copy(w, content)
	return err
}

// create writes a new file, and its directory if it does not exist.
func create(file string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
