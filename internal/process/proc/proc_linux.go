package proc

import (
	"os"
	"strconv"
)

// Stat is a line of /proc/N/stat.
type Stat struct {
	State     byte // 'Z' for a process that its parent has not waited for
	Parent    int
	Group     int
	Session   int
	StartTime int64 // start time, in ticks since boot; together with the number it identifies the process
	CPU       int64 // processor time of the process and of children that it waited for, in ticks
	Pages     int64 // resident memory
}

// TicksASecond is the number of ticks in a second. Linux uses this value in /proc on all machines.
const TicksASecond = 100

// Indexes of the fields after the program name in a stat line.
const (
	state, parent, group, session = 0, 1, 2, 3
	user, system, cuser, csystem  = 11, 12, 13, 14
	began, pages, fields          = 19, 21, 22
)

// CanRun reports whether the process can still execute.
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

// All yields the numbers of all processes.
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

// Environ returns the environment with which a process was started, with a zero byte after each
// variable, or nil if it has none, has exited, or may not be read.
func Environ(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return env
}

// Marked reports whether an environment contains the mark of a run. run is the run's id for the
// processes of the run itself, or the id after KeptBy for those of its keeper.
func Marked(env []byte, run string) bool {
	if len(run) > len(KeeperPrefix) && run[:len(KeeperPrefix)] == KeeperPrefix {
		return hasVariable(env, KeeperMark+"="+run[len(KeeperPrefix):]+":")
	}
	return hasVariable(env, Mark+"="+run+":") && !hasVariable(env, KeeperMark+"=")
}

// hasVariable reports whether a variable of an environment begins with mark. mark may match a whole
// variable with its zero byte.
func hasVariable(env []byte, mark string) bool {
	begins := true // a variable begins at i
	for i := range env {
		if begins && len(env)-i >= len(mark) && string(env[i:i+len(mark)]) == mark {
			return true
		}
		begins = env[i] == 0
	}
	return false
}
