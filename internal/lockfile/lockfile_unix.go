//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file, which is made when it is not there, until unlock is called or the process
// ends. The error wraps ErrHeld when another process has locked it.
func Lock(file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrHeld
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
