package keeper

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/process/disk"
)

// spool stores the output of a host, line by line. The last line may be incomplete, and a very long
// line is stored in pieces. While a client is connected, the newest output is in memory, because it
// is no longer needed once it is journaled, usually soon. The other output is in a file. Marks
// replace the secrets in both.
type spool struct {
	f      disk.File
	size   int64  // size of the stored output in bytes, in the form of the file
	inFile int64  // number of these bytes that are in the file
	recent []byte // the other bytes
	direct bool   // all output must be in the file, because no client is connected

	lines, bytes int64      // numbers of lines and bytes in the whole output so far
	begin        checkpoint // end of the output that is no longer in the file
	checkpoints  []checkpoint
	hide         *redactor
	split        *secret.Lines // finds secrets that are split over lines; nil before the first secret
	// lines whose secrets cannot be restored from the marks, by offset in the file
	unrestorable map[int64][]byte
}

// checkpoint is a position in the output: the numbers of lines and bytes before the position, and
// the corresponding offset in the file.
type checkpoint struct{ lines, bytes, at int64 }

const (
	checkEvery = 1 << 20   // number of bytes of the file between two checkpoints
	maxRead    = 256 << 10 // maximum number of bytes of the file that are read at once
	maxRecent  = 256 << 10 // maximum number of bytes that are not in the file
	// truncateFrom is the minimum size at which a file is truncated after all output is journaled.
	truncateFrom = 16 << 20
)

func newSpool(files disk.Files, dir string, hide *redactor) (*spool, error) {
	err := files.Dir(dir)
	if err == nil { // after a power cut, no other process receives the number of this one
		err = files.SyncDir(path.Dir(dir))
	}
	if err != nil {
		return nil, err
	}
	f, err := files.Open(path.Join(dir, outFile), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &spool{f: f, direct: true, hide: hide, unrestorable: map[int64][]byte{}}, nil
}

// appendText appends output: complete lines, or the last piece of a line. If it fails, it has
// appended nothing.
func (s *spool) appendText(text []byte) error {
	file, odd := text, map[int64][]byte(nil)
	if s.hide.hasSecrets() {
		if s.split == nil {
			s.split = s.hide.newLines()
		}
		file, odd = s.hide.redactLines(s.split, text, s.size)
	}
	before := len(s.recent)
	if s.recent = append(s.recent, file...); s.direct || len(s.recent) > maxRecent {
		if err := s.flush(); err != nil {
			s.recent = s.recent[:before]
			return err
		}
	}
	for at, line := range odd {
		s.unrestorable[at] = line
	}
	if len(s.checkpoints) == 0 || s.size-s.checkpoints[len(s.checkpoints)-1].at >= checkEvery {
		s.checkpoints = append(s.checkpoints, checkpoint{s.lines, s.bytes, s.size})
	}
	s.size += int64(len(file))
	s.lines += int64(bytes.Count(text, []byte{'\n'}))
	s.bytes += int64(len(text))
	return nil
}

// flush writes the recent output to the file. If it fails, the output stays in memory.
func (s *spool) flush() error {
	if len(s.recent) == 0 {
		return nil
	}
	n, err := s.f.WriteAt(s.recent, s.inFile)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, s.f.Truncate(s.inFile))
		}
		return err
	}
	s.inFile += int64(n)
	if s.recent = s.recent[:0]; cap(s.recent) > 2*maxRecent {
		s.recent = nil // frees the memory of a long line
	}
	return nil
}

// filePosition is a position for reading: an offset in the file, and the number of bytes of the
// restored text to skip from there.
type filePosition struct{ at, skip int64 }

// seekLine returns the position after the given number of lines, with the lines and bytes before
// that position. If the line is deleted or not yet written, seekLine returns the nearest position.
func (s *spool) seekLine(lines int64) (filePosition, checkpoint, error) {
	from := s.begin
	for _, c := range s.checkpoints {
		if c.lines <= lines && c.lines >= from.lines {
			from = c
		}
	}
	for from.lines < lines && from.at < s.size {
		raw, text, err := s.readAt(from.at)
		if err != nil {
			return filePosition{}, from, err
		}
		for len(text) > 0 && from.lines < lines {
			line := text
			if i := bytes.IndexByte(text, '\n'); i >= 0 {
				line = text[:i+1]
			} else {
				break // pieces of a line are not counted, because the line begins before them
			}
			text = text[len(line):]
			from.lines++
			from.bytes += int64(len(line))
			n := int64(bytes.IndexByte(raw, '\n') + 1)
			raw, from.at = raw[n:], from.at+n
		}
		if from.lines < lines && len(text) > 0 {
			break
		}
	}
	return filePosition{at: from.at}, from, nil
}

// readAt returns complete lines, or the last piece of a line, from an offset in the file. raw is
// the stored text; text is the text with the secrets restored.
func (s *spool) readAt(at int64) (raw, text []byte, err error) {
	if err := s.flush(); err != nil {
		return nil, nil, err
	}
	size := int64(maxRead)
	for {
		n := min(size, s.size-at)
		raw = make([]byte, n)
		if _, err := s.f.ReadAt(raw, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, err
		}
		if n == s.size-at {
			break
		}
		if end := bytes.LastIndexByte(raw, '\n'); end >= 0 {
			raw = raw[:end+1]
			break
		}
		size *= 2
	}
	return raw, s.hide.restoreLines(raw, at, s.unrestorable), nil
}

// skip adds output that was journaled without being stored. The stored output is journaled, too.
func (s *spool) skip(lines, bytes int64) {
	s.lines, s.bytes = s.lines+lines, s.bytes+bytes
	s.checkpoints, s.begin = nil, checkpoint{lines: s.lines, bytes: s.bytes, at: s.size}
}

// discard deletes the stored output, unless that needs a system call and the file is small. All
// output must be journaled. It reports whether it has deleted the output.
func (s *spool) discard() bool {
	if s.inFile > 0 && (s.size < truncateFrom || s.f.Truncate(0) != nil) {
		return false
	}
	s.recent = s.recent[:0]
	s.size, s.inFile, s.checkpoints, s.begin = 0, 0, nil, checkpoint{lines: s.lines, bytes: s.bytes}
	clear(s.unrestorable)
	return true
}
