package ptyholder

import (
	"slices"
	"syscall"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// groupsOf are the process groups of a session: a shell makes one for each job.
func groupsOf(session int) []int {
	var all []int
	for pid := range proc.All {
		if s := proc.Read(pid); s != nil && s.Session == session && !slices.Contains(all, s.Group) {
			all = append(all, s.Group)
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
