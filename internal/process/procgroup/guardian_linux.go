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

// guards is this process's connection to its guardian (package guard).
var guards guardian

type guardian struct {
	mu     sync.Mutex
	pid    int // process number of the guardian; 0 if there is none
	end    <-chan ended
	pipe   *os.File // write end of the guardian's standard input
	in     *input
	groups map[int]int64 // start times of the leaders of the living groups, by group number
	runs   map[string]bool
}

// watchRun makes the guardian kill the processes of a run if this process is killed. It starts the
// guardian if necessary. It must be called on the starter thread before the run's first process
// starts, so that the run is never unguarded. It returns an error if no guardian watches the run.
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

// addGroup adds a new group to the guardian's list. If the guardian has exited, addGroup starts
// another one; if that fails, the next start of a process tries again.
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

// forgetRun notifies the guardian that a run has ended.
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

// removeGroup removes a group that has exited from the guardian's list.
func (g *guardian) removeGroup(group int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, listed := g.groups[group]; !listed {
		return
	}
	delete(g.groups, group)
	if g.pid != 0 {
		// If the guardian has exited, the next start of a process starts another one.
		g.send("-" + strconv.Itoa(group) + "\n")
	}
}

// send sends lines to the guardian. If the write fails, it kills the guardian and returns false.
func (g *guardian) send(lines string) bool {
	if g.in.writeNow([]byte(lines)) == len(lines) {
		return true
	}
	g.pipe.Close()
	select {
	case <-g.end: // the guardian has exited, so its process number may belong to another process
	default:
		_ = syscall.Kill(g.pid, syscall.SIGKILL)
	}
	g.pid, g.pipe = 0, nil
	return false
}

// startGuardian starts a guardian and sends it all living groups and runs. It does not wait for the
// guardian to read them.
func (g *guardian) startGuardian(executable string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: executable, Args: []string{"concerto", "host", "guard"}, Dir: "/", Stdin: r,
		// The environment contains no mark. The guardian must not be killed as part of an enclosing
		// run.
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

// Farewell ends the runs that have not ended, and notifies the guardian that this process exits
// normally. If processes of a run remain, the guardian kills them.
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
