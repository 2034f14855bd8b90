//go:build unix

package procgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// roles contains the functions that the test binary executes when it is started as a child process.
var roles = map[string]func(){
	"echo": func() {
		sc := bufio.NewScanner(os.Stdin)
		for sc.Scan() {
			fmt.Println("got", sc.Text())
		}
		os.Exit(3)
	},
	"hang": func() {
		fmt.Println("up")
		select {}
	},
	"stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up")
		select {}
	},
	// parent starts a child that has all pipes open, prints its number and exits.
	"parent": func() { leaveChild("hang"); os.Exit(0) },
	"parent-stubborn": func() {
		signal.Ignore(syscall.SIGTERM)
		leaveChild("hang")
		os.Exit(0)
	},
	"parent-stays": func() { leaveChild("hang"); select {} },
	"complain": func() {
		for i := range 100 {
			fmt.Fprintf(os.Stderr, "line %d\n", i)
		}
		fmt.Fprint(os.Stderr, "last words")
		os.Exit(7)
	},
	"deaf": func() { os.Stdin.Close(); fmt.Println("up"); select {} },
}

func leaveChild(role string) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "PROCGROUP_ROLE="+role)
	c.Stdin, c.Stderr = os.Stdin, os.Stderr
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		panic(err)
	}
	bufio.NewReader(out).ReadString('\n') // after this line the child runs, and has the signal dispositions of this process
	fmt.Println(c.Process.Pid)
}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv("PROCGROUP_ROLE")]; play != nil {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		play()
		return
	}
	os.Exit(m.Run())
}

func start(t *testing.T, role string, c Command) *Process {
	t.Helper()
	c.Path = os.Args[0]
	c.Env = append(os.Environ(), "PROCGROUP_ROLE="+role)
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.Stdin.Close()
		<-p.GroupDone()
	})
	return p
}

func firstLine(t *testing.T, p *Process) string {
	t.Helper()
	l, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(l)
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux" && syscall.Kill(pid, 0) == nil
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return f[0] != "Z" && f[0] != "X"
}

func TestPipesAndExitCode(t *testing.T) {
	p := start(t, "echo", Command{})
	io.WriteString(p.Stdin, "a\nb\n")
	p.Stdin.Close()
	out, err := io.ReadAll(p.Stdout)
	if err != nil || string(out) != "got a\ngot b\n" {
		t.Errorf("output = %q, error %v", out, err)
	}
	if e := p.Exit(); e != (Exit{Code: 3}) {
		t.Errorf("exit = %+v, want code 3", e)
	}
	<-p.GroupDone()
}

func TestOwnGroup(t *testing.T) {
	p := start(t, "hang", Command{})
	firstLine(t, p)
	pgid, err := syscall.Getpgid(p.Pid())
	if err != nil || pgid != p.Pid() || pgid == syscall.Getpgrp() {
		t.Errorf("process group = %d of process %d (error %v), group of the test = %d", pgid, p.Pid(), err, syscall.Getpgrp())
	}
}

func TestEndBySignal(t *testing.T) {
	p := start(t, "hang", Command{})
	firstLine(t, p)
	p.End(time.Minute, nil)
	if e := p.Exit(); e.Code != 128+15 || e.Signal != "terminated" {
		t.Errorf("exit = %+v, want SIGTERM", e)
	}
}

func TestStubbornIsKilled(t *testing.T) {
	for _, how := range []string{"grace", "stop"} {
		t.Run(how, func(t *testing.T) {
			p := start(t, "stubborn", Command{})
			firstLine(t, p)
			stop, grace := make(chan struct{}), time.Minute
			if how == "grace" {
				grace = 20 * time.Millisecond
			} else {
				close(stop)
			}
			p.End(grace, stop)
			if e := p.Exit(); e.Code != 128+9 {
				t.Errorf("exit = %+v, want code 137", e)
			}
		})
	}
}

