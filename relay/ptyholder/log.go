package ptyholder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The log consists of segments of segmentBytes. The holder retains at least the last retainedBytes
// of the log, and all output that hostd has not stored.
const (
	segmentBytes  = 8 << 20
	retainedBytes = 64 << 20
)

// segment returns the name of a segment's file: out for the first segment, then out.1, out.2 and so
// on.
func segment(dir string, n int64) string {
	if n == 0 {
		return filepath.Join(dir, "out")
	}
	return filepath.Join(dir, "out."+strconv.FormatInt(n, 10))
}

// log is the log of a run's output, as the holder writes it.
type log struct {
	dir   string
	size  int64
	f     *os.File
	first int64 // number of the first existing segment
}

func openLog(dir string) (*log, error) {
	l := &log{dir: dir}
	return l, l.open()
}

func (l *log) open() (err error) {
	l.f, err = os.OpenFile(segment(l.dir, l.size/segmentBytes), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the run's log: %w", err)
	}
	return nil
}

// append appends b to the log and returns the number of bytes that it wrote.
func (l *log) append(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		if l.f == nil {
			if err := l.open(); err != nil {
				return done, err
			}
		}
		part := b[done:]
		if room := segmentBytes - l.size%segmentBytes; int64(len(part)) > room {
			part = part[:room]
		}
		n, err := l.f.Write(part)
		done += n
		l.size += int64(n)
		if err != nil {
			return done, err
		}
		if l.size%segmentBytes == 0 {
			l.f.Close()
			l.f = nil
		}
	}
	return done, nil
}

// prune deletes segments that hostd has stored completely, except for the retained ones.
func (l *log) prune(stored int64) {
	for ; (l.first+1)*segmentBytes <= min(stored, l.size-retainedBytes); l.first++ {
		_ = os.Remove(segment(l.dir, l.first)) // ignore the error: the file only wastes space
	}
}

// ReadLog reads a log at an offset. at is the offset of the first byte that it returns, which is
// greater than off if earlier output was deleted. It returns io.EOF if there is no more output at
// present.
func ReadLog(dir string, off int64, b []byte) (n int, at int64, err error) {
	for {
		f, err := os.Open(segment(dir, off/segmentBytes))
		if errors.Is(err, fs.ErrNotExist) {
			next, ok := nextSegment(dir, off/segmentBytes)
			if !ok {
				return 0, off, io.EOF
			}
			off = next * segmentBytes
			continue
		}
		if err != nil {
			return 0, off, fmt.Errorf("read a run's log: %w", err)
		}
		in := off % segmentBytes
		n, err = f.ReadAt(b[:min(int64(len(b)), segmentBytes-in)], in)
		f.Close()
		if n > 0 {
			return n, off, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, off, fmt.Errorf("read a run's log: %w", err)
		}
		return 0, off, io.EOF
	}
}

// nextSegment returns the number of the first existing segment after n.
func nextSegment(dir string, n int64) (int64, bool) {
	names, _ := filepath.Glob(filepath.Join(dir, "out.*"))
	best, found := int64(0), false
	for _, name := range names {
		i, err := strconv.ParseInt(filepath.Ext(name)[1:], 10, 64)
		if err == nil && i > n && (!found || i < best) {
			best, found = i, true
		}
	}
	return best, found
}

// LogSize returns the length of a log.
func LogSize(dir string) int64 {
	last := int64(-1)
	if _, err := os.Stat(segment(dir, 0)); err == nil {
		last = 0
	}
	for next, ok := nextSegment(dir, last); ok; next, ok = nextSegment(dir, last) {
		last = next
	}
	info, err := os.Stat(segment(dir, max(last, 0)))
	if err != nil {
		return 0
	}
	return max(last, 0)*segmentBytes + info.Size()
}
