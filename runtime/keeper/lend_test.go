//go:build linux

package keeper_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/runtime/keeper"
)

// expectNumbered reads the lines `FROM text` to `TO-1 text` and acknowledges each.
func expectNumbered(t *testing.T, c *keeper.Conn, from, to int, text string) {
	t.Helper()
	for i := from; i < to; i++ {
		l, err := c.ReadLine()
		number, rest, _ := strings.Cut(string(l.Text), " ")
		if err != nil || number != strconv.Itoa(i) || rest != text {
			t.Fatalf("line = %.80q (error %v), want number %d", l.Text, err, i)
		}
		c.AckSoon(l.Number)
	}
}

// raced reports whether the race detector is active.
var raced bool

// TestDirectOutput sends 1 GB through the ring of 1 MiB. The keeper must not read it.
func TestDirectOutput(t *testing.T) {
	c := client(t, t.TempDir(), 1)
	a := start(t, c, 1)
	size, lines := 60_000, 17_000
	if raced {
		lines /= 10 // the race detector makes the copies ten times slower
	}
	text := strings.Repeat("x", size)
	sendLine(t, a, keeper.KindBegin, fmt.Sprint("many ", lines, " ", text))
	expectNumbered(t, a, 0, lines, text)
	if !a.IsDirect() {
		t.Error("the keeper reads the output")
	}
	if n := a.BytesSent(); n < int64(lines*size) {
		t.Errorf("BytesSent = %d, want at least %d", n, lines*size)
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestRingIsFull checks that a line that is longer than the ring, and lines that are not
// acknowledged, arrive through the keeper.
func TestRingIsFull(t *testing.T) {
	for name, size := range map[string]int{"a long line": 3 << 20, "unacknowledged lines": 300_000} {
		t.Run(name, func(t *testing.T) {
			c := client(t, t.TempDir(), 1)
			a := start(t, c, 1)
			sendLine(t, a, keeper.KindBegin, "say before")
			expectLines(t, a, "before")
			if !a.IsDirect() {
				t.Error("the keeper reads the output before the ring is full")
			}
			sendLine(t, a, keeper.KindSent, fmt.Sprint("long 5 ", size))
			for i := range 5 {
				l, err := a.ReadLine()
				if want := fmt.Sprint(i, " ", strings.Repeat("x", size)); err != nil || string(l.Text) != want {
					t.Fatalf("line %d has %d bytes (error %v), want %d", i, len(l.Text), err, len(want))
				}
			}
			if a.IsDirect() {
				t.Error("the keeper does not read the output after the ring was full")
			}
			sendLine(t, a, keeper.KindSent, "say after")
			expectLines(t, a, "after")
			a.Ack(7)
			if err := c.End(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestChildHoldsOutput checks that the output of a process ends when the process has exited, even
// if a child process has the output open.
func TestChildHoldsOutput(t *testing.T) {
	c := client(t, t.TempDir(), 1)
	a, err := c.Start(keeper.Spec{ID: keeper.ID{Host: "worker", K: 1}, Path: "/bin/sh", Args: []string{"-c", "echo one; sleep 1000 & read line; echo two"}, Env: os.Environ()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	expectLines(t, a, "one")
	sendLine(t, a, keeper.KindSent, "go")
	expectLines(t, a, "two")
	if l, err := a.ReadLine(); err != io.EOF {
		t.Errorf("ReadLine after the exit = %q, error %v, want EOF", l.Text, err)
	}
	a.End(0, nil)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedRing lets a client destroy the shared memory. The keeper must end the process with an
// error, and must remain usable.
func TestDamagedRing(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a := start(t, first, 1)
	sendLine(t, a, keeper.KindBegin, "say here")
	expectLines(t, a, "here")
	start(t, first, 2) // the keeper remains for this process
	a.DamageRing()
	first.Leave()
	second := client(t, dir, 2)
	if _, err := second.Attach(); err != nil {
		t.Fatal(err)
	}
	b, err := second.Connect(keeper.ID{Host: "worker", K: 1}, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e := b.Exit(); e.Code == 0 || !strings.Contains(e.Stderr, "shared memory") || !strings.Contains(e.Stderr, "damaged") {
		t.Errorf("exit = %+v, want the damaged memory as the reason", e)
	}
	toEnd(t, b)
	other, err := second.Connect(keeper.ID{Host: "worker", K: 2}, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	sendLine(t, other, keeper.KindBegin, "say there")
	expectLines(t, other, "there")
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
}

// otherClient starts a client in another process. It returns the client's output.
func otherClient(t *testing.T, dir string, owner int) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprint("CLIENT=", owner), "RUN_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

// TestKilledReaders kills clients while they read the output of a process. The lines that the
// clients print must be consecutive; the next client continues at the first line that is not
// acknowledged.
func TestKilledReaders(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a := start(t, first, 1)
	const lines = 400_000
	text := strings.Repeat("x", 100)
	sendLine(t, a, keeper.KindBegin, fmt.Sprint("many ", lines, " ", text))
	first.Leave()
	random := rand.New(rand.NewPCG(1, 2))
	next, owner := 0, 2
	for ; owner < 40 && next < lines/2; owner++ {
		cmd, out := otherClient(t, dir, owner)
		printed, min := 0, random.IntN(2*lines/40)
		for {
			l, err := out.ReadString('\n')
			if err != nil {
				break // the client was killed in the middle of a line
			}
			var n int
			if _, err := fmt.Sscan(l, &n); err != nil || l != fmt.Sprint(n, " ", text, "\n") || n > next || printed > 0 && n != next {
				t.Fatalf("client %d: line %d = %.80q, want number %d", owner, printed, l, next)
			}
			next = n + 1
			if printed++; printed == min+1 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // it was killed
	}
	last := client(t, dir, int64(owner))
	if _, err := last.Attach(); err != nil {
		t.Fatal(err)
	}
	b, err := last.Connect(keeper.ID{Host: "worker", K: 1}, 0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := b.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if fmt.Sscan(string(l.Text), &n); n > next || int64(n) != l.Number-1 {
		t.Fatalf("line %d = %.80q, want at most number %d", l.Number, l.Text, next)
	}
	expectNumbered(t, b, n+1, lines, text)
	if err := last.End(); err != nil {
		t.Fatal(err)
	}
}

// TestStoppedReader stops the process of a client with SIGSTOP. The next owner must get an error,
// because the stopped process could still read output. After that process is killed, the next owner
// continues.
func TestStoppedReader(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1, func(o *keeper.Options) { o.Env = append(o.Env, "RELEASE_TIMEOUT=50ms") })
	a := start(t, first, 1)
	sendLine(t, a, keeper.KindBegin, "say one")
	first.Leave()
	cmd, out := otherClient(t, dir, 2)
	if l, err := out.ReadString('\n'); err != nil || l != "one\n" {
		t.Fatalf("line = %q, error %v", l, err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Until all its threads have stopped, it could still react to the next owner.
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("status = %v, error %v, want a stopped process", status, err)
	}
	for range 2 { // the second attempt fails in the same way
		if _, err := client(t, dir, 3).Attach(); err == nil || !strings.Contains(err.Error(), "end that process") {
			t.Errorf("Attach while the previous owner is stopped: error %v", err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	third := client(t, dir, 3)
	until(t, "the keeper has noticed it", func() bool {
		_, err := third.Attach()
		return err == nil
	})
	b, err := third.Connect(keeper.ID{Host: "worker", K: 1}, 2, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	sendLine(t, b, keeper.KindSent, "say two")
	expectLines(t, b, "two")
	if err := third.End(); err != nil {
		t.Fatal(err)
	}
}
