package files

import (
	"errors"
	"os"
	"syscall"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

var (
	errLargeAttachment = errors.New("it is larger than 20 MiB") // effect.MaxAttached
	errNotRegular      = errors.New("it is not a regular file")
)

// attachFile reads a file that is sent to a model. It opens only regular files, because opening a
// device may have an effect, and opening a FIFO may block.
func (f *Files) attachFile(q *effect.AttachFile) (effect.Result, error) {
	data, err := f.attached(q.Path)
	if err != nil {
		return nil, pathError("attach", q.Path, err)
	}
	file, ok := effect.NewAttachedFile(q.Path, data)
	if !ok {
		return nil, pathError("attach", q.Path, errors.New("it is not an image (PNG, JPEG, GIF, WebP), a PDF or UTF-8 text"))
	}
	return file, nil
}

func (f *Files) attached(path string) ([]byte, error) {
	var info os.FileInfo
	err := f.usePlace(&f.reads, path, true, func(p place, name string) (err error) {
		info, err = p.Stat(name)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	}
	file, err := f.openFile(path, os.O_RDONLY|nonblock)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > effect.MaxAttached:
		return nil, errLargeAttachment
	}
	data, err := readAll(file, info.Size(), effect.MaxAttached)
	if errors.Is(err, errTooLarge) { // the file has grown since its size was read
		err = errLargeAttachment
	}
	return data, err
}
