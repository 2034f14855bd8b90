// Package sse reads streams of server-sent events as the HTML standard defines them.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Event is one event. Retry is the requested delay before a reconnection, in milliseconds, as the
// server wrote it.
type Event struct {
	Name, ID, Retry string
	Data            []byte // lines joined by line feeds
}

// ErrTooLong is the error for an event that is longer than the limit.
var ErrTooLong = errors.New("an event is too long")

// Reader reads the events of a stream.
type Reader struct {
	in    *bufio.Reader
	limit int
	begun bool
	cr    bool // the last line ended with CR, so a following LF belongs to its end
	line  []byte
	data  []byte
}

// NewReader returns a Reader of events that are at most limit bytes long; 0 means no limit.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 4096), limit: limit}
}

// Next returns the next event that sets a field. Data is valid until the next call; it is empty for
// an event that only prevents a timeout of the connection or sets an id, which a client must not
// dispatch. An event without the blank line at its end is returned with io.ErrUnexpectedEOF.
func (r *Reader) Next() (Event, error) {
	var e Event
	set, size := false, 0
	r.data = r.data[:0]
	hasData := false
	for {
		line, err := r.readLine(size)
		if err != nil && (err != io.EOF || len(line) == 0) {
			if err == io.EOF && set {
				err = io.ErrUnexpectedEOF
			}
			e.Data = r.data
			return e, err
		}
		size += len(line)
		if len(line) == 0 {
			if !set {
				continue
			}
			e.Data = r.data
			return e, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if hasData {
				r.data = append(r.data, '\n')
			}
			r.data, hasData = append(r.data, value...), true
		case "event":
			e.Name = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.ID = string(value)
			}
		case "retry":
			e.Retry = string(value)
		default:
			continue // a comment or an unknown field
		}
		set = true
	}
}

// readLine returns the next line without its end, which is CR, LF or both. It does not wait for the
// byte after a CR. used is the size of the event so far. At the end of the stream it returns the
// rest with io.EOF.
func (r *Reader) readLine(used int) ([]byte, error) {
	r.line = r.line[:0]
	for {
		if r.in.Buffered() == 0 {
			if _, err := r.in.Peek(1); err != nil {
				return r.line, err
			}
		}
		if !r.begun {
			r.begun = true
			first, _ := r.in.Peek(1)
			if first[0] != 0xef { // waiting for more bytes could delay an event
				continue
			}
			if mark, _ := r.in.Peek(3); string(mark) == "\xef\xbb\xbf" {
				_, _ = r.in.Discard(len(mark)) // cannot fail, because they are buffered
				continue
			}
		}
		part, _ := r.in.Peek(r.in.Buffered())
		if r.cr && part[0] == '\n' {
			_, _ = r.in.Discard(1)
			r.cr = false
			continue
		}
		r.cr = false
		end := bytes.IndexAny(part, "\r\n")
		if end < 0 {
			end = len(part)
		}
		if r.limit > 0 && used+len(r.line)+end > r.limit {
			return nil, ErrTooLong
		}
		r.line = append(r.line, part[:end]...)
		if end == len(part) {
			_, _ = r.in.Discard(end)
			continue
		}
		r.cr = part[end] == '\r'
		_, _ = r.in.Discard(end + 1)
		return r.line, nil
	}
}
