package workdirfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// MaxRead is the maximum number of bytes that are read from a file.
const MaxRead = 1 << 20

// Read returns a text file or a part of it, which does not begin or end within a character. The
// hash is that of the complete file, whose size is limited only by ctx.
func (s *Scope) Read(ctx context.Context, q protocol.ReadFile) (*protocol.ReadFileResult, error) {
	path, err := cleanPath(q.Path)
	if err != nil {
		return nil, err
	}
	f, info, err := s.open(path, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	offset, limit := int64(0), int64(MaxRead)
	if q.Offset != nil {
		offset = *q.Offset
	}
	if q.Limit != nil {
		limit = min(*q.Limit, MaxRead)
	}
	hash := sha256.New()
	size, err := s.hash(ctx, hash, path, f)
	if err != nil {
		return nil, err
	}
	text := make([]byte, max(0, min(limit, size-offset)))
	if _, err := f.ReadAt(text, offset); err != nil && err != io.EOF {
		return nil, s.pathError(path, err)
	}
	cut := offset+int64(len(text)) < size
	text, ok := trimText(text, offset > 0, cut)
	if !ok {
		return nil, errorf(protocol.NotText, "%s is not UTF-8", path)
	}
	return &protocol.ReadFileResult{Path: q.Path, Content: string(text), Truncated: cut, Size: info.Size(), SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

// hash writes the content of a file to h until ctx is done. It returns the number of bytes.
func (s *Scope) hash(ctx context.Context, h io.Writer, path string, f io.Reader) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, protocol.RPCTimeout)
	defer cancel()
	for ctx.Err() == nil {
		n, err := io.CopyN(h, f, MaxRead)
		size += n
		switch {
		case errors.Is(err, io.EOF):
			return size, nil
		case err != nil:
			return 0, s.pathError(path, err)
		}
	}
	return 0, errorf(protocol.Timeout, "%s is too large to hash within the time limit", path)
}

// trimText removes incomplete characters at the ends where the text was cut. It returns false if
// the remaining text is not valid UTF-8 text.
func trimText(text []byte, cutBefore, cutAfter bool) ([]byte, bool) {
	if cutBefore {
		text = text[utf8cut.Rest(text):]
	}
	if cutAfter {
		text = text[:len(text)-utf8cut.Unfinished(text)]
	}
	return text, utf8.Valid(text)
}

// MaxEntries is the maximum number of entries in a directory listing.
const MaxEntries = 500

// List returns the entries of a directory, sorted by name. It does not follow links.
func (s *Scope) List(q protocol.ListDir) (*protocol.ListDirResult, error) {
	path, err := cleanPath(q.Path)
	if err != nil {
		return nil, err
	}
	f, _, err := s.open(path, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.ReadDir(-1)
	if err != nil {
		return nil, s.pathError(path, err)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	out := &protocol.ListDirResult{Path: q.Path, Entries: []protocol.Entry{}, Truncated: len(all) > MaxEntries}
	if out.Path == "" {
		out.Path = "."
	}
	for _, d := range all[:min(len(all), MaxEntries)] {
		e := protocol.Entry{Name: strings.ToValidUTF8(d.Name(), "\ufffd"), IsDir: d.IsDir(), IsLink: d.Type()&fs.ModeSymlink != 0}
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil { // Info fails if the file was removed since
				size := info.Size()
				e.SizeBytes = &size
			}
		}
		out.Entries = append(out.Entries, e)
	}
	return out, nil
}
