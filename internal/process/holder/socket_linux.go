package holder

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// atDir returns a short path of a directory. It is valid while d is open. It is needed because the
// path of a socket is limited to about a hundred bytes, but the path of a directory is not.
func atDir(d *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) }

// Listen creates a socket in a directory. Only this user can connect to it. It returns the path at
// to pass to Dial.
func Listen(dir, name string) (l net.Listener, at string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
		return nil, "", err
	}
	l, err = net.Listen("unix", filepath.Join(atDir(d), name))
	if err != nil {
		return nil, "", err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path becomes invalid when the directory is closed
	return l, name, os.Chmod(filepath.Join(dir, name), 0o600)
}

// Dial connects to a socket that Listen has created.
func Dial(dir, at string) (*net.UnixConn, error) {
	if filepath.IsAbs(at) {
		dir, at = filepath.Split(at)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	conn, err := net.Dial("unix", filepath.Join(atDir(d), at))
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}
