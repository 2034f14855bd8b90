package serve

import (
	"bufio"
	"errors"
	"io"
)

// lines reads messages, one per line.
type lines struct {
	r    *bufio.Reader
	most int
}

// errLong is returned for a line that is too long. The line has been skipped.
var errLong = errors.New("the line is too long")

func newLines(r io.Reader, most int) *lines {
	return &lines{bufio.NewReaderSize(r, 64<<10), most}
}

// next returns the next line that is not blank, without the newline. It returns errLong for a line
// that is too long, after which it can be called again, and otherwise the reader's error.
func (l *lines) next() ([]byte, error) {
	for {
		text, err := l.line()
		if err != nil || !blank(text) {
			return text, err
		}
	}
}

func blank(text []byte) bool {
	for _, b := range text {
		if b != ' ' && b != '\t' && b != '\r' {
			return false
		}
	}
	return true
}

func (l *lines) line() ([]byte, error) {
	var whole []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if n := len(part); n > 0 && part[n-1] == '\n' {
			part = part[:n-1]
		}
		if long = long || len(whole)+len(part) > l.most; long {
			whole = nil
		} else {
			whole = append(whole, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || len(whole) == 0 && !long):
			return nil, err
		case long:
			return nil, errLong
		}
		return whole, nil
	}
}
