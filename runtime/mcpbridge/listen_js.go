package mcpbridge

import (
	"errors"
	"net"
)

// listen fails because a page has no sockets.
func listen(string) (net.Listener, error) { return nil, errors.ErrUnsupported }
