package guard

import (
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
)

// How often the processes are looked through until none is left: what is killed
// takes a moment, and may have started others meanwhile. One that forks and ends at once
// is missed by some looks: sure is how many in a row must find none, and hunted how
// often each looks for what is being born. Nobody waits for this process, so there are many.
const (
	rounds = 3000
	pause  = 5 * time.Millisecond
	sure   = 10
	hunted = 100
)

// list is what there is to end.
type list struct {
	groups map[int]int64 // when the leader began, by the group's number
	runs   map[string]bool
}

// watch reads what there is to end, and ends it when the pipe does.
func watch(pipe *os.File) int {
	// Who stops all that belongs to a service must not stop this one first.
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
			if !l.hear(string(line)) {
				return 0
			}
			line = line[:0]
		}
		if err != nil {
			break
		}
	}
	l.end()
	return 0
}

// hear takes a line in, and says whether there is still something to watch for.
func (l *list) hear(line string) bool {
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

// numbers reads two numbers with a blank between them.
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

// end ends everything.
func (l *list) end() {
	for group, began := range l.groups {
		// Another began with the number of the leader: the group is not ours.
		if now := proc.Read(group); now == nil || now.Began == began {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
	missed := 0
	for range rounds {
		found := l.sweep()
		if proc.Hunt(hunted, l.marked) > 0 || found {
			missed = 0
		} else if missed++; missed == sure {
			return
		}
		time.Sleep(pause)
	}
}

// sweep kills the processes that have a mark, and says whether there were any.
func (l *list) sweep() (found bool) {
	for pid := range proc.All {
		if env := proc.Environ(pid); env != nil && l.marked(env) {
			found = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}

// marked says whether an environment has the mark of a run.
func (l *list) marked(env []byte) bool {
	for run := range l.runs {
		if proc.Marked(env, run) {
			return true
		}
	}
	return false
}
