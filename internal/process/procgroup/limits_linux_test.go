package procgroup

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func init() {
	begun := func() { fmt.Println(time.Now().UnixNano()) }
	roles["eats"] = func() {
		begun()
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
			if len(all) > 1<<10 { // more than a gigabyte: the limit was not enforced
				os.Exit(8)
			}
		}
	}
	// spins uses CPU time in two children.
	roles["spins"] = func() {
		begun()
		for range 2 {
			c := exec.Command(os.Args[0])
			c.Env, c.Stdout = append(os.Environ(), "PROCGROUP_ROLE=spins-alone"), os.Stdout
			if err := c.Start(); err != nil {
				panic(err)
			}
		}
		select {}
	}
	// spins-alone prints a line when it has used more CPU time than TestCgroup allows.
	roles["spins-alone"] = func() {
		var u syscall.Rusage
		for reported := false; ; spun.Add(1) {
			if reported || spun.Load()%(1<<16) != 0 {
				continue
			}
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
				panic(err)
			}
			if reported = time.Duration(u.Utime.Nano()) > 400*time.Millisecond; reported {
				fmt.Println("spun")
			}
		}
	}
	roles["forks"] = func() {
		begun()
		for range 40 {
			c := exec.Command("/bin/sleep", "60")
			if err := c.Start(); err != nil {
				panic(err)
			}
		}
		select {}
	}
	roles["ends"] = func() { os.Exit(5) }
}

// spun is incremented in a loop, so that the compiler cannot remove the loop.
var spun atomic.Int64

// TestLimits checks that a process that exceeds a limit is killed together with its children, and
// that Exit names the limit.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		role   string
		limits Limits
		want   Limit
		least  time.Duration // minimum time until the limit is exceeded
	}{
		{"eats", Limits{MemoryMB: 64}, LimitMemory, 0},
		{"spins", Limits{CPUSeconds: 0.3}, LimitCPU, 0},
		{"spins-alone", Limits{CPUSeconds: 0.3, MemoryMB: 1 << 20}, LimitCPU, 0},
		{"forks", Limits{Processes: 10}, LimitProcesses, 0},
		{"parent-stays", Limits{WallSeconds: 0.2}, LimitWall, 200 * time.Millisecond},
		{"parent-stays", Limits{WallSeconds: 0.2, Processes: 1 << 20, CPUSeconds: 1 << 20}, LimitWall, 200 * time.Millisecond},
		{"ends", Limits{WallSeconds: 1 << 20, Processes: 5, CPUSeconds: 100, MemoryMB: 1 << 20, OpenFiles: 100}, "", 0},
		{"ends", Limits{}, "", 0},
	} {
		t.Run(c.role+" "+string(c.want), func(t *testing.T) {
			p := start(t, c.role, Command{Limits: &c.limits})
			begun := time.Now()
			<-p.GroupDone()
			took := time.Since(begun)
			e := p.Exit()
			if e.Limit != c.want || c.want != "" && e.Code != 128+9 || c.want == "" && e.Code != 5 {
				t.Errorf("exit = %+v, want limit %q", e, c.want)
			}
			if took < c.least {
				t.Errorf("the process was killed already after %v", took)
			}
			if groupAlive(p.pgid) {
				t.Error("a process of the group still runs")
			}
			t.Logf("the group exited after %v", took.Round(time.Millisecond))
		})
	}
	limited.mu.Lock()
	defer limited.mu.Unlock()
	if len(limited.all) != 0 {
		t.Errorf("the limits of %d processes are still being checked", len(limited.all))
	}
}

// TestKernelHoldsCPU checks that the kernel kills a process that exceeds its CPU limit if the
// periodic check does not, and that Exit names the limit.
func TestKernelHoldsCPU(t *testing.T) {
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "read -r x; while :; do :; done"}, Env: []string{}, Limits: &Limits{CPUSeconds: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	limited.remove(p)
	io.WriteString(p.Stdin, "go\n")
	<-p.GroupDone()
	if e := p.Exit(); e.Limit != LimitCPU || e.Code != 128+int(syscall.SIGXCPU) {
		t.Errorf("exit = %+v, want SIGXCPU", e)
	}
}

func TestOpenFiles(t *testing.T) {
	p, err := Start(Command{Path: "/bin/sh", Args: []string{"-c", "read -r x; ulimit -n"}, Env: []string{}, Limits: &Limits{OpenFiles: 77}})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(p.Stdin, "go\n")
	out, _ := io.ReadAll(p.Stdout)
	<-p.GroupDone()
	if string(out) != "77\n" {
		t.Errorf("limit on open files = %q, want 77", out)
	}
}

func TestGroupDir(t *testing.T) {
	const mounts = `24 1 0:22 / /proc rw - proc proc rw
30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
31 1 0:27 /docker/abc /mnt/x rw - cgroup2 cgroup rw
`
	for _, c := range []struct{ own, mounts, want string }{
		{"0::/user.slice/a.scope\n", mounts, "/sys/fs/cgroup/user.slice/a.scope"},
		{"9:name=systemd:/x\n0::/\n", mounts, "/sys/fs/cgroup"},
		{"0::/docker/abc/d\n", strings.SplitAfter(mounts, "\n")[2], "/mnt/x/d"},
		{"0::/docker\n", strings.SplitAfter(mounts, "\n")[2], ""},
		{"4:memory:/x\n", mounts, ""},
		{"0::/x\n", "24 1 0:22 / /proc rw - proc proc rw\n", ""},
	} {
		got, err := groupDir(c.own, c.mounts)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("groupDir(%q) = %q, %v; want %q", c.own, got, err, c.want)
		}
	}
}

// TestCgroup starts a process in a new control group, on machines that permit this. Controllers may
// be missing. Descendants that leave the process group must still be counted and killed.
func TestCgroup(t *testing.T) {
	base, err := delegatedOf(func() (string, error) { return ownGroup() }, nil)
	if err != nil {
		t.Skip(err)
	}
	g, err := newCgroup(base, &Limits{CPUSeconds: 0.3})
	if err != nil {
		t.Fatal(err)
	}
	path := g.path
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCGROUP_ROLE=spins")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: int(g.dir.Fd())}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		g.remove()
		t.Skip(err)
	}
	l := &Limits{CPUSeconds: 0.3}
	for lines, spun := bufio.NewScanner(stdout), 0; spun < 2 && lines.Scan(); {
		if lines.Text() == "spun" {
			spun++
		}
	}
	if got := g.exceeded(l); got != LimitCPU {
		t.Fatalf("exceeded limit = %q after %d µs of CPU time, want LimitCPU", got, g.readCounter("cpu.stat", "usage_usec"))
	}
	if got := g.exceeded(&Limits{Processes: 2}); got != LimitProcesses {
		t.Errorf("exceeded limit = %q with three processes, want LimitProcesses", got)
	}
	g.remove()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process exited with %v, want that it was killed", err)
	}
	if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); !os.IsNotExist(err) {
		t.Errorf("the control group was not removed: %v", err)
	}
}
