package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/concerto-lang/concerto/runtime/sse"
)

// maxAnswer is the maximum size of a response body, in bytes.
const maxAnswer = 32 << 20

// maxErrorBody is the number of bytes that are read of a response with an error status.
const maxErrorBody = 256 << 10

// errTooLong is the error for a response that is longer than maxAnswer.
var errTooLong = errors.New("the response is too long")

// bounded is a reader that reads at most maxAnswer bytes and counts them.
type bounded struct {
	r io.Reader
	n int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n >= maxAnswer {
		// Only one more read shows whether the response is longer than the limit.
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

// frames reads the events of a streamed response.
type frames struct {
	in    *bufio.Reader // of framings other than SSE
	sse   *sse.Reader
	by    framing
	line  []byte // beginning of a line that is longer than the buffer
	event []byte
}

func newFrames(r io.Reader, f framing) *frames {
	if f == framedSSE {
		return &frames{sse: sse.NewReader(r, 0), by: f} // the size of the response is limited
	}
	return &frames{in: bufio.NewReaderSize(r, 4096), by: f}
}

// nextEvent returns the data of the next event, which is valid until the next call, or io.EOF after
// the last event. An SSE event without data only prevents a timeout. If the response breaks
// off, an unfinished SSE event is dropped. An unfinished NDJSON line is returned; decoding shows
// whether its JSON is complete.
func (f *frames) nextEvent() ([]byte, error) {
	f.event = f.event[:0]
	switch f.by {
	case framedAWS:
		return f.awsEvent()
	case framedSSE:
		for {
			e, err := f.sse.Next()
			if err == io.ErrUnexpectedEOF {
				err = io.EOF
			}
			if err != nil || len(e.Data) > 0 {
				return e.Data, err
			}
		}
	}
	for {
		line, err := f.readLine()
		switch {
		case err != nil && (len(line) == 0 || err != io.EOF):
			return nil, err
		case len(line) > 0:
			return line, nil
		}
	}
}

// readLine reads a line without its line end, which is LF or CRLF.
func (f *frames) readLine() ([]byte, error) {
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
