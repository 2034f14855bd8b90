package procgroup

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Run is the run that started processes belong to. The processes of a nil *Run have no mark.
type Run struct {
	ID string // unique id of the run; see NewID
	// Executable is the path of the concerto program. It is started as the guardian when the first
	// process of the run starts. If it is "", there is no guardian.
	Executable string
	// KeeperName is set if this process is the keeper of the run's hosts, or continues the run
	// after another process. It adds a mark to the started processes that distinguishes them from
	// the processes of earlier processes, which another guardian may still be killing.
	KeeperName string

	unguarded atomic.Pointer[string] // reason why no guardian watches the run; nil if one does
}

// NumberVariable is the variable with the number of a host's process, by which EndFamily recognises
// what the process has started.
const NumberVariable = proc.Number

// NewID returns a globally unique run id.
func NewID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := []byte("r_0123456789abcdef")
	for i := 2; i < len(id); i++ {
		id[i] = letters[rand.IntN(len(letters))]
	}
	return string(id)
}

// Start is the function Start, but the process has the run's mark.
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

// EndFamily kills the orphaned processes that a host's process has started, by itself or by its
// commands. number is the number of the process, which it has in its environment. EndFamily has an
// effect only if Adopt was called, and must be called when the process and its commands have
// exited. Calls from different goroutines share scans of the system's processes.
func (r *Run) EndFamily(host string, number int) {
	if r != nil {
		family.endFamily(relative{run: r.processMark(), mark: proc.Mark + "=" + r.ID + ":" + host, number: proc.Number + "=" + strconv.Itoa(number)})
	}
}

// processMark returns the argument of proc.Marked that selects the processes of the run.
func (r *Run) processMark() string {
	if r.KeeperName != "" {
		return proc.KeeperPrefix + r.ID + "." + r.KeeperName
	}
	return r.ID
}

// ensureGuardian makes the guardian watch the run. It reports whether a guardian watches.
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

// Unguarded returns the reason why no guardian kills the processes of the run if this process is
// killed. It returns "" for a nil Run, or if a guardian watches. The result is valid after the
// first start of a process.
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

// End kills the orphaned processes of the run that this process has adopted. It has an effect only
// if Adopt was called.
func (r *Run) End() {
	if r != nil && family.sweepOrphans(r.processMark()) { // otherwise the guardian must kill the remaining processes
		guards.forgetRun(r.processMark())
	}
}
