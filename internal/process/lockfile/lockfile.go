// Package lockfile prevents two processes from using the same resource.
package lockfile

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// ErrHeld means that another process holds a lock.
var ErrHeld = errors.New("another process has it")

// HeldError is the error of LockAs if another process holds the lock. It wraps ErrHeld.
type HeldError struct {
	PID string // number of the process, or "" if it is not known
}

// Error returns the subject of a sentence: "another process, with process number 7,".
func (e *HeldError) Error() string {
	if e.PID == "" {
		return "another process"
	}
	return "another process, with process number " + e.PID + ","
}

// Unwrap returns ErrHeld.
func (e *HeldError) Unwrap() error { return ErrHeld }

// LockAs locks a file like Lock, and writes the number of this process into it. unlock removes the
// file. If another process holds the lock, the error is a *HeldError.
func LockAs(file string) (unlock func(), err error) {
	release, err := Lock(file)
	if errors.Is(err, ErrHeld) {
		pid, _ := os.ReadFile(file) // only for the message
		return nil, &HeldError{strings.TrimSpace(string(pid))}
	}
	if err != nil {
		return nil, err
	}
	_ = os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600) // only for the message
	return func() {
		_ = os.Remove(file) // while this process holds it
		_ = release()       // the file is only closed
	}, nil
}
