//go:build !linux && !js

package holder

import (
	"net"
	"os"
	"path/filepath"
)

// socketPath is a length of socket paths, in bytes, that every system supports.
const socketPath = 100

// Listen creates a socket in the directory dir, or in a new directory if the path would be too
// long. Only this user can connect to it. It returns the path at to pass to Dial.
func Listen(dir, name string) (l net.Listener, at string, err error) {
	at = name
	path := filepath.Join(dir, at)
	if len(path) > socketPath {
		own, err := os.MkdirTemp("", "concerto-")
		if err != nil {
			return nil, "", err
		}
		path = filepath.Join(own, name)
		at = path
	}
	_ = os.Remove(path) // a killed holder may have left its socket
	l, err = net.Listen("unix", path)
	if err != nil {
		return nil, "", err
	}
	return l, at, os.Chmod(path, 0o600)
}

// Dial connects to a socket that Listen has created.
func Dial(dir, at string) (*net.UnixConn, error) {
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	conn, err := net.Dial("unix", at)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}
