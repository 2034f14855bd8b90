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

// BrokenError means that a log was changed, or that a file is not a log. It identifies the first
// record that does not follow the previous ones.
type BrokenError struct {
	File string
	Line int   // number of the line, from 1
	Seq  int64 // number of the record, or the expected number if the line contains none
	Why  string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%s:%d: seq %d: %s", e.File, e.Line, e.Seq, e.Why)
}

// Position is a position in a log after a verified record. The zero value is the start of the log.
type Position struct {
	head Head
	line int
	size int64
}

// Offset returns the position in bytes.
func (p Position) Offset() int64 { return p.size }

// Lines returns an iterator over the verified records of a log. It stops after the first error,
// which is a *BrokenError or an error of reading. name is the log's name in messages.
func Lines(r io.Reader, name string) iter.Seq2[Line, error] { return LinesFrom(r, name, Position{}) }

// LinesFrom is like Lines, but starts at a position, at which r must be. The At field of a line is
// the position after it.
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
	size int64 // size in bytes of the complete lines

	owned bool // see Options.Owned
}

// tornError means that the last line of a log is incomplete.
type tornError struct{ bytes int64 }

func (tornError) Error() string { return "the last line is cut off" }

// maxLine limits the length of a line, in bytes.
const maxLine = 256 << 20

func (c *reader) next() (Line, error) {
	text, err := c.readLine()
	if err == io.EOF && len(text) == 0 {
		return Line{}, io.EOF
	}
	c.line++
	if errors.Is(err, bufio.ErrTooLong) {
		return Line{}, c.newBrokenError(Line{}, errors.New("not a record: the line is longer than 256 MiB"))
	}
	if err != nil && err != io.EOF {
		return Line{}, fmt.Errorf("read audit log %s: %w", c.name, err)
	}
	if err == io.EOF {
		if !c.mayBeTorn(text) {
			return Line{}, c.newBrokenError(Line{}, errors.New("not a record: it does not begin as one"))
		}
		return Line{}, c.newBrokenError(Line{}, tornError{int64(len(text))})
	}
	l, err := read(bytes.TrimSuffix(text, []byte("\n")), c.head)
	if err != nil {
		return l, c.newBrokenError(l, err)
	}
	c.head = Head{l.Seq, l.Hash}
	c.size += int64(len(text))
	l.At = Position{c.head, c.line, c.size}
	return l, nil
}

// trust verifies a line that begins at an offset, but not that it follows the line before.
func (c *reader) trust(text []byte, at int64) error {
	text = bytes.TrimSuffix(text, []byte("\n"))
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return c.newBrokenError(l, fmt.Errorf("not a record: %w", err))
	}
	c.line = int(l.Seq)
	if _, err := read(text, Head{l.Seq - 1, l.Prev}); err != nil {
		return c.newBrokenError(l, err)
	}
	c.head, c.size = Head{l.Seq, l.Hash}, at+int64(len(text))+1
	return nil
}

// readLine reads a line with its newline. It returns bufio.ErrTooLong if the line is longer than
// maxLine.
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

// maxZeros is the maximum size in bytes of a file of NUL bytes that counts as a log, unless the
// file is owned. It is longer than most records.
const maxZeros = 4096

// mayBeTorn reports whether the text after the last newline may be an incomplete record. Open
// removes such a text, so a text of another file format must not qualify. After a power failure the
// end of the text, or all of it, may consist of NUL bytes.
func (c *reader) mayBeTorn(text []byte) bool {
	begin := bytes.TrimRight(text, "\x00")
	if len(begin) == 0 && c.line == 1 {
		return c.owned || len(text) <= maxZeros
	}
	n := min(len(begin), len(recordStart))
	return string(begin[:n]) == recordStart[:n]
}

// brokenBy is a BrokenError that also wraps its cause.
type brokenBy struct {
	*BrokenError
	cause error
}

func (e brokenBy) Unwrap() []error { return []error{e.BrokenError, e.cause} }

func (c *reader) newBrokenError(l Line, err error) error {
	seq := l.Seq
	if seq == 0 {
		seq = c.head.Seq + 1
	}
	return brokenBy{&BrokenError{c.name, c.line, seq, err.Error()}, err}
}

// Summary contains the counts of a verified log.
type Summary struct {
	Records    int64
	Calls      int64
	Unfinished int64 // number of calls without a record of their end
	Head       Head
}

func (s Summary) String() string {
	return fmt.Sprintf("%d records, %d calls, %d unfinished, head %s", s.Records, s.Calls, s.Unfinished, s.Head.Hash)
}

// Verify verifies a log. head, if not "", is the hash of an earlier last record. If no record has
// this hash, the end of the log was cut off.
func Verify(r io.Reader, name, head string) (Summary, error) {
	return VerifyEach(r, name, head, func(Line) error { return nil })
}

// VerifyEach is like Verify, and calls check for each record. An error of check is returned as a
// *BrokenError of that record.
func VerifyEach(r io.Reader, name, head string, check func(Line) error) (Summary, error) {
	s := Summary{Head: start}
	open := map[string]int64{}
	found, n := head == "" || head == start.Hash, 0
	for l, err := range Lines(r, name) {
		if err != nil {
			return s, err
		}
		n++
		if err := check(l); err != nil {
			return s, &BrokenError{name, n, l.Seq, err.Error()}
		}
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
		return s, &BrokenError{name, n, s.Head.Seq, fmt.Sprintf("no record has the hash %s: the end of the log was cut off, or this is another log", head)}
	}
	return s, nil
}

// call returns the id of the call that a record is about, or "".
func (l Line) call() string {
	subject := l.subject()
	return l.Run + "\x00" + subject.Call
}

type subject struct {
	Tool    string `json:"tool"`
	Version int    `json:"version"`
	Call    string `json:"call"`
	// Members of a decision.
	Effect int64           `json:"effect"`
	Host   string          `json:"host"`
	ID     json.RawMessage `json:"id"`
	Line   string          `json:"line"` // of the host, if no exchange was running
}

func (l Line) subject() subject {
	var s subject
	_ = json.Unmarshal(l.Subject, &s) // a subject without a call leaves s empty
	return s
}
