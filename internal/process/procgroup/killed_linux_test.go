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

// patience is the maximum time to wait. Only a bug makes a wait that long.
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
	// run starts a child with two children, one of them in a new session. Then it prints the line
	// "up" and waits.
	roles["run"] = func() {
		r := self()
		p := begin(r, "parent-of-session")
		fmt.Println("up", await(p, "all"), r.Unguarded())
		select {}
	}
	// run-killed-at-birth kills itself when its first child exists and the guardian has not been
	// notified.
	roles["run-killed-at-birth"] = func() {
		onChildStarted = func() {
			for len(marked(os.Getenv("PROCGROUP_RUN"))) < 3 { // wait until the child has started its own children
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		begin(self(), "parent-of-session")
	}
	// run-loses-guardian kills its guardian and continues with a new one.
	roles["run-loses-guardian"] = func() {
		r := self()
		begin(r, "parent-of-session")
		guards.mu.Lock()
		first := guards.pid
		guards.mu.Unlock()
		_ = syscall.Kill(first, syscall.SIGKILL)
		// The guardian's first thread may exit while other threads still have its files open.
		if left, err := testproc.AwaitExit(patience, first); len(left) > 0 || err != nil {
			panic(fmt.Sprint("the guardian is left: ", err))
		}
		await(begin(r, "parent-of-session"), "all")
		fmt.Println("up", await(begin(r, "hang"), "up"), r.Unguarded())
		select {}
	}
	// run-ends exits normally.
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
	// run-families ends processes of three hosts, whose children are in other sessions, and then
	// calls EndFamily for one of them.
	roles["run-families"] = func() {
		Adopt()
		r := self()
		end := func(host, number string) {
			p, err := r.Start(Command{Name: host, Path: os.Args[0], Env: append(os.Environ(), NumberVariable+"="+number, "PROCGROUP_ROLE=parent-of-session")})
			if err != nil {
				panic(err)
			}
			await(p, "all")
			p.End(0, nil)
		}
		end("x", "2")
		end("x", "12")
		end("y", "1")
		fmt.Println(len(marked(r.ID)), "others")
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				end("x", "1")
				r.EndFamily("x", 1)
			})
		}
		calls.Wait()
		fmt.Println(len(marked(r.ID)), "remain")
		r.End()
		fmt.Println(len(marked(r.ID)), "after the run")
		Farewell()
		os.Exit(0)
	}
	// run-without-files tries to start a process when no file descriptors are left.
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

// await reads the output of a process up to a line that equals word. It returns word, or an error
// message if the process has closed its output.
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

// runAs starts this test binary as a run with a new id, in the given role.
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

// awaitNone waits until no process of the run exists.
func awaitNone(t *testing.T, run string) {
	t.Helper()
	since := time.Now()
	for all := marked(run); len(all) > 0; all = marked(run) { // processes may have been started during the wait
		if left, err := testproc.AwaitExit(patience-time.Since(since), all...); len(left) > 0 || err != nil {
			t.Fatalf("processes %v still run (error %v)", left, err)
		}
	}
	t.Logf("all processes had exited after %v", time.Since(since).Round(time.Millisecond))
}

// TestKilled checks that the descendants of a process are killed when the process is killed.
func TestKilled(t *testing.T) {
	for _, role := range []string{"run", "run-loses-guardian"} {
		t.Run(role, func(t *testing.T) {
			c, run, lines := runAs(t, role)
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), "up ") || len(strings.Fields(lines.Text())) != 2 {
				t.Fatalf("the run printed %q, want \"up\" without a reason from Unguarded", lines.Text())
			}
			if n := len(marked(run)); n < 3 {
				t.Fatalf("the run has %d processes, want at least 3", n)
			}
			_ = c.Process.Kill()
			awaitNone(t, run)
		})
	}
}

// TestKilledAtBirth kills a process after it has started a child and before it has notified the
// guardian. The descendants must be killed nevertheless.
func TestKilledAtBirth(t *testing.T) {
	c, run, lines := runAs(t, "run-killed-at-birth")
	for lines.Scan() {
	}
	_ = c.Wait()
	if st := c.ProcessState.Sys().(syscall.WaitStatus); !st.Signaled() || st.Signal() != syscall.SIGKILL {
		t.Fatalf("the run exited with %v, want SIGKILL", c.ProcessState)
	}
	awaitNone(t, run)
}

// TestEndSweeps checks that the end of a run kills processes that have left their process group and
// session.
func TestEndSweeps(t *testing.T) {
	_, run, lines := runAs(t, "run-ends")
	if !lines.Scan() || lines.Text() != "ended 0" {
		t.Errorf("the run printed %q, want that no process is left", lines.Text())
	}
	if left := marked(run); len(left) > 0 {
		t.Errorf("processes %v still run", left)
	}
}

// TestSweepLeavesOthers checks that Run.End does not kill processes that were started directly, or
// that have no mark or the mark of another run.
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
		t.Errorf("process %d was killed", i)
	}
}

// TestExhausted checks that starting a process is retried for a while if no file descriptors are
// left.
func TestExhausted(t *testing.T) {
	_, _, lines := runAs(t, "run-without-files")
	for _, want := range []string{"true [100ms 100ms 100ms]", "up"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the run printed %q, want %q", lines.Text(), want)
		}
	}
}

// TestUnguarded checks that Unguarded returns a reason if no guardian can be started.
func TestUnguarded(t *testing.T) {
	if why := (&Run{ID: "r_x"}).Unguarded(); why == "" {
		t.Error("Unguarded returns \"\" for a run without an executable")
	}
	r := &Run{ID: NewID(), Executable: "/no/such/program"}
	p, err := r.Start(Command{Name: "x", Path: os.Args[0], Env: append(os.Environ(), "PROCGROUP_ROLE=hang")})
	if err != nil {
		t.Fatal(err)
	}
	defer p.End(time.Minute, nil)
	if why := r.Unguarded(); !strings.Contains(why, "/no/such/program") {
		t.Errorf("Unguarded returns %q, want the path of the missing executable", why)
	}
}

// TestEndFamily checks that EndFamily kills what one process of a host has started, and nothing
// else.
func TestEndFamily(t *testing.T) {
	_, run, lines := runAs(t, "run-families")
	for _, want := range []string{"3 others", "3 remain", "0 after the run"} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the run printed %q, want %q", lines.Text(), want)
		}
	}
	if left := marked(run); len(left) > 0 {
		t.Errorf("processes %v still run", left)
	}
}