// TestGrandchildHoldsPipes starts a leader that exits while its child has the pipes open. The
// output must end, and the child must be killed.
func TestGrandchildHoldsPipes(t *testing.T) {
	p := start(t, "parent", Command{})
	out, err := io.ReadAll(p.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatalf("output = %q, want the number of the child", out)
	}
	if e := p.Exit(); e.Code != 0 {
		t.Errorf("exit = %+v, want code 0", e)
	}
	<-p.GroupDone()
	if alive(child) {
		t.Errorf("grandchild %d still runs", child)
	}
}

// TestInterruptRead checks that InterruptRead interrupts a waiting Read without losing output, and
// that the output of an exited process can be read even while reading is interrupted.
func TestInterruptRead(t *testing.T) {
	p := start(t, "echo", Command{})
	b := make([]byte, 100)
	read := func() string {
		n, err := p.Stdout.Read(b)
		if err != nil {
			return err.Error()
		}
		return string(b[:n])
	}
	interrupted := os.ErrDeadlineExceeded.Error()
	came := make(chan string)
	go func() { came <- read() }()
	p.InterruptRead()
	if got := <-came; got != interrupted {
		t.Errorf("interrupted Read returns %q", got)
	}
	fmt.Fprintln(p.Stdin, "one")
	for p.Written() == 0 {
		runtime.Gosched()
	}
	if got := read(); got != interrupted {
		t.Errorf("Read returns %q while reading is interrupted", got)
	}
	p.ResumeRead()
	if got := read(); got != "got one\n" {
		t.Errorf("Read after ResumeRead returns %q", got)
	}
	fmt.Fprintln(p.Stdin, "two")
	p.Stdin.Close()
	<-p.Done()
	p.InterruptRead()
	if got := read() + read(); got != "got two\nEOF" {
		t.Errorf("Read of the remaining output returns %q", got)
	}
	p.ResumeRead()
	if got := read(); got == interrupted || strings.Contains(got, "got") {
		t.Errorf("Read after the end of the output returns %q", got)
	}
}

func TestStubbornGrandchild(t *testing.T) {
	p := start(t, "parent-stubborn", Command{Grace: 30 * time.Millisecond})
	child, _ := strconv.Atoi(firstLine(t, p))
	<-p.GroupDone()
	if alive(child) {
		t.Errorf("grandchild %d still runs", child)
	}
}

func TestGroupEndsTogether(t *testing.T) {
	p := start(t, "parent-stays", Command{})
	child, _ := strconv.Atoi(firstLine(t, p))
	p.End(time.Minute, nil)
	if alive(child) || alive(p.Pid()) {
		t.Errorf("still running: child %v, leader %v; want neither", alive(child), alive(p.Pid()))
	}
}

func TestStderr(t *testing.T) {
	var got []string
	p := start(t, "complain", Command{Stderr: func(l []byte) { got = append(got, string(l)) }})
	e := p.Exit()
	if len(got) != 101 || got[0] != "line 0" || got[100] != "last words" {
		t.Errorf("Stderr received %d lines, want 101", len(got))
	}
	tail := strings.Split(e.Stderr, "\n")
	if len(tail) != tailLines || tail[0] != "line 81" || tail[19] != "last words" || e.Code != 7 {
		t.Errorf("exit code %d, last lines of stderr %q", e.Code, tail)
	}
}

func TestUnread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reports how much a pipe contains")
	}
	p := start(t, "hang", Command{})
	firstLine(t, p)
	io.WriteString(p.Stdin, "12345")
	if n := p.Unread(); n != 5 {
		t.Errorf("Unread returns %d, want 5", n)
	}
	p.End(time.Minute, nil)
	if n := p.Unread(); n != 5 {
		t.Errorf("Unread after the end of the process returns %d, want 5", n)
	}
}

func TestWriteNow(t *testing.T) {
	p := start(t, "hang", Command{})
	firstLine(t, p)
	b := make([]byte, 1<<20)
	n := p.WriteNow(b)
	if n <= 0 || n >= len(b) {
		t.Errorf("WriteNow wrote %d bytes to a process that does not read, want only as many as fit into the pipe", n)
	}
	if n := p.WriteNow(b); n != 0 {
		t.Errorf("WriteNow wrote %d bytes to a full pipe, want 0", n)
	}
	p.End(time.Minute, nil)
	if n := p.WriteNow(b); n != 0 {
		t.Errorf("WriteNow wrote %d bytes to an exited process, want 0", n)
	}
}

