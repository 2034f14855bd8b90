//go:build unix

package hosttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// groupAlive reports whether a process of the group still runs. Zombies do not count on systems
// that report their state.
func groupAlive(pgid int) bool {
	if syscall.Kill(-pgid, 0) == syscall.ESRCH {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return true
	}
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if string(f[2]) == strconv.Itoa(pgid) && string(f[0]) != "Z" {
			return true
		}
	}
	return false
}
