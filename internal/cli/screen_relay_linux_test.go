package cli

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testterm"
)

const askedTwice = `
-- main.conc --
fn main() {
  emit("got", await emit("first", "Which branch?")?);
  emit("got", await emit("second", "Which tag?")?);
}
`

// relaying is a hostd that a test controls.
type relaying struct {
	*testing.T
	reader *bufio.Reader
	conn   net.Conn
	lines  []string

	before syscall.Termios // settings of the terminal before the run
}

// onRelay starts a run on a terminal. The run is connected to a hostd that the test plays.
func onRelay(t *testing.T, files string) (*testterm.Running, *relaying) {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	h := &relaying{T: t}
	came := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			h.conn, h.reader = c, bufio.NewReader(c)
			_, err = http.ReadRequest(h.reader)
		}
		if err == nil {
			_, err = fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: concerto-source\r\n\r\n")
		}
		came <- err
	}()
	r, _ := onTerminal(t, files, 60, 14, func(c *exec.Cmd) { c.Env = append(c.Env, "CONCERTO_RELAY_SOCK=") }, "run", "--share="+sock, "main.conc")
	h.before = r.Before
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.conn.Close() })
	return r, h
}

// awaitLine reads the run's lines until one of all the lines so far begins with begin. Lines of
// different goroutines of the run have no order.
func (h *relaying) awaitLine(begin string) {
	h.Helper()
	begins := func(line string) bool { return strings.HasPrefix(line, begin) }
	for !slices.ContainsFunc(h.lines, begins) {
		line, err := h.reader.ReadString('\n')
		if h.lines = append(h.lines, line); err != nil {
			h.Fatalf("read the run's lines: %v; no line begins with %s:\n%s", err, begin, strings.Join(h.lines, ""))
		}
	}
}

// TestAsksTwoPlaces checks that a question is shown on the terminal and also sent to the relay. The
// first answer is used. After an answer from the relay the prompt disappears; after an answer on
// the terminal the request to the relay is withdrawn.
func TestAsksTwoPlaces(t *testing.T) {
	r, h := onRelay(t, askedTwice)
	h.awaitLine(`{"ask":"q1",`)
	r.AwaitText("Which branch?\nfirst>")
	r.Type("half an ans") // who is there has begun to type
	r.AwaitText("half an ans")
	if _, err := fmt.Fprintf(h.conn, `{"answer":"q1","value":"main","by":"ada"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	r.AwaitText("[got] main")
	h.awaitLine(`{"ask":"q2",`)
	s := r.AwaitText("Which tag?\nsecond>")
	if strings.Contains(s.Text(), "half an ans") {
		t.Errorf("the prompt that was answered by the relay remains:\n%s", s.Text())
	}
	r.Type("v2\r")
	h.awaitLine(`{"withdraw":"q2"}`)
	h.awaitLine(`{"event":"run.exited","data":{"exit_code":0,`)
	h.conn.Close()
	code, s := r.AwaitExit()
	if code != 0 || !strings.Contains(s.Text(), "[got] v2") {
		t.Errorf("exit code %d, screen:\n%s", code, s.Text())
	}
	checkTerminal(t, r, h.before, s)
	if all := strings.Join(h.lines, ""); strings.Contains(all, `{"withdraw":"q1"}`) || strings.Count(all, `{"ask":`) != 2 {
		t.Errorf("want two requests, of which only q2 is withdrawn; received lines:\n%s", all)
	}
}
