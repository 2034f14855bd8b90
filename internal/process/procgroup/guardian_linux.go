package procgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// guards is this process's guardian (package guard), with what it has been told.
var guards guardian

type guardian struct {
	mu     sync.Mutex
	pid    int // 0: there is none
	end    <-chan ended
	pipe   *os.File // to it
	in     *input
	groups map[int]int64 // those that live: when the leader began, by the number
	runs   map[string]bool
}

// watch has a run's processes looked for when this process is killed, and starts
// the guardian when there is none. It is called on the thread that starts all,
// before the run's first process is there: so there is no moment at which something
// would be left. The error says that nobody watches.
func (g *guardian) watch(r *Run) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 && g.runs[r.mark()] {
		return nil
	}
	if g.runs == nil {
		g.groups, g.runs = map[int]int64{}, map[string]bool{}
	}
	g.runs[r.mark()] = true
	if g.pid != 0 && g.write("="+r.mark()+"\n") {
		return nil
	}
	return g.start(r.Executable)
}

// add tells the guardian of a run's new group. Another is started in place of one
// that has died; should that fail, the next start tries it again.
func (g *guardian) add(r *Run, group int) {
	s := proc.Read(group)
	g.mu.Lock()
	defer g.mu.Unlock()
	if s == nil || g.pid == 0 {
		return
	}
	g.groups[group] = s.Began
	if !g.write(fmt.Sprintf("+%d %d\n", group, s.Began)) {
		_ = g.start(r.Executable)
	}
}

// forget has a run's processes no longer looked for.
func (g *guardian) forget(run string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs[run] {
		delete(g.runs, run)
		if g.pid != 0 {
			g.write("!" + run + "\n")
		}
	}
}

// gone tells the guardian that a group has ended.
func (g *guardian) gone(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, told := g.groups[group]; !told {
		return
	}
	delete(g.groups, group)
	if g.pid != 0 {
		g.write("-" + strconv.Itoa(group) + "\n") // when it has died, the next start starts another
	}
}

// write sends lines. A guardian that does not take them is of no use, and ended.
func (g *guardian) write(lines string) bool {
	if g.in.writeNow([]byte(lines)) == len(lines) {
		return true
	}
	g.pipe.Close()
	select {
	case <-g.end: // its number may be another's
	default:
		_ = syscall.Kill(g.pid, syscall.SIGKILL)
	}
	g.pid, g.pipe = 0, nil
	return false
}

// start starts a guardian and tells it all that lives. It is not waited for.
func (g *guardian) start(executable string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: executable, Args: []string{"concerto", "host", "guard"}, Dir: "/", Stdin: r,
		Env:         []string{"GOMAXPROCS=1"}, // no mark: that of a run around this one would end it
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	pid, end, err := family.start(cmd)
	if err != nil {
		w.Close()
		return err
	}
	g.pid, g.end, g.pipe, g.in = pid, end, w, newInput(w)
	var all []byte
	for run := range g.runs {
		all = append(all, "="+run+"\n"...)
	}
	for group, began := range g.groups {
		all = fmt.Appendf(all, "+%d %d\n", group, began)
	}
	if !g.write(string(all)) {
		return errors.New("it does not read")
	}
	return nil
}

// Farewell ends the runs that have not ended, and tells the guardian that this
// process ends in order. When processes of a run are left, the guardian is not told,
// and ends them.
func Farewell() {
	guards.mu.Lock()
	runs := slices.Collect(maps.Keys(guards.runs))
	guards.mu.Unlock()
	clean := true
	for _, run := range runs {
		clean = family.sweep(run) && clean
	}
	guards.mu.Lock()
	defer guards.mu.Unlock()
	if guards.pid != 0 && clean && len(guards.groups) == 0 {
		guards.write("bye\n")
	}
}
