package procgroup

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// groupAlive says whether a process of the group can still run. Zombies, which
// still accept signals, do not count: in a container perhaps nobody ever
// collects them.
func groupAlive(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return true
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err == nil && runsIn(stat, pgid) {
			return true
		}
	}
	return false
}

// runsIn reads a line of /proc/N/stat: "N (name) state parent group …". The name
// may contain any character.
func runsIn(stat []byte, pgid int) bool {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return false
	}
	f := bytes.Fields(stat[i+1:])
	if len(f) < 3 || f[0][0] == 'Z' || f[0][0] == 'X' {
		return false
	}
	g, err := strconv.Atoi(string(f[2]))
	return err == nil && g == pgid
}
