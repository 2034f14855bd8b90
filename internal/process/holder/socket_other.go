//go:build !linux

package holder

import (
	"net"
	"os"
	"path/filepath"
)

// socketPath is how long a socket's path may be, everywhere.
const socketPath = 100

// Listen opens a socket for this user alone in a directory, or, where its path is too long, in one of its own, and
// returns the path by which Dial finds it.
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
	_ = os.Remove(path) // of a holder that was killed
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
