package keeper

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// atDir gives a directory as a short path that is valid while d is open: a socket's path may
// have a hundred bytes, a directory's need not.
func atDir(d *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(d.Fd())) }

// listen opens the keeper's socket in the run's directory, and says where that is.
func listen(dir string) (l net.Listener, at string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	if err := os.Remove(filepath.Join(dir, socketFile)); err != nil && !os.IsNotExist(err) {
		return nil, "", err
	}
	l, err = net.Listen("unix", filepath.Join(atDir(d), socketFile))
	if err != nil {
		return nil, "", err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // its name is that of a directory that is closed
	return l, socketFile, os.Chmod(filepath.Join(dir, socketFile), 0o600)
}

// dial connects to a keeper.
func dial(dir, at string) (*net.UnixConn, error) {
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

// bootID is of the machine since it was started; "" when it does not say.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
