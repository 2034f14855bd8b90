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

// links is the number of processes after which a chain ends by itself: far more than can start
// during the test, and few enough to end soon if the test fails.
const links = 50_000

func init() {
	// forks, leaves its session and exits, as does each child
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
	// exits normally; the chain continues
	roles["run-with-chain"] = func() {
		Adopt()
		r := &Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]}
		p := begin(r)
		p.End(time.Minute, nil)
		r.End()
		Farewell()
		os.Exit(0)
	}
	// does not exit
	roles["run-killed-with-chain"] = func() {
		begin(&Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]})
		fmt.Println("up")
		select {}
	}
}

var atEnd = []byte("the chain came to its own end")

// chain uses only system calls: a forked Go program has one thread and no scheduler. Each link
// holds standard error, and the last writes to it.
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

// chainTime is a descriptor that a chain's links inherit from the test through the run.
const chainTime = 3

// TestChainEnds checks that processes that fork and exit without pause, each in its own session,
// are ended with the run, normally or by SIGKILL. The test depends on speed, and the race detector
// slows forks down by copying its shadow memory.
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
					t.Fatalf("got %q, want \"up\"", lines.Text())
				}
				_ = c.Process.Kill()
			}
			begun := time.Now()
			if output, err := io.ReadAll(r); err != nil || len(output) > 0 { // ends with the last link
				t.Errorf("output %s (%v)", output, err)
			}
			t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
			awaitNone(t, run)
		})
	}
}
