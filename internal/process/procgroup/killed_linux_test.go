package procgroup

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/concerto-lang/concerto/internal/process/guard"
	"github.com/concerto-lang/concerto/internal/process/proc"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// patience limits waits; only a bug reaches it.
const patience = 2 * time.Minute

func init() {
	self := func() *Run { return &Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]} }
	begin := func(r *Run, role string) *Process {
		p, err := r.Start(Command{Name: "child", Path: os.Args[0], Env: append(os.Environ(), "PROCGROUP_ROLE="+role)})
		if err != nil {
			panic(err)
		}
		return p
	}
	// starts a child with its own child and one in its own session, reports that, and waits
	roles["run"] = func() {
		r := self()
		p := begin(r, "parent-of-session")
		fmt.Println("up", await(p, "all"), r.Unguarded())
		select {}
	}
	// is killed when its first child exists, which only the child knows
	roles["run-killed-at-birth"] = func() {
		onChildStarted = func() {
			for len(marked(os.Getenv("PROCGROUP_RUN"))) < 3 { // it starts others at the same time
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		begin(self(), "parent-of-session")
	}
	// loses its guardian, and continues with another
	roles["run-loses-guardian"] = func() {
		r := self()
		begin(r, "parent-of-session")
		guards.mu.Lock()
		first := guards.pid
		guards.mu.Unlock()
		_ = syscall.Kill(first, syscall.SIGKILL)
		// Its first thread may exit while others still have its files open.
		if left, err := testproc.AwaitExit(patience, first); len(left) > 0 || err != nil {
			panic(fmt.Sprint("the guardian is left: ", err))
		}
		await(begin(r, "parent-of-session"), "all")
		fmt.Println("up", await(begin(r, "hang"), "up"), r.Unguarded())
		select {}
	}
	// exits normally
	roles["run-ends"] = func() {
		Adopt()
		r := self()
		p := begin(r, "parent-of-session")
		await(p, "all")
		p.End(time.Minute, nil)
		r.End()
		Farewell()
		fmt.Println("ended", len(marked(r.ID)))
		os.Exit(0)
	}
	// fails to start with too few files
	roles["run-without-files"] = func() {
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64})
		var held []*os.File
		for {
			f, err := os.Open("/dev/null")
			if err != nil {
				break
			}
			held = append(held, f)
		}
		var pauses []time.Duration
		pause = func(d time.Duration) { pauses = append(pauses, d) }
		_, err := Start(Command{Path: os.Args[0], Env: os.Environ()})
		fmt.Println(exhausted(err), pauses)
		pause = func(time.Duration) {
			for _, f := range held {
				f.Close()
			}
		}
		p := begin(nil, "hang")
		fmt.Println(await(p, "up"))
		p.End(time.Minute, nil)
		os.Exit(0)
	}
	roles["parent-of-session"] = func() {
		leaveChild("hang")
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "PROCGROUP_ROLE=hang")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println("all")
		select {}
	}
}

// await waits until a process prints a word, and returns it.
func await(p *Process, word string) string {
	for lines := bufio.NewScanner(p.Stdout); lines.Scan(); {
		if lines.Text() == word {
			return word
		}
	}
	return "it has ended"
}

func marked(run string) (out []int) {
	for pid := range proc.All {
		if proc.Marked(proc.Environ(pid), run) {
			out = append(out, pid)
		}
	}
	return out
}

// runAs starts this program as a run of its own.
func runAs(t *testing.T, role string, inherited ...*os.File) (c *exec.Cmd, run string, lines *bufio.Scanner) {
	t.Helper()
	run = NewID()
	c = exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "PROCGROUP_ROLE="+role, "PROCGROUP_RUN="+run)
	c.Stderr, c.ExtraFiles = os.Stderr, inherited
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sync.OnceFunc(func() { _ = c.Process.Kill(); _ = c.Wait() }))
	return c, run, bufio.NewScanner(out)
}

// awaitNone waits until no process of a run is left.
func awaitNone(t *testing.T, run string) {
	t.Helper()
	since := time.Now()
	for all := marked(run); len(all) > 0; all = marked(run) { // some may have been started in between
		if left, err := testproc.AwaitExit(patience-time.Since(since), all...); len(left) > 0 || err != nil {
			t.Fatalf("%v are left (%v)", left, err)
		}
	}
	t.Logf("nothing is left after %v", time.Since(since).Round(time.Millisecond))
}

// TestKilled checks that when a process is killed, its descendants are ended.
func TestKilled(t *testing.T) {
	for _, role := range []string{"run", "run-loses-guardian"} {
		t.Run(role, func(t *testing.T) {
			c, run, lines := runAs(t, role)
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), "up ") || len(strings.Fields(lines.Text())) != 2 {
				t.Fatalf("got %q", lines.Text())
			}
			if n := len(marked(run)); n < 3 {
				t.Fatalf("%d processes", n)
			}
			_ = c.Process.Kill()
			awaitNone(t, run)
		})
	}
}

// TestKilledAtBirth checks the same between the start of a child and the message to the guardian.
func TestKilledAtBirth(t *testing.T) {
	c, run, lines := runAs(t, "run-killed-at-birth")
	for lines.Scan() {
	}
	_ = c.Wait()
	if st := c.ProcessState.Sys().(syscall.WaitStatus); !st.Signaled() || st.Signal() != syscall.SIGKILL {
		t.Fatalf("it has ended by %v", c.ProcessState)
	}
	awaitNone(t, run)
}

// TestEndSweeps checks that processes that have left their group and session are ended with the
// run.
func TestEndSweeps(t *testing.T) {
	_, run, lines := runAs(t, "run-ends")
	if !lines.Scan() || lines.Text() != "ended 0" {
		t.Errorf("got %q", lines.Text())
	}
	if left := marked(run); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestSweepLeavesOthers checks that processes with another run's mark or none, and started
// children, are not ended.
func TestSweepLeavesOthers(t *testing.T) {
	Adopt()
	run, other := &Run{ID: NewID()}, &Run{ID: NewID()}
	var all []*Process
	for _, r := range []*Run{run, other, nil} {
		p, err := r.Start(Command{Name: "x", Path: os.Args[0], Env: append(os.Environ(), "PROCGROUP_ROLE=hang")})
		if err != nil {
			t.Fatal(err)
		}
		defer p.End(time.Minute, nil)
		await(p, "up")
		all = append(all, p)
	}
	run.End()
	if i := slices.IndexFunc(all, func(p *Process) bool { return !groupAlive(p.pgid) }); i >= 0 {
		t.Errorf("process %d was ended", i)
	}
}

// TestExhausted checks that starting is repeated for a while if there are no files left.
func TestExhausted(t *testing.T) {
	_, _, lines := runAs(t, "run-without-files")
	for _, want := range []string{"true [100ms 100ms 100ms]", "up"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("got %q, want %q", lines.Text(), want)
		}
	}
}

// TestUnguarded checks that a missing guardian is reported.
func TestUnguarded(t *testing.T) {
	if why := (&Run{ID: "r_x"}).Unguarded(); why == "" {
		t.Error("a run without an executable is guarded")
	}
	r := &Run{ID: NewID(), Executable: "/no/such/program"}
	p, err := r.Start(Command{Name: "x", Path: os.Args[0], Env: append(os.Environ(), "PROCGROUP_ROLE=hang")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End(time.Minute, nil)
	if why := r.Unguarded(); !strings.Contains(why, "/no/such/program") {
		t.Errorf("got %q", why)
	}
}
