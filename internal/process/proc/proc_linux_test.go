package proc

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	const line = "7 (a) b) 3 S) S 1 2 3 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 1 0 987654 1000 55 18446744073709551615 1\n"
	want := Stat{State: 'S', Parent: 1, Group: 2, Session: 3, StartTime: 987654, CPU: 4330, Pages: 55}
	if got := parse([]byte(line)); got == nil || *got != want {
		t.Errorf("parse returns %+v, want %+v", got, want)
	}
	for _, broken := range []string{"", "7 (a", "7 (a) S 1 2 3\n"} {
		if got := parse([]byte(broken)); got != nil {
			t.Errorf("parse(%q) = %+v, want nil", broken, got)
		}
	}
	if s := parse([]byte("7 (a) Z" + line[len("7 (a) b) 3 S) S"):])); s == nil || s.CanRun() {
		t.Error("CanRun returns true for a zombie")
	}
}

func TestReadAndAll(t *testing.T) {
	self := Read(os.Getpid())
	if self == nil || !self.CanRun() || self.Parent != os.Getppid() || self.StartTime == 0 || self.Pages == 0 {
		t.Errorf("Read returns %+v for this process", self)
	}
	seen := false
	for pid := range All {
		seen = seen || pid == os.Getpid()
	}
	if !seen {
		t.Error("All does not yield this process")
	}
	if s := Read(1 << 30); s != nil {
		t.Errorf("Read returns %+v for a process that does not exist", s)
	}
}

func TestMarked(t *testing.T) {
	c := exec.Command("/bin/sleep", "60")
	c.Env = []string{"A=CONCERTO_HOST=r_other:x", Mark + "=r_mine:Coder", "B="}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	// The environment of a new process may appear in /proc only after Start has returned.
	var env []byte
	for end := time.Now().Add(2 * time.Minute); len(env) == 0 && time.Now().Before(end); {
		env = Environ(c.Process.Pid)
	}
	for run, want := range map[string]bool{"r_mine": true, "r_other": false, "r_min": false, "mine": false} {
		if Marked(env, run) != want {
			t.Errorf("Marked for run %s = %v", run, !want)
		}
	}
	keeperEnv := []byte(Mark + "=r_mine:Coder\x00" + KeeperMark + "=r_mine:Coder\x00")
	if Marked(keeperEnv, "r_mine") || !Marked(keeperEnv, KeeperPrefix+"r_mine") || Marked(keeperEnv, KeeperPrefix+"r_min") || Marked(env, KeeperPrefix+"r_mine") {
		t.Error("Marked does not distinguish processes of the keeper from other processes of the run")
	}
	if Marked(nil, "r_mine") || !Marked([]byte(Mark+"=r:"), "r") {
		t.Error("Marked is wrong for an environment with at most one variable")
	}
}
