//go:build unix

package disk

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/lockfile"
)

// Lock locks the file until it is closed.
func (f osFile) Lock() error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return &lockfile.HeldError{PID: lockHolder(f.File)}
	}
	return err
}

// lockHolder returns the id of the process that holds the lock of a file, or "" if it is unknown.
func lockHolder(f *os.File) string {
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
