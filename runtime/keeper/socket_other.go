//go:build !linux

package keeper

import (
	"net"
	"os"
	"path/filepath"
)

// socketPath is how long a socket's path may be, everywhere.
const socketPath = 100

// listen opens the keeper's socket in the run's directory, or, where its path is too long, in one of
// its own, and says where that is.
func listen(dir string) (l net.Listener, at string, err error) {
	at = socketFile
	path := filepath.Join(dir, at)
	if len(path) > socketPath {
		own, err := os.MkdirTemp("", "concerto-")
		if err != nil {
			return nil, "", err
		}
		path = filepath.Join(own, socketFile)
		at = path
	}
	_ = os.Remove(path) // of a keeper that was killed
	l, err = net.Listen("unix", path)
	if err != nil {
		return nil, "", err
	}
	return l, at, os.Chmod(path, 0o600)
}

// dial connects to a keeper.
func dial(dir, at string) (*net.UnixConn, error) {
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	conn, err := net.Dial("unix", at)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// bootID is not known here: whether a keeper is there is seen by connecting to it.
func bootID() string { return "" }
