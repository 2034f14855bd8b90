package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the upper half of the locked byte's offset. No content reaches that byte, because
// other processes cannot read a locked part of a file.
const lockedByte = 1 << 30

// Lock locks a file until unlock is called or the process exits. It creates the file if necessary.
// The error wraps ErrHeld if another process holds the lock.
func Lock(file string) (unlock func() error, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// LockOpen locks a file until it is closed. If another process holds the lock, the error is a
// *HeldError.
func LockOpen(f *os.File) error {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
	if errors.Is(err, ErrHeld) {
		return &HeldError{}
	}
	return err
}

// lockByte locks the byte without waiting. The lock ends when the file is closed.
func lockByte(f *os.File, flags uint32) error {
	at := windows.Overlapped{OffsetHigh: lockedByte}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
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
	err = lockByte(f, 0)
	held := errors.Is(err, ErrHeld)
	if held {
		err = nil
	}
	return held, errors.Join(err, f.Close())
}

// stillActive is the exit code of a process that has not exited.
const stillActive = 259

// IsDead reports whether no process with that number exists on this machine.
func IsDead(pid int) bool {
	if pid <= 0 {
		return false
	}
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code != stillActive
}
