package procgroup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// child is the variable that makes this test binary play a process.
const child = "PROCGROUP_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(child) {
	case "":
		os.Exit(m.Run())
	case "echo": // repeats its input
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(3)
	case "parent": // starts a process that outlives it, and prints its number
		c := exec.Command(os.Args[0])
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), child+"=sleep"), os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(c.Process.Pid)
		os.Exit(0)
	case "sleep":
		time.Sleep(time.Hour)
	case "polite": // ends when it receives CTRL_BREAK
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		fmt.Println("ready")
		<-c
		os.Exit(7)
	}
}

func startChild(t *testing.T, kind string) *Process {
	t.Helper()
	p, err := Start(Command{Path: os.Args[0], Env: append(os.Environ(), child+"="+kind), Grace: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill(); <-p.GroupDone() })
	return p
}

// TestOutput checks that a process receives its input, and that its output and exit code arrive.
func TestOutput(t *testing.T) {
	p := startChild(t, "echo")
	written := make(chan error, 1)
	go func() {
		_, err := io.WriteString(p.Stdin, strings.Repeat("x", 1<<20)+"\n")
		written <- errors.Join(err, p.Stdin.Close())
	}()
	out, err := io.ReadAll(p.Stdout)
	if err != nil || len(out) != 1<<20+1 {
		t.Errorf("received %d bytes: %v", len(out), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if code := p.Exit().Code; code != 3 {
		t.Errorf("the exit code is %d, want 3", code)
	}
}

// TestDescendants checks that a process that outlives its parent is ended with the group, and that
// reading the output does not wait for it.
func TestDescendants(t *testing.T) {
	p := startChild(t, "parent")
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	<-p.GroupDone()
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return // it has exited already
	}
	defer func() { _ = windows.CloseHandle(h) }()
	if s, err := windows.WaitForSingleObject(h, 10000); err != nil || s != windows.WAIT_OBJECT_0 {
		t.Errorf("the process %d still runs: %d %v", pid, s, err)
	}
}

// TestEnd checks that CTRL_BREAK reaches a process, and that a process that ignores it is ended.
func TestEnd(t *testing.T) {
	p := startChild(t, "polite")
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p.End(5*time.Second, nil)
	if code := p.Exit().Code; code != 7 && code != killedCode {
		t.Errorf("the exit code is %d, want that of the handler, or of a kill without a console", code)
	}
	p = startChild(t, "sleep")
	p.End(50*time.Millisecond, nil)
	if code := p.Exit().Code; code == 0 {
		t.Error("a killed process has the exit code 0")
	}
}

// TestInterruptRead checks that a waiting read ends, and that no output is lost.
func TestInterruptRead(t *testing.T) {
	p := startChild(t, "echo")
	p.InterruptRead()
	if _, err := p.Stdout.Read(make([]byte, 1)); err != os.ErrDeadlineExceeded {
		t.Errorf("an interrupted read: %v", err)
	}
	p.ResumeRead()
	if _, err := io.WriteString(p.Stdin, "again\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || line != "again\n" {
		t.Errorf("after an interruption: %q %v", line, err)
	}
}
