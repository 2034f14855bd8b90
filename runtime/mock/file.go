package mock

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// file is a file that exists only in the test and replaces a real one. missing means that the test
// has removed the file.
type file struct {
	text    string
	missing bool
}

// mockedFile returns the test's file at a path, or nil if the test has none there.
func (w *World) mockedFile(path string) *file { return w.files[filepath.Clean(path)] }

// performFile performs requests that concern files of the test. ok is false for all other requests.
func (w *World) performFile(ctx context.Context, r effect.Request, next effect.Performer) (res effect.Result, err error, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.files) == 0 {
		return nil, nil, false
	}
	switch r := r.(type) {
	case *effect.ReadFile:
		f := w.mockedFile(r.Path)
		if f == nil {
			return nil, nil, false
		}
		if f.missing {
			return nil, notFound("read", r.Path), true
		}
		return &effect.FileText{Text: f.text}, nil, true
	case *effect.AttachFile:
		f := w.mockedFile(r.Path)
		if f == nil {
			return nil, nil, false
		}
		if f.missing {
			return nil, notFound("attach", r.Path), true
		}
		file, _ := effect.NewAttachedFile(r.Path, []byte(f.text)) // cannot fail, because the text is valid UTF-8
		return file, nil, true
	case *effect.WriteFile:
		f := w.mockedFile(r.Path)
		if f == nil {
			return nil, nil, false
		}
		if r.Append && !f.missing {
			f.text += r.Text
		} else {
			f.text = r.Text
		}
		f.missing = false
		return nil, nil, true
	case *effect.FileInfo:
		f := w.mockedFile(r.Path)
		if f == nil {
			return nil, nil, false
		}
		return &effect.FileStatus{Exists: !f.missing, Size: int64(len(f.text))}, nil, true
	case *effect.RemoveFile:
		f := w.mockedFile(r.Path)
		if f == nil {
			return nil, nil, false
		}
		if f.missing {
			return nil, notFound("remove", r.Path), true
		}
		*f = file{missing: true}
		return nil, nil, true
	case *effect.CopyFile:
		if w.mockedFile(r.From) == nil && w.mockedFile(r.Path) == nil {
			return nil, nil, false
		}
		return nil, w.copyToMock(ctx, "copy", r.From, r.Path, next), true
	case *effect.MoveFile:
		if w.mockedFile(r.From) == nil && w.mockedFile(r.Path) == nil {
			return nil, nil, false
		}
		err := w.copyToMock(ctx, "move", r.From, r.Path, next)
		if f := w.mockedFile(r.From); err == nil && f != nil {
			*f = file{missing: true}
		} else if err == nil {
			_, err = w.performUnmocked(ctx, &effect.RemoveFile{Path: r.From}, next, nil)
		}
		return nil, err, true
	}
	return nil, nil, false
}

// copyToMock copies the file at the path from to a file of the test at path.
func (w *World) copyToMock(ctx context.Context, verb, from, path string, next effect.Performer) error {
	text := ""
	if f := w.mockedFile(from); f == nil {
		r, err := w.performUnmocked(ctx, &effect.ReadFile{Path: from}, next, nil)
		if err != nil {
			return err
		}
		text = r.(*effect.FileText).Text
	} else if f.missing {
		return notFound(verb, from)
	} else {
		text = f.text
	}
	w.files[filepath.Clean(path)] = &file{text: text}
	return nil
}

func notFound(verb, path string) error {
	return effect.Errorf("FsError", "cannot %s %s: it is not there", verb, path).With("path", path)
}

// pathOf returns the path in a request that concerns files, or "" for a request for a temporary
// directory.
func pathOf(r effect.Request) string {
	switch r := r.(type) {
	case *effect.ReadFile:
		return r.Path
	case *effect.WriteFile:
		return r.Path
	case *effect.FileInfo:
		return r.Path
	case *effect.ListDir:
		return r.Path
	case *effect.RemoveFile:
		return r.Path
	case *effect.MakeDir:
		return r.Path
	case *effect.CopyFile:
		return r.From
	case *effect.MoveFile:
		return r.From
	case *effect.Glob:
		return r.Pattern
	case *effect.Walk:
		return r.Path
	case *effect.AttachFile:
		return r.Path
	}
	return ""
}

// recordRead records the real file or directory that a request reads.
func (w *World) recordRead(r effect.Request) {
	path := pathOf(r)
	switch r.(type) {
	case *effect.ReadFile, *effect.AttachFile, *effect.FileInfo, *effect.ListDir, *effect.Walk, *effect.CopyFile, *effect.MoveFile:
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.record.Files, path) {
		w.record.Files = append(w.record.Files, path)
	}
}
