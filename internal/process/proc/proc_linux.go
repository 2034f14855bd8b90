package proc

import (
	"os"
	"strconv"
)

// Stat is a line of /proc/N/stat.
type Stat struct {
	State   byte // 'Z' for a process that nobody has waited for yet
	Parent  int
	Group   int
	Session int
	Began   int64 // in ticks since the machine began: with the number it names the process
	CPU     int64 // ticks that it has used, and its children that it waited for
	Pages   int64 // that it has in memory
}

// TicksASecond is the length of a tick: Linux shows no other to anybody.
const TicksASecond = 100

// Fields of a stat line behind the name of the program.
const (
	state, parent, group, session = 0, 1, 2, 3
	user, system, cuser, csystem  = 11, 12, 13, 14
	began, pages, fields          = 19, 21, 22
)

// Runs says whether the process can still do anything.
func (s *Stat) Runs() bool { return s.State != 'Z' && s.State != 'X' }

// Read tells of a process; nil when there is none.
func Read(pid int) *Stat {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return parse(line)
}

// parse reads "N (name) state parent group …". The name may contain any
// character.
func parse(line []byte) *Stat {
	behind := -1
	for i, c := range line {
		if c == ')' {
			behind = i + 1
		}
	}
	if behind < 0 {
		return nil
	}
	var f [fields]int64
	at, inside := -1, false
	s := &Stat{}
	for _, c := range line[behind:] {
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
	s.Began, s.Pages = f[began], f[pages]
	s.CPU = f[user] + f[system] + f[cuser] + f[csystem]
	return s
}

// All gives the numbers of all processes that there are.
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

// Environ is the environment with which a process was started, a zero behind each
// variable; nil when it has none, has ended, or may not be looked at.
func Environ(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return env
}

// Marked says whether an environment has the mark of a run: by its id, of what the run's process has
// started, by its id behind KeptBy, of what its keeper has.
func Marked(env []byte, run string) bool {
	if len(run) > len(KeptBy) && run[:len(KeptBy)] == KeptBy {
		return has(env, KeptMark+"="+run[len(KeptBy):]+":")
	}
	return has(env, Mark+"="+run+":") && !has(env, KeptMark+"=")
}

// has says whether a variable of an environment begins with a text, its end included.
func has(env []byte, mark string) bool {
	begins := true // a variable does at i
	for i := range env {
		if begins && len(env)-i >= len(mark) && string(env[i:i+len(mark)]) == mark {
			return true
		}
		begins = env[i] == 0
	}
	return false
}
