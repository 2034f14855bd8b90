//go:build !unix

package nonblock

import "io"

// NewReader returns the connection itself.
func NewReader(c Conn) (io.Reader, error) { return c, nil }
