//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// errInUse: another process holds a lock.
var errInUse = errors.New("another process has it")

// lock keeps other processes that lock from a file until it is given back, or the process ends.
func lock(file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}
