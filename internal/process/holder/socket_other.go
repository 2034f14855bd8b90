//go:build !linux

package holder

import (
	"net"
	"os"
	"path/filepath"
)

// socketPath is a length of a socket's path that every system supports.
const socketPath = 100

// Listen opens a socket that only this user can connect to, in the given directory, or in a new
// directory if the path is too long. It returns the path for Dial.
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
	_ = os.Remove(path) // left by a holder that was killed
	l, err = net.Listen("unix", path)
	if err != nil {
		return nil, "", err
	}
	return l, at, os.Chmod(path, 0o600)
}

// Dial connects to a socket that Listen has opened.
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
