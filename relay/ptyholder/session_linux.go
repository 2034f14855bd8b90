package ptyholder

import (
	"slices"
	"syscall"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// groupsOf returns the process groups of a session. A shell creates a group for each job.
func groupsOf(session int) []int {
	var all []int
	for pid := range proc.All {
		if s := proc.Read(pid); s != nil && s.Session == session && !slices.Contains(all, s.Group) {
			all = append(all, s.Group)
		}
	}
	return all
}

// modes returns the local flags of the terminal. ok is false if the terminal is closed.
func (t *term) modes() (flags uint32, ok bool) {
	var m syscall.Termios
	err := t.control(syscall.TCGETS, unsafe.Pointer(&m))
	return m.Lflag, err == nil
}

// echoes reports whether the terminal echoes input.
func (t *term) echoes() bool {
	flags, ok := t.modes()
	return !ok || flags&syscall.ECHO != 0
}

// secret reports whether the run reads a line without echo, such as a password.
func (t *term) secret() bool {
	flags, ok := t.modes()
	return ok && flags&syscall.ECHO == 0 && flags&syscall.ICANON != 0
}
