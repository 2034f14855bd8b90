// Package ndjson reads and writes lines: one JSON text (or plain text) per line, UTF-8, terminated
// by '\n'. Hosts, emit handlers and journals use it. It does not interpret the lines.
//
// Invariants: The reader's memory is bounded by the line limit plus one chunk. A line is a slice of
// a chunk that is never written again, so lines may be retained without a copy; a retained line
// retains its chunk.
package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// DefaultLimit is the length of the longest line that a Reader accepts by default, in bytes without
// the line end.
const DefaultLimit = 16 << 20

// chunkSize is the maximum size of one read: the capacity of a pipe.
const chunkSize = 64 << 10

// minRead is the smallest space for which a read is worthwhile; with less, a new chunk is begun.
const minRead = 4 << 10

// Line is one line without its end. Half means that the input ended before the line did. Offset is
// the byte offset of the line in the input. Number counts the input's lines, from 1, including
// blank ones.
type Line struct {
	Text   []byte
	Offset int64
	Number int64
	Half   bool
}

// TooLongError reports a line longer than the limit. The reader cannot be used after it. Size is
// the number of bytes of the line that had been read.
type TooLongError struct {
	Offset int64
	Size   int
	Limit  int
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("line of more than %d bytes at offset %d (%d read)", e.Limit, e.Offset, e.Size)
}

// EncodingError reports a line that is not UTF-8, which is Text. Size is the line's length in
// bytes, At the offset of the first invalid byte in it.
type EncodingError struct {
	Offset int64
	Size   int
	At     int
	Text   []byte
}

func (e *EncodingError) Error() string {
	return fmt.Sprintf("invalid UTF-8 in a line of %d bytes at offset %d (byte %d of it)", e.Size, e.Offset, e.At)
}

// Reader reads lines from a stream. It drops a byte order mark before the first line and the '\r'
// of a "\r\n", and skips lines of white space. It is not safe for concurrent use.
type Reader struct {
	src     io.Reader
	limit   int
	buf     []byte // the current chunk: buf[start:end] is read and not returned
	start   int
	end     int
	scanned int   // buf[start:scanned] holds no '\n'
	offset  int64 // of buf[start] in the input
	number  int64 // of the lines before it
	begun   bool  // the position of a byte order mark has been passed
	err     error // the error of the source
	ahead   Line  // read by Ready; its Text is nil if there is none
}

// NewReader returns a reader of lines of at most limit bytes from src; 0 means DefaultLimit.
func NewReader(src io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: src, limit: limit}
}

// StartAfter returns a reader of the rest of an input of which this many lines, with this many
// bytes, were read already. It must be called before the first line is read.
func (r *Reader) StartAfter(lines, bytes int64) *Reader {
	r.number, r.offset, r.begun = lines, bytes, lines > 0
	return r
}

// NextLine returns the next line that is not blank. The error is io.EOF at the end, a
// *TooLongError, an *EncodingError, or the source's error, which comes after all complete lines
// before it. After an error of the source whose method Timeout returns true, such as that of a
// deadline, Next may be called again: nothing is lost.
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

// Ready reports whether Next would return without reading from the source.
func (r *Reader) Ready() bool {
	for r.ahead.Text == nil && r.err == nil {
		n := r.find()
		if n < 0 {
			return false
		}
		// A blank line results in none; an invalid one sets err.
		r.ahead, _ = r.take(n, false)
	}
	return true
}

// find returns the length of the line at start, or -1 if its end has not been read.
func (r *Reader) find() int {
	if i := bytes.IndexByte(r.buf[r.scanned:r.end], '\n'); i >= 0 {
		r.scanned += i
		return r.scanned - r.start
	}
	r.scanned = r.end
	return -1
}

// take consumes the line of n bytes at start; its Text is nil if it is blank.
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
	if !utf8.Valid(text) {
		return Line{}, r.fail(&EncodingError{Offset: offset, Size: len(text), At: invalidAt(text), Text: text})
	}
	return Line{Text: text, Offset: offset, Number: r.number, Half: half}, nil
}

// fail makes err the result of every later call: a broken stream stays broken.
func (r *Reader) fail(err error) error {
	r.start, r.scanned, r.end, r.err = 0, 0, 0, err
	return err
}

// fill reads once into the chunk, or into a new chunk to which the incomplete line is moved.
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

// timeout reports whether the source can be read again after err.
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

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		c, n := utf8.DecodeRune(b[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}
