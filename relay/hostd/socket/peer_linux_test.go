package socket

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/relay/ancestry"
)

// TestCallerIsIdentified checks that a caller is identified by all its parents, even if some exit
// during the search. A caller that has exited or hides cannot be identified, and has no rights.
func TestCallerIsIdentified(t *testing.T) {
	of := func(parent, session int) *proc.Stat {
		return &proc.Stat{State: 'S', Parent: parent, Session: session, StartTime: 7}
	}
	me := peer{pid: 30, began: 7, identified: true}
	attempt := 0
	// Process 20 exits during the search, and its child 30 becomes a child of 10.
	left := func(pid int) *proc.Stat {
		switch {
		case pid == 30 && attempt == 0:
			attempt++
			return of(20, 30)
		case pid == 30:
			return of(10, 30)
		case pid == 10:
			return of(0, 10)
		}
		return nil
	}
	for name, c := range map[string]struct {
		p    peer
		read func(int) *proc.Stat
		n    int
		ok   bool
	}{
		"parents":          {me, func(pid int) *proc.Stat { return of(pid-10, pid) }, 3, true},
		"a parent ends":    {me, left, 2, true},
		"parents only end": {me, func(pid int) *proc.Stat { return map[int]*proc.Stat{30: of(20, 30)}[pid] }, 1, false},
		"a hidden parent":  {me, func(pid int) *proc.Stat { return map[int]*proc.Stat{30: of(1, 30), 1: {State: '?'}}[pid] }, 2, true},
		"too many":         {me, func(pid int) *proc.Stat { return of(pid+1, pid) }, ancestry.MaxParents, false},
		"it has ended":     {me, func(int) *proc.Stat { return nil }, 0, false},
		"another's number": {peer{pid: 30, began: 6, identified: true}, func(pid int) *proc.Stat { return of(0, pid) }, 0, false},
		"unknown":          {peer{}, proc.Read, 0, false},
	} {
		if line, ok := c.p.ancestors(c.read); len(line) != c.n || ok != c.ok {
			t.Errorf("%s: number of ancestors = %d, complete = %v", name, len(line), ok)
		}
	}
	for name, c := range map[string]struct {
		p    peer
		want string
	}{
		"itself":  {peer{pid: os.Getpid(), began: proc.Read(os.Getpid()).StartTime, identified: true}, ""},
		"another": {peer{pid: os.Getpid(), began: 1, identified: true}, "the caller's process cannot be identified"},
	} {
		if got := c.p.membershipReason("run_x", 0, 0); got != c.want {
			t.Errorf("%s: reason = %q", name, got)
		}
	}
}

// TestRunMark checks that the environment variable that marks the processes of a run must contain a
// valid id. Other values are ignored.
func TestRunMark(t *testing.T) {
	for mark, want := range map[string]string{"run_a": "run_a", "a b": "", "": ""} {
		c := exec.Command("cat")
		c.Env = []string{"A=RELAY_RUN_ID=run_b", "RELAY_RUN_ID=" + mark}
		in, err := c.StdinPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		// The environment of a process is readable only shortly after its start.
		for end := time.Now().Add(2 * time.Minute); len(proc.Environ(c.Process.Pid)) == 0 && time.Now().Before(end); {
		}
		if got := runInEnviron(c.Process.Pid); got != want {
			t.Errorf("mark %q: run = %q", mark, got)
		}
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
}
