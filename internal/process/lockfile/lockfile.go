// Package lockfile prevents two processes from using the same resource.
package lockfile

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

// ErrHeld means that another process holds a lock.
var ErrHeld = errors.New("another process has it")

// HeldError is the error of LockAs and LockOpen if another process holds the lock. It wraps
// ErrHeld.
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
	holder := func() string {
		pid, _ := os.ReadFile(file) // if the file cannot be read, the holder is unknown
		return strings.TrimSpace(string(pid))
	}
	release, err := LockAfter(file, func() int {
		pid, _ := strconv.Atoi(holder()) // 0 if it is unknown
		return pid
	})
	if errors.Is(err, ErrHeld) {
		return nil, &HeldError{holder()}
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

// freed limits how long LockAfter waits.
const freed = 2 * time.Second

// LockAfter locks a file like Lock. holder returns the number of the process that may hold the
// lock, or 0 if it is unknown. If that process was killed while it was starting another one, the
// lock is held until the exec of the new process; LockAfter waits for that.
func LockAfter(file string, holder func() int) (unlock func() error, err error) {
	unlock, err = Lock(file)
	for end := time.Now().Add(freed); errors.Is(err, ErrHeld) && time.Now().Before(end) && IsDead(holder()); unlock, err = Lock(file) {
		time.Sleep(freed / 400)
	}
	return unlock, err
}
