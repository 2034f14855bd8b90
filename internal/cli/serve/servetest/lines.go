package servetest

import (
	"bufio"
	"io"
)

// Lines returns a connection over two streams with one message per line.
func Lines(r io.Reader, w io.Writer) Wire {
	return lines{bufio.NewReaderSize(r, 1<<20), w}
}

type lines struct {
	r *bufio.Reader
	w io.Writer
}

func (l lines) Send(text []byte) error {
	_, err := l.w.Write(append(text, '\n'))
	return err
}

func (l lines) Receive() ([]byte, error) { return l.r.ReadBytes('\n') }
