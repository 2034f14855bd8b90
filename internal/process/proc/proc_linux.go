package proc

import (
	"os"
	"strconv"
)

// Stat is the content of /proc/N/stat for one process.
type Stat struct {
	State     byte // one letter; 'Z' for a process that has exited but was not waited for
	Parent    int
	Group     int
	Session   int
	StartTime int64 // ticks from boot to the start of the process; the process number and StartTime together identify a process
	CPU       int64 // processor time in ticks, including children that the process waited for
	Pages     int64 // resident memory, in pages
}

// TicksASecond is the number of ticks per second. Linux uses this value in /proc on all machines.
const TicksASecond = 100

// Indexes of the fields after the program name in a stat line.
const (
	state, parent, group, session = 0, 1, 2, 3
	user, system, cuser, csystem  = 11, 12, 13, 14
	began, pages, fields          = 19, 21, 22
)

// CanRun reports whether the process has not exited.
func (s *Stat) CanRun() bool { return s.State != 'Z' && s.State != 'X' }

// Read returns the state of a process, or nil if there is none.
func Read(pid int) *Stat {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return parse(line)
}

// parse parses "N (name) state parent group …". The name may contain any character.
func parse(line []byte) *Stat {
	nameEnd := -1
	for i, c := range line {
		if c == ')' {
			nameEnd = i + 1
		}
	}
	if nameEnd < 0 {
		return nil
	}
	var f [fields]int64
	at, inside := -1, false
	s := &Stat{}
	for _, c := range line[nameEnd:] {
		switch {
		case c == ' ' || c == '\n':
			inside = false
			continue
		case !inside:
			inside = true
			at++
		}
		switch {
		case at >= fields:
		case at == state:
			s.State = c
		case c >= '0' && c <= '9':
			f[at] = f[at]*10 + int64(c-'0')
		}
	}
	if at < fields-1 {
		return nil
	}
	s.Parent, s.Group, s.Session = int(f[parent]), int(f[group]), int(f[session])
	s.StartTime, s.Pages = f[began], f[pages]
	s.CPU = f[user] + f[system] + f[cuser] + f[csystem]
	return s
}

// All yields the numbers of all processes on this machine.
func All(yield func(pid int) bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return
	}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
			return
		}
	}
}

// Environ returns the environment with which a process was started. Each variable is followed by a
// zero byte. It returns nil if the environment is empty or cannot be read, or if the process has
// exited.
func Environ(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return env
}

// Marked reports whether an environment contains the mark of a run. run is the run's id, or
// KeeperPrefix and the name of a keeper for the processes of that keeper.
func Marked(env []byte, run string) bool {
	if len(run) > len(KeeperPrefix) && run[:len(KeeperPrefix)] == KeeperPrefix {
		return hasVariable(env, KeeperMark+"="+run[len(KeeperPrefix):]+":")
	}
	return hasVariable(env, Mark+"="+run+":") && !hasVariable(env, KeeperMark+"=")
}

// Contains reports whether an environment contains a variable with its value, "NAME=value".
func Contains(env []byte, variable string) bool { return hasVariable(env, variable+"\x00") }

// hasVariable reports whether a variable in an environment begins with mark. mark may also be a
// complete variable with its zero byte.
func hasVariable(env []byte, mark string) bool {
	begins := true // whether a variable begins at index i
	for i := range env {
		if begins && len(env)-i >= len(mark) && string(env[i:i+len(mark)]) == mark {
			return true
		}
		begins = env[i] == 0
	}
	return false
}
