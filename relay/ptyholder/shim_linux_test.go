package ptyholder_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		if err := ptyholder.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == "knock" {
		knock()
	}
	os.Exit(m.Run())
}

// knock is the process of a run that tries to use the holder's socket as hostd does.
func knock() {
	c, err := net.Dial("unix", "sock")
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, `{"n":1,"op":"input","id":"mine","sha256":"x","text":"by myself\n"}`)
	out, err := io.ReadAll(c)
	fmt.Printf("heard %d bytes (%v)\n", len(out), err != nil && !errors.Is(err, syscall.ECONNRESET))
	os.Exit(0)
}

// run is a run of a holder, with the client that hostd uses.
type run struct {
	*ptyholder.Client
	t    *testing.T
	dir  string
	pid  int
	seen []byte
	off  int64
}

func start(t *testing.T, script string) *run {
	t.Helper()
	// A path that is longer than the maximum length of a socket's path.
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	r := &run{t: t, dir: dir}
	var err error
	r.pid, err = ptyholder.Start(os.Args[0], []string{"shim"}, ptyholder.Spec{Dir: dir, Path: "/bin/bash", Name: "bash", Args: []string{"-c", script}, Env: os.Environ(), Cwd: t.TempDir(), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	shim := 0
	t.Cleanup(func() {
		_ = syscall.Kill(-r.pid, syscall.SIGKILL)
		if shim == 0 {
			return
		}
		// The holder must exit before its directory is removed.
		_ = syscall.Kill(shim, syscall.SIGKILL)
		if left, err := testproc.AwaitExit(2*time.Minute, shim); len(left) > 0 || err != nil {
			t.Errorf("the holder is still running: %v (%v)", left, err)
		}
	})
	r.attach()
	shim = r.Holder()
	return r
}

func (r *run) attach() {
	r.t.Helper()
	var err error
	if r.Client, err = ptyholder.Attach(r.dir, r.off); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(r.Client.Close)
}

// next reads more output. It returns false at the end of the run.
func (r *run) next() bool {
	r.t.Helper()
	b := make([]byte, 64<<10)
	n, at, err := r.Read(context.Background(), r.off, b)
	if errors.Is(err, io.EOF) {
		return false
	}
	if err != nil || at != r.off {
		r.t.Fatalf("read at offset %d: offset = %d, error = %v", r.off, at, err)
	}
	r.seen = append(r.seen, b[:n]...)
	r.off += int64(n)
	r.Ack(r.off)
	return true
}

func (r *run) until(text string) {
	r.t.Helper()
	for !bytes.Contains(r.seen, []byte(text)) {
		if !r.next() {
			r.t.Fatalf("the output ended without %q: %q", text, r.seen)
		}
	}
}

func (r *run) end() ptyholder.Exit {
	r.t.Helper()
	for r.next() {
	}
	e, err := r.End()
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func (r *run) input(id, text string) ptyholder.State {
	r.t.Helper()
	sum := sha256.Sum256([]byte(text))
	state, _, err := r.Input(context.Background(), id, hex.EncodeToString(sum[:]), text)
	if errors.Is(err, ptyholder.ErrLost) { // the holder and its run have ended
		state, _, err = r.InputState(context.Background(), id)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return state
}

// TestInputOnce submits inputs several times, also from a restarted hostd. Each input must be
// written once. Its text must not be stored on disk, but its state must be.
func TestInputOnce(t *testing.T) {
	r := start(t, `stty -echo; echo ready; read a; echo "one=$a"; read b; echo "two=$b"; exit 3`)
	r.until("ready")
	if echo, secret, err := r.Modes(context.Background()); echo || !secret || err != nil {
		t.Errorf("modes without echo: echo = %v, secret = %v, error = %v", echo, secret, err)
	}
	for range 3 {
		if got := r.input("i1", "s3cret-text\n"); got != ptyholder.Applied {
			t.Errorf("state of i1 = %s, want applied", got)
		}
	}
	if got := r.input("i1", "other\n"); got != ptyholder.Conflict {
		t.Errorf("state of i1 with another text = %s, want input_conflict", got)
	}
	r.until("one=s3cret-text")
	r.Close()
	r.attach()
	if got := r.input("i1", "s3cret-text\n"); got != ptyholder.Applied {
		t.Errorf("state of i1 after a restart of hostd = %s, want applied", got)
	}
	if state, _, err := r.InputState(context.Background(), "i2"); state != ptyholder.Unseen || err != nil {
		t.Errorf("state of i2 = %q, error = %v; want unseen", state, err)
	}
	r.input("i2", "b\n")
	if e := r.end(); e.Code != 3 || e.Reason != "exited" || e.Signal != "" || e.Total != r.off {
		t.Errorf("exit = %+v, read bytes = %d", e, r.off)
	}
	if want := "ready\r\none=s3cret-text\r\ntwo=b\r\n"; string(r.seen) != want {
		t.Errorf("output = %q", r.seen)
	}
	in, err := os.ReadFile(filepath.Join(r.dir, "in"))
	if err != nil || bytes.Contains(in, []byte("s3cret")) || strings.Count(string(in), "\n") != 4 {
		t.Errorf("recorded inputs = %s (%v), want 4 lines without the text", in, err)
	}
	for id, want := range map[string]ptyholder.State{"i1": ptyholder.Applied, "i2": ptyholder.Applied, "i3": ptyholder.Unseen} {
		if state, _, err := r.InputState(context.Background(), id); state != want || err != nil {
			t.Errorf("state of %s after the end = %q, error = %v", id, state, err)
		}
	}
	if _, _, err := r.Input(context.Background(), "i3", "", "late\n"); !errors.Is(err, ptyholder.ErrLost) {
		t.Errorf("input after the end: error = %v, want ErrLost", err)
	}
}

// TestLog checks that the log consists of segments, that a run waits for its reader, and that the
// reader receives each byte once, however often it restarts.
func TestLog(t *testing.T) {
	r := start(t, `stty -opost; for ((i = 0; i < 3; i++)); do head -c 6000000 /dev/zero | tr '\0' "$i"; done`)
	for i := 0; r.next(); i++ {
		if i%40 == 39 {
			r.Close()
			r.attach()
		}
	}
	if e, err := r.End(); err != nil || e.Total != 18_000_000 || r.off != e.Total {
		t.Fatalf("exit = %+v, error = %v, read bytes = %d", e, err, r.off)
	}
	for i := range 3 {
		if part := r.seen[i*6_000_000 : (i+1)*6_000_000]; bytes.Count(part, []byte{byte('0' + i)}) != len(part) {
			t.Errorf("output of part %d is incomplete", i)
		}
	}
	for _, name := range []string{"out", "out.1", "out.2"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if err := os.Remove(filepath.Join(r.dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, at, err := ptyholder.ReadLog(r.dir, 5, make([]byte, 10)); at != 8<<20 || err != nil {
		t.Errorf("read of deleted output: offset = %d, error = %v; want the second segment", at, err)
	}
}

// TestShimKilled kills the holder. The terminal then hangs up and the run ends. Its output can
// still be read, but its exit is unknown.
func TestShimKilled(t *testing.T) {
	r := start(t, `echo begun; echo $PPID; echo; read x; echo never`)
	r.until("\n\r\n")
	lines := strings.Fields(string(r.seen))
	var shimPID int
	if _, err := fmt.Sscan(lines[1], &shimPID); err != nil || shimPID == os.Getpid() {
		t.Fatalf("output = %q, error = %v; want the id of the holder", r.seen, err)
	}
	if err := syscall.Kill(shimPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for r.next() {
	}
	if e, err := r.End(); !errors.Is(err, ptyholder.ErrLost) || e.Code != -1 || e.Reason != "lost" {
		t.Errorf("exit = %+v, error = %v; want ErrLost", e, err)
	}
	waitForExit(t, r.pid)
	r.attach()
	if r.next() {
		t.Error("next returned output after the end")
	}
}

// waitForExit waits until a process has exited, possibly as a zombie.
func waitForExit(t *testing.T, pid int) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return
	}
	defer f.Close()
	for {
		b := make([]byte, 1024)
		n, err := f.ReadAt(b, 0)
		if n == 0 && err != nil || bytes.Contains(b[:n], []byte(") Z ")) {
			return
		}
	}
}

// TestStop checks that a stop signals the whole process group, kills it after the grace period, and
// is reported as the reason of the exit.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		name, script string
		kill         bool
		grace        int64
		want         ptyholder.Exit
	}{
		{"asked", `echo $$; echo; read x`, false, 600, ptyholder.Exit{Code: 143, Signal: "SIGTERM"}},
		// Bash can miss a signal that arrives just before its builtin read blocks. A child that
		// exits ends its wait.
		{"tidies up", `trap 'exit 7' TERM; sleep 1000 & echo $$; echo; wait; exit 7`, false, 600, ptyholder.Exit{Code: 7}},
		{"does not listen", `trap '' TERM; echo $$; echo; read x`, false, 0, ptyholder.Exit{Code: 137, Signal: "SIGKILL"}},
		{"killed", `trap '' TERM; cat & echo $!; echo; read x`, true, 600, ptyholder.Exit{Code: 137, Signal: "SIGKILL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t, c.script)
			r.until("\n\r\n")
			var pid int
			if _, err := fmt.Sscan(string(r.seen), &pid); err != nil {
				t.Fatal(err)
			}
			if err := r.Stop(context.Background(), c.kill, c.grace); err != nil {
				t.Fatal(err)
			}
			e := r.end()
			if e.Code != c.want.Code || e.Signal != c.want.Signal || e.Reason != "stopped" {
				t.Errorf("exit = %+v", e)
			}
			waitForExit(t, pid)
		})
	}
}

// TestTerminal checks the size of the terminal and typed keys. Processes that continue after the
// run has ended must not delay its end.
func TestTerminal(t *testing.T) {
	r := start(t, `stty size; echo ready; read x; echo "typed $x"; stty size; (trap '' HUP; exec sleep 1000) & echo "left=$!="`)
	r.until("ready")
	if err := r.Resize(context.Background(), 100, 40); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"g", "o", "\r"} {
		if err := r.Keys(key); err != nil {
			t.Fatal(err)
		}
	}
	if e := r.end(); e.Code != 0 || e.Total != r.off {
		t.Errorf("exit = %+v", e)
	}
	if out := string(r.seen); !strings.HasPrefix(out, "24 80\r\n") || !strings.Contains(out, "typed go\r\n40 100\r\n") {
		t.Errorf("output = %q", out)
	}
	var left int
	_, after, _ := strings.Cut(string(r.seen), "left=")
	if _, err := fmt.Sscan(strings.TrimSuffix(strings.TrimSpace(after), "="), &left); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(left, syscall.SIGKILL)
}

// TestOrphans checks that orphaned processes of a run become children of the holder, and that the
// holder reaps them.
func TestOrphans(t *testing.T) {
	r := start(t, `shim=$PPID; (setsid bash -c 'while [ $(cut -d" " -f4 /proc/$$/stat) != '$shim' ]; do :; done; echo adopted by '$shim &); read x
		until [ "$(cat /proc/$shim/task/*/children | tr -d ' \n')" = $$ ]; do :; done; echo reaped; exit 3`)
	r.until(fmt.Sprintf("adopted by %d", r.Holder()))
	r.input("go", "\n")
	if exit := r.end(); exit.Code != 3 || !strings.Contains(string(r.seen), "reaped") {
		t.Errorf("exit = %+v, output = %q", exit, r.seen)
	}
	if pid := r.Holder(); pid != 0 {
		t.Errorf("Holder = %d after the exit of the holder, want 0", pid)
	}
}

// TestCannotStart checks the errors for runs that cannot be started.
func TestCannotStart(t *testing.T) {
	spec := ptyholder.Spec{Dir: t.TempDir(), Path: "/no/such/program", Name: "program", Cwd: "/", Cols: 80, Rows: 24}
	if _, err := ptyholder.Start(os.Args[0], []string{"shim"}, spec); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("start of a missing program: error = %v", err)
	}
	spec.Dir += "/none"
	if _, err := ptyholder.Start(os.Args[0], []string{"shim"}, spec); err == nil {
		t.Error("start in a missing directory succeeded")
	}
	if _, err := ptyholder.Start("/no/shim", nil, ptyholder.Spec{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "/no/shim") {
		t.Errorf("start with a missing holder: error = %v", err)
	}
}

// TestRunCannotUseSocket checks that no process of a run can use the socket of the run's holder,
// even if it starts a session of its own. Otherwise the run could answer its own questions, and
// hostd would consider the run lost.
func TestRunCannotUseSocket(t *testing.T) {
	r := start(t, `read dir; cd "$dir"; setsid --wait `+os.Args[0]+` knock; `+os.Args[0]+` knock; echo all; read x; echo "x=$x"`)
	r.input("dir", r.dir+"\n")
	r.until("all")
	if n := bytes.Count(r.seen, []byte("heard 0 bytes (false)")); n != 2 {
		t.Errorf("output = %q, want no response to both connections of the run", r.seen)
	}
	if got := r.input("x", "hostd's\n"); got != ptyholder.Applied {
		t.Errorf("state of hostd's input = %s, want applied", got)
	}
	r.until("x=hostd's")
}
