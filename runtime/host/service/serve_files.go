package service

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// fileLimit is the maximum number of bytes of a file that are read or written at once.
const fileLimit = 16 << 20

// Reasons why a file is not returned.
var (
	errMoved   = errors.New("it was replaced while it was opened")
	errNoFile  = errors.New("it is not a regular file")
	errNoText  = errors.New("it is not UTF-8 text")
	errTooLong = fmt.Errorf("it has more than %d MB: ask for a part of it with line and limit", fileLimit>>20)
)

func (s *Service) readFile(e *adapter.Request) (any, *adapter.RPCError) {
	var q adapter.File
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, err.Error())
	}
	if q.Line != nil && *q.Line < 0 || q.Limit != nil && *q.Limit < 0 {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, "line and limit count from 1 and from 0")
	}
	f, err := s.openFile(q.Path, os.O_RDONLY)
	if err != nil {
		return nil, fileFailed(q.Path, err)
	}
	defer f.Close()
	text, err := partOf(f, q.Line, q.Limit)
	if err != nil {
		return nil, fileFailed(q.Path, err)
	}
	return map[string]any{"content": text}, nil
}

// partOf reads limit lines, starting at the given line, with their line ends. A nil
// line means the first line, and a nil limit means no limit.
func partOf(r io.Reader, line, limit *int) (string, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; line != nil && n < *line; n++ {
		if err := skipLine(in); err == io.EOF {
			return "", nil
		} else if err != nil {
			return "", err
		}
	}
	var out bytes.Buffer
	for n := 0; limit == nil || n < *limit; {
		piece, err := in.ReadSlice('\n')
		out.Write(piece)
		switch {
		case out.Len() > fileLimit:
			return "", errTooLong
		case err == nil:
			n++
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			limit = &n
		default:
			return "", err
		}
	}
	if !utf8.Valid(out.Bytes()) {
		return "", errNoText
	}
	return out.String(), nil
}

func skipLine(in *bufio.Reader) error {
	for {
		_, err := in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// openFile opens a file whose real path was checked before. After opening, it checks the path
// again, so that a link cannot have replaced the file in the meantime.
func (s *Service) openFile(path string, flags int) (*os.File, error) {
	at, ok := s.opts.Resolve(path)
	if !ok {
		return nil, errors.New("its real path could not be determined")
	}
	if err := s.opts.MayAccess(at, flags&os.O_WRONLY != 0); err != nil {
		return nil, err
	}
	before, err := os.Lstat(at)
	creates := flags&os.O_CREATE != 0 && errors.Is(err, os.ErrNotExist)
	switch {
	case creates:
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return nil, err
		}
		flags |= os.O_EXCL
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, errNoFile
	}
	f, err := os.OpenFile(at, flags, 0o666)
	if err != nil {
		return nil, err
	}
	if err := s.still(path, at, f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// still returns an error unless path still resolves to at and at is still the open file f.
func (s *Service) still(path, at string, f *os.File) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(at)
	resolved, ok := s.opts.Resolve(path)
	if err != nil || !ok || resolved != at || !os.SameFile(opened, now) {
		return errMoved
	}
	return nil
}

func (s *Service) writeFile(e *adapter.Request) (any, *adapter.RPCError) {
	var q adapter.File
	if err := json.Unmarshal(e.Params, &q); err != nil {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, err.Error())
	}
	if strings.HasSuffix(q.Path, "/") {
		return nil, adapter.NewRPCError(adapter.CodeInvalid, q.Path+" is no file")
	}
	f, err := s.openFile(q.Path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, fileFailed(q.Path, err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteString(q.Content)
	}
	if end := f.Close(); err == nil {
		err = end
	}
	if err != nil {
		return nil, fileFailed(q.Path, err)
	}
	return map[string]any{}, nil
}
