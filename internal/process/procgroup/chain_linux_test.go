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

// links is after how many processes a chain ends by itself: far more than there can be
// while it is looked for, and few enough that a test that fails leaves nothing for long.
const links = 50_000

func init() {
	// forks, leaves its session and ends, and so does each that comes of it
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
	// ends in order; the chain goes on
	roles["run-with-chain"] = func() {
		Adopt()
		r := &Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]}
		p := begin(r)
		p.End(time.Minute, nil)
		r.End()
		Farewell()
		os.Exit(0)
	}
	// does not end
	roles["run-killed-with-chain"] = func() {
		begin(&Run{ID: os.Getenv("PROCGROUP_RUN"), Executable: os.Args[0]})
		fmt.Println("up")
		select {}
	}
}

var atEnd = []byte("the chain came to its own end")

// chain calls the system only: a forked Go program has one thread and no scheduler.
// Standard error is held by each link; the last writes to it.
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
	syscall.RawSyscall(syscall.SYS_WRITE, keptByChain, uintptr(unsafe.Pointer(unsafe.SliceData(atEnd))), uintptr(len(atEnd)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// keptByChain is a descriptor that a chain's links inherit from the test through the run.
const keptByChain = 3

// TestChainEnds: processes that fork and end without pause, each in a session of its own,
// are ended with the run, in order or by SIGKILL. Hunter and hunted race each other, and the race
// detector makes both of them other programs: each fork copies the tables of its shadow memory.
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
					t.Fatalf("it says %q", lines.Text())
				}
				_ = c.Process.Kill()
			}
			begun := time.Now()
			if said, err := io.ReadAll(r); err != nil || len(said) > 0 { // ends with the last link
				t.Errorf("%s (%v)", said, err)
			}
			t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
			awaitNone(t, run)
		})
	}
}