func TestWriteToDeafProcess(t *testing.T) {
	p := start(t, "deaf", Command{})
	firstLine(t, p)
	if _, err := io.WriteString(p.Stdin, "x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write error = %v, want EPIPE", err)
	}
}

func TestTail(t *testing.T) {
	var tl tail
	long := strings.Repeat("x", lineBytes*3/2) // two pieces
	tl.capture(strings.NewReader("a\r\n"+long+"\nbad \xff byte"), nil, nil)
	want := "bad \ufffd byte"
	lines := strings.Split(tl.String(), "\n")
	if lines[0] != "a" || lines[len(lines)-1] != want {
		t.Errorf("tail = %q", lines)
	}
	tl.capture(strings.NewReader(strings.Repeat(strings.Repeat("y", 1500)+"\n", 10)), nil, nil)
	if n := len(tl.String()); n > tailBytes {
		t.Errorf("the tail has %d bytes, more than tailBytes", n)
	}
}

// TestTailAllocates checks that the memory for standard error does not depend on its length.
func TestTailAllocates(t *testing.T) {
	text := strings.Repeat("a line of a flood\n", 100_000)
	for _, most := range []int{0, 64 << 10} {
		lines := 0
		n := testing.AllocsPerRun(3, func() {
			tl := tail{most: most}
			tl.capture(strings.NewReader(text), func([]byte) { lines++ }, nil)
		})
		if n > 100 {
			t.Errorf("with the limit %d, capture allocates %v times", most, n)
		}
		if lines != 4*100_000 { // AllocsPerRun calls the function once more
			t.Errorf("capture passed %d lines, want 400000", lines)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := write("bin/run", 0o755)
	write("bin/text", 0o644)
	env := []string{"PATH=/nowhere", "PATH=relative:" + dir + "/none:" + dir + "/bin"}
	for _, c := range []struct {
		command, want string
		err           error
	}{
		{"run", run, nil},
		{"./bin/run", run, nil},
		{run, run, nil},
		{"bin/none", "", ErrNotFound},
		{"none", "", ErrNotFound},
		{"text", "", ErrNotExecutable},
		{"bin/text", "", ErrNotExecutable},
		{"./bin", "", ErrIsDirectory},
		{"bin", "", ErrNotFound},
		{"", "", ErrNotFound},
	} {
		got, err := Find(c.command, dir, env)
		if !errors.Is(err, c.err) || c.err == nil && got != c.want {
			t.Errorf("Find(%q) = %q, %v; want %q, %v", c.command, got, err, c.want, c.err)
		}
	}
}

func TestStartFailure(t *testing.T) {
	if _, err := Start(Command{Path: "/no/such/program"}); !os.IsNotExist(err) {
		t.Errorf("Start returns %v, want a not-exist error", err)
	}
}

// TestWritten checks that Written counts the output of a process, whether it was read or not.
func TestWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not report how much a pipe contains")
	}
	p := start(t, "echo", Command{})
	out := bufio.NewReaderSize(p.Stdout, 16)
	for i, line := range []string{"a", "bc", ""} {
		if got, want := p.Written(), int64([]int{0, 6, 13}[i]); got != want {
			t.Errorf("Written before line %d = %d, want %d", i, got, want)
		}
		fmt.Fprintln(p.Stdin, line)
		if got, err := out.ReadString('\n'); err != nil || got != "got "+line+"\n" {
			t.Fatalf("line of output = %q, error %v", got, err)
		}
	}
	fmt.Fprintln(p.Stdin, "unread")
	p.Stdin.Close()
	<-p.Done()
	if got := p.Written(); got != 18+11 {
		t.Errorf("Written with an unread line = %d, want 29", got)
	}
	if rest, err := io.ReadAll(out); err != nil || string(rest) != "got unread\n" {
		t.Errorf("rest of the output = %q, error %v", rest, err)
	}
	if got := p.Written(); got != 29 {
		t.Errorf("Written at the end of the output = %d, want 29", got)
	}
}
