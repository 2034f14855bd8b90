package guard

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// Limits on the guardian's scans for processes. A killed process takes a moment to exit, and may
// have started other processes. A scan may miss a process that forks and exits immediately. sure is
// the number of consecutive scans that must find no process, and hunted the number of checks for
// new processes in each scan. The numbers can be large because nothing waits for the guardian.
const (
	rounds = 3000
	pause  = 5 * time.Millisecond
	sure   = 10
	hunted = 100
)

// list contains the runs and process groups that the guardian must kill.
type list struct {
	groups map[int]int64 // start time of the group's leader, by group number
	runs   map[string]bool
}

// watch reads the list from the pipe. When the pipe is closed, it kills everything in the list.
func watch(pipe *os.File) int {
	// A service manager that stops all processes of a service must not stop the guardian first.
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	l := list{groups: map[int]int64{}, runs: map[string]bool{}}
	var line []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := pipe.Read(buf)
		for _, c := range buf[:n] {
			if c != '\n' {
				line = append(line, c)
				continue
			}
			if !l.handleLine(string(line)) {
				return 0
			}
			line = line[:0]
		}
		if err != nil {
			break
		}
	}
	l.killAll()
	return 0
}

// handleLine handles a line from the pipe. It returns false for "bye", which means that the process
// that started the guardian exits normally.
func (l *list) handleLine(line string) bool {
	if line == "" {
		return true
	}
	switch rest := line[1:]; line[0] {
	case '=':
		l.runs[rest] = true
	case '!':
		delete(l.runs, rest)
	case '+':
		if group, began, ok := numbers(rest); ok && group > 1 {
			l.groups[int(group)] = began
		}
	case '-':
		if group, _, ok := numbers(rest + " 0"); ok {
			delete(l.groups, int(group))
		}
	default:
		return line != "bye"
	}
	return true
}

// numbers parses two numbers separated by a space.
func numbers(text string) (a, b int64, ok bool) {
	for i := range text {
		if text[i] != ' ' {
			continue
		}
		a, err := strconv.ParseInt(text[:i], 10, 32)
		b, err2 := strconv.ParseInt(text[i+1:], 10, 64)
		return a, b, err == nil && err2 == nil
	}
	return 0, 0, false
}

// killAll kills everything in the list.
func (l *list) killAll() {
	for group, began := range l.groups {
		// If the start time differs, another group has the same number now.
		if now := proc.Read(group); now == nil || now.StartTime == began {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
	missed := 0
	for range rounds {
		found := l.sweepMarked()
		if proc.KillNewProcesses(hunted, l.hasMark) > 0 || found {
			missed = 0
		} else if missed++; missed == sure {
			return
		}
		time.Sleep(pause)
	}
}

// sweepMarked kills the marked processes, and reports whether there were any.
func (l *list) sweepMarked() (found bool) {
	for pid := range proc.All {
		if env := proc.Environ(pid); env != nil && l.hasMark(env) {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}

// hasMark reports whether an environment contains the mark of a run in the list.
func (l *list) hasMark(env []byte) bool {
	for run := range l.runs {
		if proc.Marked(env, run) {
			return true
		}
	}
	return false
}
