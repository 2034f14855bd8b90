//go:build !js

package mcpbridge

import "net"

// listen opens a socket.
func listen(path string) (net.Listener, error) { return net.Listen("unix", path) }
