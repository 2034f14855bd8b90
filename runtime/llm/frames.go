package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxAnswer bounds an answer's body, in bytes.
const maxAnswer = 32 << 20

// errTooLong is the error of an answer beyond maxAnswer.
var errTooLong = errors.New("the answer is too long")

// bounded reads at most maxAnswer bytes and counts them.
type bounded struct {
	r io.Reader
	n int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n >= maxAnswer {
		// Whether more comes tells a long answer from one that just fits.
		var one [1]byte
		for {
			n, err := b.r.Read(one[:])
			if n > 0 {
				return 0, errTooLong
			}
			if err != nil {
				return 0, err
			}
		}
	}
	n, err := b.r.Read(p[:min(int64(len(p)), maxAnswer-b.n)])
	b.n += int64(n)
	return n, err
}

// frames reads the events of a streamed answer.
type frames struct {
	in    *bufio.Reader
	by    framing
	line  []byte // of a line that is longer than the buffer
	event []byte
}

func newFrames(r io.Reader, f framing) *frames {
	return &frames{in: bufio.NewReaderSize(r, 4096), by: f}
}

// next gives the data of the next event, valid until the next call, or io.EOF
// after the last one. When the answer breaks off, an unfinished SSE event is
// dropped; an unfinished NDJSON line is given, and decoding tells whether its
// JSON is complete.
func (f *frames) next() ([]byte, error) {
	f.event = f.event[:0]
	if f.by == framedAWS {
		return f.awsEvent()
	}
	for data := false; ; {
		line, err := f.read()
		switch {
		case err != nil && (len(line) == 0 || err != io.EOF):
			return nil, err
		case f.by != framedSSE && len(line) > 0:
			return line, nil
		case f.by != framedSSE:
		case len(line) == 0 && data:
			return f.event, nil
		default:
			value, ok := bytes.CutPrefix(line, []byte("data:"))
			if !ok {
				continue // a comment, or a field that says nothing of the data
			}
			if data {
				f.event = append(f.event, '\n')
			}
			f.event, data = append(f.event, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		if err != nil {
			return nil, err
		}
	}
}

// read reads a line without its end, which is a newline with or without a
// carriage return.
func (f *frames) read() ([]byte, error) {
	f.line = f.line[:0]
	for {
		part, err := f.in.ReadSlice('\n')
		if err == nil && len(f.line) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		f.line = append(f.line, part...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimRight(f.line, "\r\n"), err
		}
	}
}
