//go:build unix

package lockfile

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
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
		if err := flock(f, syscall.LOCK_EX); err != nil {
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
	err = flock(f, syscall.LOCK_SH)
	held := errors.Is(err, ErrHeld)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// LockOpen locks a file until it is closed. If another process holds the lock, the error is a
// *HeldError.
func LockOpen(f *os.File) error {
	err := flock(f, syscall.LOCK_EX)
	if errors.Is(err, ErrHeld) {
		return &HeldError{PID: holder(f)}
	}
	return err
}

// flock locks a file without waiting. The error is ErrHeld if another process holds the lock.
func flock(f *os.File, how int) error {
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// holder returns the id of the process that holds the lock of a file, or "" if it is unknown.
func holder(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer locks.Close()
	for in := bufio.NewScanner(locks); in.Scan(); {
		// a line of /proc/locks: 1: FLOCK ADVISORY WRITE 4711 fe:00:10100742 0 EOF
		words := strings.Fields(in.Text())
		if len(words) < 6 || words[1] != "FLOCK" || !strings.HasSuffix(words[5], ":"+inode) {
			continue
		}
		if pid, err := strconv.Atoi(words[4]); err == nil && pid > 0 {
			return words[4]
		}
	}
	return ""
}

// IsDead reports whether no process with that number exists on this machine.
func IsDead(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
