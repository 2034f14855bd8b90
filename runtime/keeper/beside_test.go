//go:build unix

package keeper_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// startBeside starts a process that has a bridge, and returns the path of the bridge.
func startBeside(t *testing.T, c *keeper.Client) (conn *keeper.Conn, path string) {
	t.Helper()
	path = mcpbridge.Path()
	conn, err := c.Start(keeper.Spec{ID: keeper.ID{Host: "worker", K: 1}, Path: os.Args[0], Env: []string{"HOST=1"}, Bridge: path, Whole: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, path
}

// over is a client that is connected to a bridge.
type over struct {
	net.Conn
	in *bufio.Reader
}

func comeOver(t *testing.T, path string) over {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return over{conn, bufio.NewReader(conn)}
}

func (o over) send(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(o, line); err != nil {
		t.Fatal(err)
	}
}

// shell returns the specification of a command that sh runs.
func shell(t *testing.T, command string) *terminalhost.Spec {
	t.Helper()
	path, args, err := terminalhost.Shell(command, nil, "/", os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return &terminalhost.Spec{Path: path, Args: args, Env: os.Environ(), Dir: "/", Retain: terminalhost.Most}
}

// TestBridgeOutlivesTheRun sends lines over a bridge while no client is connected. The lines must
// appear in the output after everything that the process wrote before. They must wait for the next
// client, and only that client may answer them.
func TestBridgeOutlivesTheRun(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a, path := startBeside(t, first)
	sendLine(t, a, keeper.KindBegin, "say before")
	expectLines(t, a, "before")
	o := comeOver(t, path)
	o.send(t, "one")
	expectLines(t, a, "\x1e1 one")
	answer := func(c *keeper.Conn, lastLine int64, text string) {
		t.Helper()
		if _, err := c.Write(c.Frame(keeper.KindSent, lastLine, nil, []keeper.Side{{Client: 1, Line: []byte(text)}, {Client: 2, Line: []byte("nobody is there")}}, 0)); err != nil {
			t.Fatal(err)
		}
	}
	answer(a, 2, "to one")
	first.Leave()
	o.send(t, "two")
	second := client(t, dir, 2)
	if _, err := second.Attach(); err != nil {
		t.Fatal(err)
	}
	b, err := second.Connect(keeper.ID{Host: "worker", K: 1}, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	expectLines(t, b, "before", "\x1e1 one", "\x1e1 two")
	if b.Opened().Accepted != 2 {
		t.Errorf("the keeper accepted %d frames, want 2", b.Opened().Accepted)
	}
	answer(b, 3, "to two")
	for _, want := range []string{"to one\n", "to two\n"} {
		if got, err := o.in.ReadString('\n'); err != nil || got != want {
			t.Errorf("answer = %q (error %v), want %q", got, err, want)
		}
	}
	// The bridge's line must be inserted after the bytes that BytesSent has counted.
	mark := b.BytesSent()
	o.send(t, "three")
	l, err := b.ReadLine()
	if err != nil || string(l.Text) != "\x1e1 three" || l.Offset < mark {
		t.Errorf("line = %q at offset %d (error %v), want the third request after offset %d", l.Text, l.Offset, err, mark)
	}
	o.Close()
	expectLines(t, b, "\x1e1")
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the bridge's directory was not removed: %v", err)
	}
}

// TestTerminalsOutliveTheRun checks that commands continue to run without a client. The next client
// must find them, even if the previous one did not receive the answer to its request to start them.
func TestTerminalsOutliveTheRun(t *testing.T) {
	dir := t.TempDir()
	first := client(t, dir, 1)
	a, _ := startBeside(t, first)
	id, err := a.Terminals().Open(1, shell(t, "read line < "+fifo(t, dir)+"; echo got $line; exit 7"))
	if err != nil {
		t.Fatal(err)
	}
	first.Leave()
	if _, err := a.Terminals().Output(id); !errors.Is(err, keeper.ErrLeft) {
		t.Errorf("Output after Leave: error %v, want ErrLeft", err)
	}
	second := client(t, dir, 2)
	if _, err := second.Attach(); err != nil {
		t.Fatal(err)
	}
	b, err := second.Connect(keeper.ID{Host: "worker", K: 1}, 1, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if reopened, err := b.Terminals().Open(1, shell(t, "exit 9")); err != nil || reopened != id {
		t.Errorf("repeated Open = %s (error %v), want %s", reopened, err, id)
	}
	if o, err := b.Terminals().Output(id); err != nil || o.Exit != nil {
		t.Errorf("output = %+v (error %v), want a running command", o, err)
	}
	write(t, filepath.Join(dir, "fifo"), "hello\n")
	if exit, err := b.Terminals().Await(id); err != nil || exit.Code != 7 {
		t.Errorf("exit = %+v (error %v), want code 7", exit, err)
	}
	if o, err := b.Terminals().Output(id); err != nil || o.Text != "got hello\n" {
		t.Errorf("output = %+v (error %v), want \"got hello\"", o, err)
	}
	for range 2 { // the request is repeated because the first answer may be lost
		if err := b.Terminals().Release(2, id); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.Terminals().Output(id); !errors.Is(err, terminalhost.ErrNone) {
		t.Errorf("Output after Release: error %v, want ErrNone", err)
	}
	if err := second.End(); err != nil {
		t.Fatal(err)
	}
}

func fifo(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTerminalsAndBridgeEndWithHost checks that the terminals and the bridge of a host end together
// with the host, whichever way it ends.
func TestTerminalsAndBridgeEndWithHost(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, dir string, c *keeper.Client, host *keeper.Conn){
		"itself": func(t *testing.T, _ string, _ *keeper.Client, host *keeper.Conn) {
			sendLine(t, host, keeper.KindSent, "exit 3")
		},
		"ended": func(_ *testing.T, _ string, _ *keeper.Client, host *keeper.Conn) { host.End(time.Minute, nil) },
		"killed": func(_ *testing.T, _ string, _ *keeper.Client, host *keeper.Conn) {
			stop := make(chan struct{})
			close(stop)
			host.End(time.Minute, stop)
		},
		"with the run": func(t *testing.T, _ string, c *keeper.Client, _ *keeper.Conn) { must(t, c.End()) },
		"orphaned":     func(_ *testing.T, _ string, c *keeper.Client, _ *keeper.Conn) { c.Leave() },
		"with its keeper": func(t *testing.T, dir string, _ *keeper.Client, _ *keeper.Conn) {
			must(t, syscall.Kill(keeperOf(t, dir), syscall.SIGKILL))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := client(t, dir, 1, func(o *keeper.Options) { o.Orphan = 50 * time.Millisecond })
			host, path := startBeside(t, c)
			comeOver(t, path)
			if name == "killed" { // it has no time to exit by itself
				if _, err := host.Terminals().Open(1, shell(t, "trap '' TERM; echo $$; while :; do read x < "+fifo(t, dir)+"; done")); err != nil {
					t.Fatal(err)
				}
			} else if _, err := host.Terminals().Open(1, shell(t, "echo $$; exec sleep 1000")); err != nil {
				t.Fatal(err)
			}
			var pid int
			until(t, "the command runs", func() bool {
				o, err := host.Terminals().Output("t1")
				_, _ = fmt.Sscan(o.Text, &pid)
				return err == nil && pid > 0
			})
			end(t, dir, c, host)
			awaitExit(t, pid)
			if name == "with its keeper" { // the next keeper removes them
				until(t, "the keeper is gone", func() bool {
					_, err := client(t, dir, 2).Attach()
					return errors.Is(err, keeper.ErrNone)
				})
			}
			until(t, "the bridge is gone", func() bool { _, err := os.Stat(filepath.Dir(path)); return os.IsNotExist(err) })
			if err := c.End(); err != nil {
				t.Error(err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinesAreNotMixed checks that a line of a bridge is not inserted into an incomplete line of
// the process.
func TestLinesAreNotMixed(t *testing.T) {
	c := client(t, t.TempDir(), 1)
	host, path := startBeside(t, c)
	sendLine(t, host, keeper.KindBegin, "many 3000 x")
	o := comeOver(t, path)
	const lines = 300
	go func() {
		for i := range lines {
			fmt.Fprintln(o, "side", i)
		}
	}()
	own, beside := 0, 0
	for own < 3000 || beside < lines {
		l, err := host.ReadLine()
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(own, " x")
		if strings.HasPrefix(string(l.Text), "\x1e") {
			want = fmt.Sprint("\x1e1 side ", beside)
			beside++
		} else {
			own++
		}
		if string(l.Text) != want {
			t.Fatalf("line = %q, want %q", l.Text, want)
		}
	}
	must(t, c.End())
}

// TestSignalsOfTheKeeperAreItsOwn checks that the keeper's children do not inherit its setting to
// ignore SIGINT and SIGHUP.
func TestSignalsOfTheKeeperAreItsOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system has no /proc")
	}
	c := client(t, t.TempDir(), 1)
	a, _ := startBeside(t, c)
	id, err := a.Terminals().Open(1, shell(t, "grep SigIgn: /proc/self/status"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Terminals().Await(id); err != nil {
		t.Fatal(err)
	}
	o, err := a.Terminals().Output(id)
	if err != nil {
		t.Fatal(err)
	}
	var ignored uint64
	if _, err := fmt.Sscanf(o.Text, "SigIgn: %x", &ignored); err != nil || ignored&(1<<(syscall.SIGHUP-1)|1<<(syscall.SIGINT-1)) != 0 {
		t.Errorf("signals ignored by the child = %q (error %v), want neither SIGHUP nor SIGINT", o.Text, err)
	}
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
}
