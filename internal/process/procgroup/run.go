package procgroup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Run is the run that processes belong to. Processes of a nil Run have no mark.
type Run struct {
	ID string // see NewID
	// Executable is the concerto program, which is started as the guardian together with the first
	// process; "" starts no guardian.
	Executable string
	// KeeperName is the name of this process if it owns the run's hosts, or continues the run after
	// another process. It sets an additional mark on the processes, which distinguishes them from
	// those of earlier processes whose guardian may still be ending them.
	KeeperName string

	unguarded atomic.Pointer[string] // why no guardian watches
}

// NewID returns a globally unique run id.
func NewID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("r_0123456789abcdef")
	for i := 2; i < len(id); i++ {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Start starts a command as the function Start does, with the run's mark.
func (r *Run) Start(c Command) (*Process, error) {
	if r != nil && c.Name != "" {
		env := slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool { return strings.HasPrefix(v, proc.KeeperMark+"=") })
		c.Env = append(env, proc.Mark+"="+r.ID+":"+c.Name)
		if r.KeeperName != "" {
			c.Env = append(c.Env, proc.KeeperMark+"="+r.ID+"."+r.KeeperName+":"+c.Name)
		}
	}
	return launch(r, c)
}

// processMark returns the mark by which the run's processes are found; see proc.Marked.
func (r *Run) processMark() string {
	if r.KeeperName != "" {
		return proc.KeeperPrefix + r.ID + "." + r.KeeperName
	}
	return r.ID
}

// ensureGuardian makes the guardian watch the run, and reports whether it does.
func (r *Run) ensureGuardian() bool {
	if r == nil || r.Executable == "" {
		return false
	}
	err := guards.watchRun(r)
	if err != nil {
		why := err.Error()
		r.unguarded.Store(&why)
	}
	return err == nil
}

// Unguarded returns why no guardian ends the run's processes if this process is killed, or "" if
// one does or for a nil Run. It is known after the first start.
func (r *Run) Unguarded() string {
	switch {
	case r == nil:
	case r.Executable == "":
		return "this program is not the command concerto, and no path of it was set"
	case r.unguarded.Load() != nil:
		return *r.unguarded.Load()
	}
	return ""
}

// End ends the adopted children with the run's mark. They exist only in a process that called
// Adopt.
func (r *Run) End() {
	if r != nil && family.sweepOrphans(r.processMark()) { // otherwise the guardian must end them
		guards.forgetRun(r.processMark())
	}
}
