package holder

import (
	"errors"
	"net"
)

// Listen fails because a page has no sockets.
func Listen(string, string) (l net.Listener, at string, err error) {
	return nil, "", errors.ErrUnsupported
}

// Dial fails because a page has no sockets.
func Dial(string, string) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }
