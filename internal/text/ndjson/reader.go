// Package ndjson reads and writes lines: one JSON text (or plain text) per line, in UTF-8,
// terminated by '\n'. Hosts, emit handlers and journals use it. It does not interpret the lines.
//
// The memory of a Reader is limited to the maximum length of a line plus one chunk. A line is a
// slice of a chunk. A chunk is never overwritten, so a caller may retain a line without copying it;
// a retained line holds its whole chunk in memory.
package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// DefaultLimit is the default maximum length of a line, in bytes without the line end.
const DefaultLimit = 16 << 20

// chunkSize is the maximum size of one read in bytes, which is the capacity of a pipe.
const chunkSize = 64 << 10

// minRead is the minimum free space, in bytes, for reading into the current chunk. With less space,
// the reader allocates a new chunk.
const minRead = 4 << 10

// Line is one line without its line end. Half is true if the input ended before the line end.
// Offset is the byte offset of the line in the input. Number is the number of the line in the
// input, counted from 1 and including blank lines.
type Line struct {
	Text   []byte
	Offset int64
	Number int64
	Half   bool
}

// TooLongError is the error for a line that is longer than the limit. The reader cannot be used
// afterwards. Size is the number of bytes of the line that were read.
type TooLongError struct {
	Offset int64
	Size   int
	Limit  int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("line of more than %d bytes at offset %d (%d read)", e.Limit, e.Offset, e.Size)
}

// EncodingError is the error for a line that is not UTF-8. Text is the line, and Size its length in
// bytes. At is the offset of the first invalid byte in the line.
type EncodingError struct {
	Offset int64
	Size   int
	At     int
	Text   []byte
}

func (e *EncodingError) Error() string {
	return fmt.Sprintf("invalid UTF-8 in a line of %d bytes at offset %d (byte %d of it)", e.Size, e.Offset, e.At)
}

// Reader reads lines from a stream. It drops a byte order mark at the beginning, drops the '\r'
// before a '\n', and skips lines that contain only white space. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	limit   int
	buf     []byte // current chunk; buf[start:end] was read but not returned
	start   int
	end     int
	scanned int   // buf[start:scanned] contains no '\n'
	offset  int64 // offset of buf[start] in the input
	number  int64 // number of lines before buf[start]
	begun   bool  // a byte order mark can no longer follow
	err     error // error of the source
	ahead   Line  // line read by Ready; Text is nil if there is none
}

// NewReader returns a Reader of src. limit is the maximum length of a line in bytes; 0 means
// DefaultLimit.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: src, limit: limit}
}

// StartAfter makes the Reader count from the given numbers of lines and bytes, which another reader
// has already read from the input. It must be called before the first line is read. It returns r.
func (r *Reader) StartAfter(lines, bytes int64) *Reader {
	r.number, r.offset, r.begun = lines, bytes, lines > 0
	return r
}

// NextLine returns the next line that is not blank. At the end of the input it returns io.EOF.
// Other errors are a *TooLongError, an *EncodingError, or the error of the source; the latter is
// returned after all complete lines that precede it. If the source's error has a method Timeout
// that returns true, such as the error of a deadline, NextLine may be called again and continues
// without loss.
func (r *Reader) NextLine() (Line, error) {
	if l := r.ahead; l.Text != nil {
		r.ahead = Line{}
		return l, nil
	}
	for {
		n := r.find()
		if n < 0 && r.err == nil {
			if err := r.fill(); err != nil {
				return Line{}, err
			}
			continue
		}
		half := n < 0
		if half {
			if r.start == r.end || !errors.Is(r.err, io.EOF) {
				return Line{}, r.err
			}
			n = r.end - r.start
		}
		l, err := r.take(n, half)
		if err != nil {
			return Line{}, err
		}
		if l.Text != nil {
			return l, nil
		}
	}
}

// Ready reports whether NextLine would return without reading from the source.
func (r *Reader) Ready() bool {
	for r.ahead.Text == nil && r.err == nil {
		n := r.find()
		if n < 0 {
			return false
		}
		// For a blank line, take returns no text. For an invalid line, it sets err.
		r.ahead, _ = r.take(n, false)
	}
	return true
}

// find returns the length of the line at start, or -1 if the line end has not been read yet.
func (r *Reader) find() int {
	if i := bytes.IndexByte(r.buf[r.scanned:r.end], '\n'); i >= 0 {
		r.scanned += i
		return r.scanned - r.start
	}
	r.scanned = r.end
	return -1
}

// take consumes the line of n bytes at start. Text is nil if the line is blank.
func (r *Reader) take(n int, half bool) (Line, error) {
	text, offset := r.buf[r.start:r.start+n:r.start+n], r.offset
	r.number++
	r.start += n
	r.offset += int64(n)
	if !half {
		r.start++
		r.offset++
	}
	r.scanned = r.start
	if !r.begun {
		r.begun = true
		if rest, ok := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); ok {
			text, offset = rest, offset+3
		}
	}
	if k := len(text); k > 0 && text[k-1] == '\r' {
		text = text[:k-1]
	}
	if len(text) > r.limit {
		return Line{}, r.fail(&TooLongError{Offset: offset, Size: len(text), Limit: r.limit})
	}
	if blank(text) {
		return Line{}, nil
	}
	if at := utf8cut.Invalid(text); at >= 0 {
		return Line{}, r.fail(&EncodingError{Offset: offset, Size: len(text), At: at, Text: text})
	}
	return Line{Text: text, Offset: offset, Number: r.number, Half: half}, nil
}

// fail stores err, which every later call returns, and returns it.
func (r *Reader) fail(err error) error {
	r.start, r.scanned, r.end, r.err = 0, 0, 0, err
	return err
}

// fill reads once from the source, into the current chunk or into a new one. It moves an incomplete
// line to the new chunk.
func (r *Reader) fill() error {
	have := r.end - r.start
	if have > r.limit+len("\xef\xbb\xbf\r") {
		return r.fail(&TooLongError{Offset: r.offset, Size: have, Limit: r.limit})
	}
	if len(r.buf)-r.end < minRead {
		size := chunkSize
		if have > chunkSize/2 {
			size = min(2*have, r.limit+chunkSize) + minRead
		}
		next := make([]byte, size)
		copy(next, r.buf[r.start:r.end])
		r.buf, r.start, r.end, r.scanned = next, 0, have, r.scanned-r.start
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		switch {
		case err != nil && timeout(err):
			if n == 0 {
				return err
			}
			return nil
		case err != nil:
			r.err = err
			return nil
		case n > 0:
			return nil
		}
	}
	r.err = io.ErrNoProgress
	return nil
}

// timeout reports whether err is a timeout, after which the source can be read again.
func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\v' && c != '\f' {
			return false
		}
	}
	return true
}
