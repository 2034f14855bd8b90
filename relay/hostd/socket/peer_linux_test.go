package socket

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/relay/ancestry"
)

// TestCallerIsIdentified checks that a caller is identified by all its parents, even if they exit
// during the search; a caller that cannot be identified, because it has exited or hides, has no
// rights.
func TestCallerIsIdentified(t *testing.T) {
	of := func(parent, session int) *proc.Stat {
		return &proc.Stat{State: 'S', Parent: parent, Session: session, StartTime: 7}
	}
	me := peer{pid: 30, began: 7, identified: true}
	attempt := 0
	// 20 exits while it is searched, and 30 becomes a child of 10
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
			t.Errorf("%s: %d, %v", name, len(line), ok)
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
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRunMark checks that the mark of a run must be an id; other values of a process are ignored.
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
		// A program's environment is visible shortly after its start is reported.
		for end := time.Now().Add(2 * time.Minute); len(proc.Environ(c.Process.Pid)) == 0 && time.Now().Before(end); {
		}
		if got := runInEnviron(c.Process.Pid); got != want {
			t.Errorf("%q: %q", mark, got)
		}
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}
}
