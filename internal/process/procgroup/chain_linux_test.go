package procgroup

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// links is the number of processes after which a chain stops by itself. It is far more than can
// start during the test, but small enough that the chain soon stops if the test fails.
const links = 50_000

func init() {
	// chain forks, changes its session and exits; each child does the same.
	roles["chain"] = func() {
		fmt.Println("up")
		chain()
	}
	begin := func(r *Run) *Process {
		p, err := r.Start(Command{Name: "child", Path: os.Args[0], Env: append(os.Environ(), "PROCGROUP_ROLE=chain")})
		if err != nil {
			panic(err)
		}
		await(p, "up")
		<-p.Done()
		return p
	}
	// run-with-chain exits normally while the chain continues.
	roles["run-with-chain"] = func() {
		Adopt()
		r := &Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]}
		p := begin(r)
		p.End(time.Minute, nil)
		r.End()
		Farewell()
		os.Exit(0)
	}
	// run-killed-with-chain does not exit; the test kills it.
	roles["run-killed-with-chain"] = func() {
		begin(&Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]})
		fmt.Println("up")
		select {}
	}
}

var atEnd = []byte("the chain came to its own end")

// chain is the loop of the processes in a chain. It uses only system calls, because a forked Go
// program has one thread and no scheduler. Each process has standard error open, and the last one
// writes to it.
//
//go:norace
func chain() {
	for range links {
		child, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if child != 0 {
			for {
				syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
	}
	syscall.RawSyscall(syscall.SYS_WRITE, chainTime, uintptr(unsafe.Pointer(unsafe.SliceData(atEnd))), uintptr(len(atEnd)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// chainTime is the number of a file descriptor. The processes of a chain inherit it from the test.
const chainTime = 3

// TestChainEnds checks that processes that fork and exit without pause, each in a new session, are
// killed when the run exits normally or is killed. The test depends on the speed of forks, which
// the race detector slows down because its shadow memory must be copied.
func TestChainEnds(t *testing.T) {
	randtest.Measures(t)
	for _, role := range []string{"run-with-chain", "run-killed-with-chain"} {
		t.Run(role, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			c, run, lines := runAs(t, role, w)
			w.Close()
			if role == "run-killed-with-chain" {
				if !lines.Scan() || lines.Text() != "up" {
					t.Fatalf("first line of the run = %q, want \"up\"", lines.Text())
				}
				_ = c.Process.Kill()
			}
			begun := time.Now()
			if output, err := io.ReadAll(r); err != nil || len(output) > 0 { // the output ends when the last process of the chain exits
				t.Errorf("the chain was not killed: output %s (error %v)", output, err)
			}
			t.Logf("the chain was killed after %v", time.Since(begun).Round(time.Millisecond))
			awaitNone(t, run)
		})
	}
}
