package procgroup

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Run is the run to which processes belong. A nil Run is nobody's.
type Run struct {
	ID string // see NewID
	// Executable is our own program, which is started again as the guardian with the
	// first process; "" for none.
	Executable string
	// Kept is a name of this process's, when it keeps the run's hosts while the run's own comes and goes, or goes on
	// with the run after another: what it starts has a mark besides, by which it is told from what those before it have
	// started, whose guardian may still be ending that.
	Kept string

	unguarded atomic.Pointer[string] // why nobody watches
}

// NewID gives a run's id: no other run on any machine has it.
func NewID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("r_0123456789abcdef")
	for i := 2; i < len(id); i++ {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Start starts a command as the package's Start does, marked as the run's.
func (r *Run) Start(c Command) (*Process, error) {
	if r != nil && c.Name != "" {
		env := slices.DeleteFunc(slices.Clone(c.Env), func(v string) bool { return strings.HasPrefix(v, proc.KeptMark+"=") })
		c.Env = append(env, proc.Mark+"="+r.ID+":"+c.Name)
		if r.Kept != "" {
			c.Env = append(c.Env, proc.KeptMark+"="+r.ID+"."+r.Kept+":"+c.Name)
		}
	}
	return launch(r, c)
}

// mark is by what the run's processes are found; see proc.Marked.
func (r *Run) mark() string {
	if r.Kept != "" {
		return proc.KeptBy + r.ID + "." + r.Kept
	}
	return r.ID
}

// guard sees to it that the guardian knows the run, and says whether it does.
func (r *Run) guard() bool {
	if r == nil || r.Executable == "" {
		return false
	}
	err := guards.watch(r)
	if err != nil {
		why := err.Error()
		r.unguarded.Store(&why)
	}
	return err == nil
}

// Unguarded says why nobody ends what processes of the run have started when this
// process is killed; "" when somebody does, and of a nil Run. It is known when the first process has
// been started.
func (r *Run) Unguarded() string {
	switch {
	case r == nil:
	case r.Executable == "":
		return "this program is not the command concerto, and was not told of one"
	case r.unguarded.Load() != nil:
		return *r.unguarded.Load()
	}
	return ""
}

// End ends what the run's processes left behind: those of our children that
// nobody here has started, and that have the run's mark. Only in a process that
// called Adopt there are such children.
func (r *Run) End() {
	if r != nil && family.sweep(r.mark()) { // else the guardian still has it to do
		guards.forget(r.mark())
	}
}
