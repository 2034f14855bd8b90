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

// guards is the connection to this process's guardian (package guard).
var guards guardian

type guardian struct {
	mu     sync.Mutex
	pid    int // 0 without a guardian
	end    <-chan ended
	pipe   *os.File // its standard input
	in     *input
	groups map[int]int64 // start time of the leader of each living group
	runs   map[string]bool
}

// watchRun makes the guardian end a run's processes if this process is killed, and starts the
// guardian if there is none. It is called on the starter thread before the run's first process
// starts, so that the run is never unguarded. The error means that no guardian watches.
func (g *guardian) watchRun(r *Run) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid != 0 && g.runs[r.processMark()] {
		return nil
	}
	if g.runs == nil {
		g.groups, g.runs = map[int]int64{}, map[string]bool{}
	}
	g.runs[r.processMark()] = true
	if g.pid != 0 && g.send("="+r.processMark()+"\n") {
		return nil
	}
	return g.startGuardian(r.Executable)
}

// addGroup adds a new group to the list of the guardian. If the guardian has died, another is
// started; if that fails, the next start tries again.
func (g *guardian) addGroup(r *Run, group int) {
	s := proc.Read(group)
	g.mu.Lock()
	defer g.mu.Unlock()
	if s == nil || g.pid == 0 {
		return
	}
	g.groups[group] = s.StartTime
	if !g.send(fmt.Sprintf("+%d %d\n", group, s.StartTime)) {
		_ = g.startGuardian(r.Executable)
	}
}

// forgetRun reports the end of a run to the guardian.
func (g *guardian) forgetRun(run string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs[run] {
		delete(g.runs, run)
		if g.pid != 0 {
			g.send("!" + run + "\n")
		}
	}
}

// removeGroup removes a group that has ended from the list of the guardian.
func (g *guardian) removeGroup(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, listed := g.groups[group]; !listed {
		return
	}
	delete(g.groups, group)
	if g.pid != 0 {
		// if the guardian has died, the next start starts another
		g.send("-" + strconv.Itoa(group) + "\n")
	}
}

// send sends lines to the guardian. If it does not accept them, it is killed.
func (g *guardian) send(lines string) bool {
	if g.in.writeNow([]byte(lines)) == len(lines) {
		return true
	}
	g.pipe.Close()
	select {
	case <-g.end: // its number may be reused
	default:
		_ = syscall.Kill(g.pid, syscall.SIGKILL)
	}
	g.pid, g.pipe = 0, nil
	return false
}

// startGuardian starts a guardian and sends it all living groups and runs. It does not wait for it.
func (g *guardian) startGuardian(executable string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: executable, Args: []string{"concerto", "host", "guard"}, Dir: "/", Stdin: r,
		// no mark: the mark of an enclosing run would make that run end it
		Env:         []string{"GOMAXPROCS=1"},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	pid, end, err := family.fork(cmd)
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
	if !g.send(string(all)) {
		return errors.New("it does not read")
	}
	return nil
}

// Farewell ends the runs that have not ended, and reports to the guardian that this process exits
// normally. If processes of a run remain, it leaves them to the guardian.
func Farewell() {
	guards.mu.Lock()
	runs := slices.Collect(maps.Keys(guards.runs))
	guards.mu.Unlock()
	clean := true
	for _, run := range runs {
		clean = family.sweepOrphans(run) && clean
	}
	guards.mu.Lock()
	defer guards.mu.Unlock()
	if guards.pid != 0 && clean && len(guards.groups) == 0 {
		guards.send("bye\n")
	}
}
