//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file until unlock is called or the process exits. It creates the file if necessary.
// The holder may remove the file before it calls unlock. The error wraps ErrHeld if another process
// holds the lock.
func Lock(file string) (unlock func() error, err error) {
	for {
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
		ours, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(file); err == nil && os.SameFile(ours, now) {
			return f.Close, nil
		}
		if err := f.Close(); err != nil { // the holder has removed the file
			return nil, err
		}
	}
}

// Held reports whether a process holds the lock of a file. It needs only permission to read the
// file.
func Held(file string) (bool, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	held := errors.Is(err, syscall.EWOULDBLOCK)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// IsDead reports whether no process with that number exists on this machine.
func IsDead(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
