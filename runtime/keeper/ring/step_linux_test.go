package ring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The reader of TestEveryInstruction runs on the main thread, which the test traces.
func init() {
	if os.Getenv("RING_READER") != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	if os.Getenv("RING_READER") != "" {
		if err := readByStep(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

const (
	stepSize = 97 // size of the ring of TestEveryInstruction
	stepRead = 23 // bytes that are read at once
	stepText = "one\ntwenty-two\n3\n\nfour and five\n"
	stepAll  = 10 // how often the text is written
)

// stepRing returns the ring in the file that both processes map.
func stepRing(fd int) (*Ring, error) {
	mem, err := unix.Mmap(fd, 0, headerSize+stepSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return newRing(mem), nil
}

// readByStep reads the pipe, descriptor 4, into the ring, descriptor 3, and acknowledges lines when
// the ring is full. It stops itself at the beginning and at the end.
func readByStep() error {
	r, err := stepRing(3)
	if err != nil {
		return err
	}
	var acked, seen Position
	stop := func() { _ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGSTOP) }
	stop()
	for {
		space := r.Space(stepRead)
		if len(space) == 0 {
			if acked == seen {
				return errors.New("the ring is full")
			}
			acked = seen
			r.Acknowledge(acked.Lines, acked)
			continue
		}
		n, err := unix.Read(4, space)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		at := r.Head()
		r.Advance(n)
		for i, b := range space[:n] {
			if b == '\n' {
				seen = Position{Bytes: at + int64(i) + 1, Lines: seen.Lines + 1}
			}
		}
	}
	stop()
	return nil
}

// TestEveryInstruction executes a process that reads into a ring instruction by instruction. After
// each instruction, Recover and the pipe contain all bytes that are not acknowledged, each once. A
// process that is killed at this instruction leaves the same memory.
func TestEveryInstruction(t *testing.T) {
	runtime.LockOSThread() // all ptrace requests must come from one thread
	defer runtime.UnlockOSThread()
	fd, err := unix.MemfdCreate("ring", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	memory := os.NewFile(uintptr(fd), "ring")
	defer memory.Close()
	if err := memory.Truncate(headerSize + stepSize); err != nil {
		t.Fatal(err)
	}
	r, err := stepRing(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.init()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	all := []byte(strings.Repeat(stepText, stepAll))
	if _, err := in.Write(all); err != nil {
		t.Fatal(err)
	}
	in.Close()

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RING_READER=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{memory, out}
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); errors.Is(err, os.ErrPermission) {
		t.Skipf("this system does not permit ptrace: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	defer func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	wait := func() syscall.Signal {
		var status unix.WaitStatus
		for {
			if _, err := unix.Wait4(pid, &status, unix.WALL, nil); err == nil {
				break
			} else if err != unix.EINTR {
				t.Fatal(err)
			}
		}
		if !status.Stopped() {
			t.Fatalf("the reader has ended: %v", status)
		}
		return status.StopSignal()
	}
	for s := wait(); s != syscall.SIGSTOP; s = wait() {
		if s == syscall.SIGTRAP {
			s = 0 // of exec
		}
		if err := unix.PtraceCont(pid, int(s)); err != nil {
			t.Fatal(err)
		}
	}
	steps, acks := 0, int64(0)
	for s := syscall.SIGTRAP; s != syscall.SIGSTOP; steps++ {
		if err := unix.PtraceSingleStep(pid); err != nil {
			t.Fatal(err)
		}
		s = wait()
		left, err := unix.IoctlGetInt(int(out.Fd()), unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.Recover()
		if err != nil {
			t.Fatalf("instruction %d: %v", steps, err)
		}
		end := len(all) - left
		if p := c.Acked; int(p.Bytes) > end || string(c.Text) != string(all[p.Bytes:end]) || int(p.Lines) != bytes.Count(all[:p.Bytes], []byte("\n")) || c.Lines < p.Lines {
			t.Fatalf("instruction %d: Recover = %+v, %d of %d bytes are in the pipe", steps, c, left, len(all))
		}
		acks = c.Acked.Lines
	}
	if c, err := r.Recover(); err != nil || int(c.Acked.Bytes)+len(c.Text) != len(all) || acks < 40 || steps < 1000 {
		t.Errorf("after %d instructions, Recover = %+v, error %v; want %d bytes", steps, c, err, len(all))
	}
	t.Logf("%d instructions", steps)
}
