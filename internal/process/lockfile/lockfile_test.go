//go:build unix

package lockfile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// deadProcess returns the number of a process that has ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^$")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// TestLockAfter locks a file that is still locked after its holder has ended, as if the process
// that the holder was starting had not begun. The lock is released when the holder is looked up.
func TestLockAfter(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	release, err := Lock(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, asked := deadProcess(t), 0
	unlock, err := LockAfter(file, func() int {
		if asked++; asked == 2 {
			if err := release(); err != nil {
				t.Error(err)
			}
		}
		return pid
	})
	if err != nil || asked != 2 {
		t.Fatalf("LockAfter returns %v after %d questions for the holder, want a lock after 2", err, asked)
	}
	defer unlock()
	if _, err := LockAfter(file, os.Getpid); !errors.Is(err, ErrHeld) {
		t.Errorf("LockAfter returns %v for a lock whose holder runs, want ErrHeld", err)
	}
}

// TestLockAs checks the error for a lock whose holder runs, and the file that names the holder.
func TestLockAs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := LockAs(file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockAs(file)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.PID != strconv.Itoa(os.Getpid()) {
		t.Errorf("LockAs returns %v, want a HeldError with this process", err)
	}
	unlock()
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after unlock the file exists: %v", err)
	}
}
