package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockDir locks a directory. It returns false if another process has locked or removed it. The lock
// ends with this process.
func lockDir(dir string) (unlock func(), locked bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, false
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, false
	}
	if _, err := os.Lstat(dir); err != nil { // it was removed before it was locked
		f.Close()
		return nil, false
	}
	return func() { f.Close() }, true
}
