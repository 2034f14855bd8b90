//go:build !unix

package keeper

import (
	"errors"
	"net"
	"os"
)

// sendFiles returns an error, because this system cannot send files.
func sendFiles(*net.UnixConn, []byte, ...int) error { return errors.ErrUnsupported }

// readByte reads one byte.
func readByte(conn *net.UnixConn) (b byte, files []*os.File, err error) {
	var text [1]byte
	if n, err := conn.Read(text[:]); err != nil || n == 0 {
		return 0, nil, errEnded(err)
	}
	return text[0], nil, nil
}
