// Package frame reads and writes the message frames of the Language Server Protocol and the Debug
// Adapter Protocol: a header with the length, an empty line, and a JSON text.
package frame

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The maximum number of bytes in a message and in a line of its header.
const (
	MaxBody   = 64 << 20
	MaxHeader = 8 << 10
)

// Error reports an invalid frame. After an Error, no more messages can be read from the stream.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

// Read reads one message. It returns io.EOF if the stream ends between messages, and an *Error for
// an invalid frame.
func Read(r *bufio.Reader) ([]byte, error) {
	length, begun := -1, false
	for {
		line, err := headerLine(r)
		if err != nil {
			if begun && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			break
		}
		begun = true
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, &Error{fmt.Sprintf("%.80q is not a header; a message begins with `Content-Length: N`", line)}
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63)
		if err != nil {
			return nil, &Error{fmt.Sprintf("%.80q is not a length: Content-Length is the number of bytes that follow", strings.TrimSpace(value))}
		}
		if n > MaxBody {
			return nil, &Error{fmt.Sprintf("a message has %d bytes, more than the maximum of %d", n, MaxBody)}
		}
		length = int(n)
	}
	if length < 0 {
		return nil, &Error{"a header has no Content-Length"}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body, nil
}

// headerLine reads a line of a header and returns it without the line end.
func headerLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > MaxHeader:
			return "", &Error{fmt.Sprintf("a header is longer than %d bytes; a message begins with `Content-Length: N`", MaxHeader)}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return "", io.ErrUnexpectedEOF
		case err != nil:
			return "", err
		default:
			return strings.TrimRight(string(line), "\r\n"), nil
		}
	}
}

// Encode returns the frame of a message: the header followed by the body.
func Encode(body []byte) []byte {
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
}
