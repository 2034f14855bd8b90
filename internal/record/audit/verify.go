package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// BrokenError is a log that was changed, or is none: the first record of it that
// does not follow from those before.
type BrokenError struct {
	File string
	Line int   // from 1
	Seq  int64 // what the record calls itself, else what it should
	Why  string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s:%d: seq %d: %s", e.File, e.Line, e.Seq, e.Why)
}

// Position is a place in a log behind one of its records, up to which it was verified. The
// zero value is the log's beginning.
type Position struct {
	head Head
	line int
	size int64
}

// Offset is the bytes before it.
func (p Position) Offset() int64 { return p.size }

// Lines reads a log and holds each line to those before it. It ends with the first
// error: a *BrokenError, or that of reading. name is for messages.
func Lines(r io.Reader, name string) iter.Seq2[Line, error] { return LinesFrom(r, name, Position{}) }

// LinesFrom is Lines from a position on, at which r is. Each line has its own in At.
func LinesFrom(r io.Reader, name string, at Position) iter.Seq2[Line, error] {
	if at.line == 0 {
		at.head = start
	}
	return func(yield func(Line, error) bool) {
		c := reader{in: bufio.NewReaderSize(r, 1<<16), name: name, head: at.head, line: at.line, size: at.size}
		for {
			l, err := c.next()
			if err == io.EOF {
				return
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

type reader struct {
	in   *bufio.Reader
	name string
	head Head
	line int
	size int64 // of the lines that are whole
}

// torn is the last line of a log, without its end.
type torn struct{ bytes int64 }

func (torn) Error() string { return "the last line is cut off" }

// maxLine bounds a line, in bytes.
const maxLine = 256 << 20

func (c *reader) next() (Line, error) {
	text, err := c.readLine()
	if err == io.EOF && len(text) == 0 {
		return Line{}, io.EOF
	}
	c.line++
	if errors.Is(err, bufio.ErrTooLong) {
		return Line{}, c.broken(Line{}, errors.New("not a record: the line is longer than 256 MiB"))
	}
	if err != nil && err != io.EOF {
		return Line{}, fmt.Errorf("read audit log %s: %w", c.name, err)
	}
	if err == io.EOF {
		if !c.mayBeTorn(text) {
			return Line{}, c.broken(Line{}, errors.New("not a record: it does not begin as one"))
		}
		return Line{}, c.broken(Line{}, torn{int64(len(text))})
	}
	l, err := read(bytes.TrimSuffix(text, []byte("\n")), c.head)
	if err != nil {
		return l, c.broken(l, err)
	}
	c.head = Head{l.Seq, l.Hash}
	c.size += int64(len(text))
	l.At = Position{c.head, c.line, c.size}
	return l, nil
}

// readLine reads a line with its end. The error of a line of more than maxLine bytes is
// bufio.ErrTooLong.
func (c *reader) readLine() ([]byte, error) {
	var text []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			return nil, bufio.ErrTooLong
		}
		text = append(text, part...)
		if err != bufio.ErrBufferFull {
			return text, err
		}
	}
}

// mayBeTorn reports whether the text at a log's end may be what is left of a record that was
// being written. Open cuts such a text off, so it must not be the text of another file. After
// a power cut it may consist of NUL bytes.
func (c *reader) mayBeTorn(text []byte) bool {
	n := min(len(text), len(recordStart))
	return string(text[:n]) == recordStart[:n] || c.line > 1 && len(bytes.Trim(text, "\x00")) == 0
}

// brokenBy is a BrokenError that knows what was found.
type brokenBy struct {
	*BrokenError
	cause error
}

func (e brokenBy) Unwrap() []error { return []error{e.BrokenError, e.cause} }

func (c *reader) broken(l Line, err error) error {
	seq := l.Seq
	if seq == 0 {
		seq = c.head.Seq + 1
	}
	return brokenBy{&BrokenError{c.name, c.line, seq, err.Error()}, err}
}

// Summary is what a log holds.
type Summary struct {
	Records    int64
	Calls      int64
	Unfinished int64 // calls without the record of their end
	Head       Head
}

func (s Summary) String() string {
	return fmt.Sprintf("%d records, %d calls, %d unfinished, head %s", s.Records, s.Calls, s.Unfinished, s.Head.Hash)
}

// Verify goes through a log. With a head, a hash that was noted once, one of its
// records must have it: else the log's end was cut off.
func Verify(r io.Reader, name, head string) (Summary, error) {
	s := Summary{Head: start}
	open := map[string]int64{}
	found, n := head == "", 0
	for l, err := range Lines(r, name) {
		if err != nil {
			return s, err
		}
		n++
		s.Records++
		s.Head = Head{l.Seq, l.Hash}
		found = found || l.Hash == head
		switch l.Kind {
		case KindCall:
			s.Calls++
			open[l.call()]++
		case KindDone:
			if key := l.call(); open[key] > 0 {
				open[key]--
			}
		}
	}
	for _, n := range open {
		s.Unfinished += n
	}
	if !found {
		return s, &BrokenError{name, n, s.Head.Seq, fmt.Sprintf("no record has the hash %s: the end of the log was cut off, or it is another log", head)}
	}
	return s, nil
}

// call names the call that a record is about.
func (l Line) call() string {
	subject := l.subject()
	return l.Run + "\x00" + subject.Call
}

type subject struct {
	Tool    string `json:"tool"`
	Version int    `json:"version"`
	Call    string `json:"call"`
	// Of a decision.
	Effect int64           `json:"effect"`
	Host   string          `json:"host"`
	ID     json.RawMessage `json:"id"`
}

func (l Line) subject() subject {
	var s subject
	_ = json.Unmarshal(l.Subject, &s) // of another form: it names nothing
	return s
}
