//go:build unix

package audit

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lock locks a file until this process closes it.
func lock(f *os.File, what string) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &LockedError{what, f.Name(), lockHolder(f)}
	}
	if err != nil {
		return fmt.Errorf("lock %s %s: %w", what, f.Name(), err)
	}
	return nil
}

// lockHolder returns the id of the process that holds the lock of a file, or 0 if it is unknown.
func lockHolder(f *os.File) int {
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	inode := strconv.FormatUint(info.Sys().(*syscall.Stat_t).Ino, 10)
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	for in := bufio.NewScanner(locks); in.Scan(); {
		// a line of /proc/locks: 1: FLOCK ADVISORY WRITE 4711 fe:00:10100742 0 EOF
		words := strings.Fields(in.Text())
		if len(words) < 6 || words[1] != "FLOCK" || !strings.HasSuffix(words[5], ":"+inode) {
			continue
		}
		if pid, err := strconv.Atoi(words[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
