package shim

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// groupsOf are the process groups of a session: a shell makes one for each job.
func groupsOf(session int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	seen := map[int]bool{}
	var all []int
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name, which may hold anything, ends with the last parenthesis; then state, parent, group, session.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		f := strings.Fields(rest)
		if len(f) < 4 || f[3] != strconv.Itoa(session) {
			continue
		}
		if group, err := strconv.Atoi(f[2]); err == nil && !seen[group] {
			seen[group] = true
			all = append(all, group)
		}
	}
	return all
}

// modes are the terminal's flags; ok is false when it has none any more.
func (t *term) modes() (flags uint32, ok bool) {
	var m syscall.Termios
	err := t.control(syscall.TCGETS, unsafe.Pointer(&m))
	return m.Lflag, err == nil
}

// echoes says whether the terminal shows what is typed.
func (t *term) echoes() bool {
	flags, ok := t.modes()
	return !ok || flags&syscall.ECHO != 0
}

// secret says whether whole lines are read that are not shown: a password is typed.
func (t *term) secret() bool {
	flags, ok := t.modes()
	return ok && flags&syscall.ECHO == 0 && flags&syscall.ICANON != 0
}
