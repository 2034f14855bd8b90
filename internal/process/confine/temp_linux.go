package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockDir locks a directory. The error is EWOULDBLOCK if another process has locked it, and
// fs.ErrNotExist if one has removed it. The lock ends with this process.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		_, err = os.Lstat(dir) // fails if it was removed before it was locked
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
