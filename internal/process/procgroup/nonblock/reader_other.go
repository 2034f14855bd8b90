//go:build !unix

package nonblock

import (
	"errors"
	"io"
)

// NewReader returns the connection itself.
func NewReader(c Conn) (io.Reader, error) { return c, nil }

// NewReaderBy returns an error, because this system has no descriptors.
func NewReaderBy(Conn, func(fd int, b []byte) (int, error)) (io.Reader, error) {
	return nil, errors.ErrUnsupported
}

// Read returns an error, because this system has no descriptors.
func Read(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
