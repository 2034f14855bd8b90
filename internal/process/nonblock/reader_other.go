//go:build !unix

package nonblock

import "io"

func newReader(c Conn) (io.Reader, error) { return c, nil }
