package procgroup

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	roles["reads"] = func() {
		fmt.Println("up")
		for b := make([]byte, 1); ; {
			if n, err := syscall.Read(0, b); n < 1 || err != nil {
				return
			}
			os.Stdout.Write(b)
		}
	}
	// polls waits like an event loop: for standard input and another file.
	roles["polls"] = func() {
		epoll, err := unix.EpollCreate1(0)
		if err != nil {
			panic(err)
		}
		for _, fd := range []int{0, 1} {
			if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
				panic(err)
			}
		}
		fmt.Println("up")
		unix.EpollWait(epoll, make([]unix.EpollEvent, 1), -1)
	}
	// pauses waits for something other than its input.
	roles["pauses"] = func() {
		fmt.Println("up")
		select {}
	}
}

// TestAwaitsInput checks that AwaitsInput returns true exactly for processes that wait for their
// standard input.
func TestAwaitsInput(t *testing.T) {
	for _, c := range []struct {
		role  string
		waits bool
	}{{"reads", true}, {"polls", true}, {"pauses", false}, {"spins-alone", false}} {
		t.Run(c.role, func(t *testing.T) {
			p := start(t, c.role, Command{})
			if c.role != "spins-alone" {
				firstLine(t, p)
			}
			if _, supported := p.AwaitsInput(); !supported {
				t.Skip("this machine does not report what processes wait for")
			}
			if !c.waits {
				for range 20 {
					if waits, _ := p.AwaitsInput(); waits {
						t.Fatal("AwaitsInput returns true for a process that does not wait for its input")
					}
				}
				return
			}
			awaitsSoon(t, p)
			if c.role == "reads" {
				p.Stdin.Write([]byte("x"))
				if _, err := io.ReadFull(p.Stdout, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				awaitsSoon(t, p)
			}
		})
	}
}

// awaitsSoon waits until AwaitsInput returns true.
func awaitsSoon(t *testing.T, p *Process) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		if waits, _ := p.AwaitsInput(); waits {
			return
		}
		if time.Now().After(end) {
			t.Fatal("AwaitsInput does not report that the process waits for its input")
		}
	}
}
