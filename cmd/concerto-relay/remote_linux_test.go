package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/concerto-lang/concerto/internal/testkit/faultproxy"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// remoteServer is a server with one machine. Clients connect to the server through a proxy, which
// can break connections.
type remoteServer struct {
	*machine
	server *daemon
	proxy  *faultproxy.Proxy
	target string
	at     []string // flags that select the server with an operator's token
	viewer []string
}

func newRemote(t *testing.T, flags ...string) *remoteServer {
	t.Helper()
	return newRemoteOf(t, nil, flags...)
}

// newRemoteOf is newRemote with flags of the server.
func newRemoteOf(t *testing.T, serve []string, flags ...string) *remoteServer {
	t.Helper()
	h := newMachine(t, flags...)
	hash := run(t, h.dir, "correct horse\n", "token", "hash-password")
	d := start(t, h.dir, []string{"XDG_CONFIG_HOME=" + h.dir, "ADMIN_USERNAME=ann", "ADMIN_PASSWORD_HASH=" + hash}, serve...)
	r := &remoteServer{machine: h, server: d, target: strings.TrimPrefix(d.url, "http://")}
	var err error
	if r.proxy, err = faultproxy.New(r.target, func(faultproxy.Frame) faultproxy.Fault { return faultproxy.Pass }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	tokens := map[string]*[]string{"operator": &r.at, "viewer": &r.viewer}
	secrets := make(map[string]string)
	for role, to := range tokens {
		lines := strings.Fields(h.do(0, "token", "create", "--name", role, "--role", role, "--db", "sqlite:relay.db"))
		secrets[role] = lines[len(lines)-1]
		if err := os.WriteFile(filepath.Join(h.dir, role), []byte(secrets[role]), 0o600); err != nil {
			t.Fatal(err)
		}
		*to = []string{"--server", r.proxy.URL(), "--token-file", role}
	}
	h.flags = append(h.flags, "--server", d.url, "--host-id", "desk")
	h.start()
	// The server knows the machine, and whose it is, only from its first message on.
	d.machines(secrets["operator"], func(all []machineSeen) bool { return len(all) == 1 && all[0].Online })
	return r
}

// waitForRun waits until the server lists the run, and returns the run's id.
func (r *remoteServer) waitForRun(run string) string {
	r.t.Helper()
	r.startDetached(r.server, r.server.login("ann", "correct horse"), run)
	return run
}

// screen runs the command on a pseudo-terminal and collects its output.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	mu   sync.Mutex
	more *sync.Cond
	text []byte
	over bool
}

func (h *machine) screen(args ...string) *screen {
	h.t.Helper()
	s := &screen{t: h.t, cmd: h.command(args...)}
	s.more = sync.NewCond(&s.mu)
	var err error
	if s.pty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		h.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 4096)
		for {
			n, err := s.pty.Read(b)
			s.mu.Lock()
			s.text = append(s.text, b[:n]...)
			s.over = err != nil
			s.more.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	h.t.Cleanup(func() { _ = s.cmd.Process.Kill(); _ = s.cmd.Wait(); <-done; s.pty.Close() })
	return s
}

// waitFor waits until the screen has shown a text at least the given number of times.
func (s *screen) waitFor(text string, times int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for bytes.Count(s.text, []byte(text)) < times {
		if s.over {
			s.t.Fatalf("the screen does not show %q %d times:\n%s", text, times, s.text)
		}
		s.more.Wait()
	}
}

func (s *screen) content() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

func (s *screen) typeText(text string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// waitExit waits until the command exits, and checks its exit code.
func (s *screen) waitExit(code int) {
	s.t.Helper()
	_ = s.cmd.Wait() // the exit code is checked below, so the error is not needed
	s.mu.Lock()
	for !s.over {
		s.more.Wait()
	}
	s.mu.Unlock()
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code = %d, want %d\n%s", got, code, s.content())
	}
}

const echoes = `stty -echo; echo ready; while read x; do echo "got $x"; [ "$x" = size ] && stty size; [ "$x" = end ] && exit 7; done`

// TestAttachServer attaches to a run through a server. Typed keys reach the run, the size of the
// run's terminal follows the user's, Ctrl-] d detaches, and attach exits with the run's exit code.
// After a lost connection, each line of output appears only once. A viewer can watch the run.
func TestAttachServer(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	id := r.waitForRun(r.detached(echoes))
	s := r.screen(append([]string{"attach", id}, r.at...)...)
	s.waitFor("ready", 1)
	s.typeText("a\r")
	s.waitFor("got a", 1)
	if err := pty.Setsize(s.pty, &pty.Winsize{Rows: 50, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	r.until(id, protocol.RunResized, `"cols":120`)
	s.typeText("size\r")
	s.waitFor("50 120", 1)

	r.proxy.SetTarget("127.0.0.1:1")
	r.proxy.CutAll()
	s.waitFor("is lost; reconnecting", 1)
	s.typeText("never\r")
	s.waitFor("could not send the input", 1)
	if err := r.post(id, "i1", "b\n"); err != nil {
		t.Fatal(err)
	}
	r.until(id, protocol.RunOutput, "got b")
	r.proxy.SetTarget(r.target)
	s.waitFor("connected again", 1)
	s.waitFor("got b", 1)
	s.typeText("\x1dd")
	s.waitExit(0)
	if shown := s.content(); !strings.Contains(shown, "detached: the run continues; attach again with `concerto-relay attach "+id+" --server "+r.proxy.URL()+" --token-file operator`") {
		t.Errorf("screen after detaching = %q, want the note about attaching again", shown)
	}

	v := r.screen(append([]string{"attach", id}, r.viewer...)...)
	v.waitFor("this token is a viewer's: the run is shown, and what is typed is not sent", 1)
	v.typeText("ghost\r")
	s = r.screen(append([]string{"attach", id}, r.at...)...)
	s.waitFor("got b", 1)
	s.typeText("end\r")
	s.waitExit(7)
	v.waitExit(7)
	for name, text := range map[string]string{"the second": s.content(), "the viewer's": v.content()} {
		if strings.Count(text, "got a") != 1 || strings.Count(text, "got b") != 1 || strings.Contains(text, "got ghost") || strings.Contains(text, "got never") || strings.Count(text, "viewer's") > 1 {
			t.Errorf("screen of %s = %q", name, text)
		}
	}

	seq := int64(0)
	for _, line := range strings.Split(strings.TrimSpace(r.do(7, append([]string{"attach", id, "--format", "ndjson"}, r.viewer...)...)), "\n") {
		e, refused := protocol.Parse([]byte(line))
		if refused != nil || e.RunID != id || e.Seq != seq+1 {
			t.Fatalf("event after %d: error = %v, line = %s", seq, refused, line)
		}
		seq = e.Seq
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append([]string{"attach", "run_no"}, r.at...), `there is no run "run_no" (unknown_run)`},
		{[]string{"attach", id, "--server", "http://127.0.0.1:1", "--token-file", "operator"}, "no server answers at http://127.0.0.1:1"},
		{[]string{"attach", id, "--server", r.server.url, "--token-file", "relay.toml.no"}, "--token-file"},
	} {
		if out := r.do(map[bool]int{true: 1, false: 2}[c.args[len(c.args)-1] == "operator"], c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%v: output = %s", c.args, out)
		}
	}
}

// TestDecideServer decides requests through a server. The command succeeds only if the machine
// reports that it has applied the decision. Otherwise the command prints the outcome and the
// reason.
func TestDecideServer(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	script := filepath.Join(r.dir, "host")
	if err := os.WriteFile(script, []byte(`#!/bin/bash
read prompt
echo '{"type":"question","id":"a","question":"Tabs?","options":["tabs","spaces"]}'; read answer
echo '{"type":"approval","id":1,"description":"remove it","tool":"rm","args":{"n":1},"risk_level":"high"}'; read answer
echo '{"type":"strange","n":"\u001b[2J"}'
echo '{"type":"result","text":"done it"}'
`), 0o700); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(r.do(0, "run", "--detach", "--ndjson", "--", script))
	q := r.request(id, "Tabs?").RequestID
	r.waitForRun(id)
	decide := func(want int, flags []string, args ...string) string {
		t.Helper()
		return r.do(want, append(append([]string{}, args...), flags...)...)
	}
	s := r.screen(append([]string{"attach", id}, r.at...)...)
	s.waitFor("concerto-relay approve "+id+" "+q+" --answer JSON --server "+r.proxy.URL()+" --token-file operator\r\n", 1)
	for _, c := range []struct {
		flags []string
		args  []string
		want  string
	}{
		{r.viewer, []string{"approve", id, q}, "forbidden"},
		{r.at, []string{"approve", id, "q77"}, "unknown_request"},
		{r.at, []string{"approve", "run_no", q}, "unknown_run"},
		{r.at, []string{"approve", id, q, "--answer", `{"nope":1}`}, "machine desk rejected the decision, and the request is still open: invalid_answer: "},
		{r.at, []string{"approve", id, q, "--args-sha256", strings.Repeat("0", 64)}, "args_changed"},
	} {
		if out := decide(1, c.flags, c.args...); !strings.Contains(out, c.want) {
			t.Errorf("%v: output = %s", c.args, out)
		}
	}
	var types []string
	out := decide(0, r.at, "approve", id, q, "--answer", `"tabs"`, "--format", "ndjson")
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		e, refused := protocol.Parse([]byte(line))
		var state protocol.State
		if refused != nil || e.Type != protocol.CommandState || json.Unmarshal(e.Data, &state) != nil || state.ID != q {
			t.Fatalf("invalid state (%v): %s", refused, line)
		}
		types = append(types, string(state.State))
	}
	if got := strings.Join(types, " "); got != "accepted sent applied" {
		t.Errorf("states of the decision = %s, want accepted sent applied", got)
	}
	if out := decide(0, r.at, "approve", id, q, "--answer", `"tabs"`); !strings.HasPrefix(out, "answered "+q) || !strings.HasSuffix(out, ": applied\n") {
		t.Errorf("repeated decision = %s", out)
	}
	if out := decide(1, r.at, "deny", id, q); !strings.Contains(out, "already_decided") {
		t.Errorf("other decision = %s, want already_decided", out)
	}

	q = r.request(id, "remove it").RequestID
	s.waitFor("approve "+id+" "+q+" --server", 1)
	if out := decide(0, r.at, "approve", id, q); out != "approved "+q+": applied\n" {
		t.Errorf("output of approve = %s", out)
	}
	s.waitExit(0)
	for _, want := range []string{"asks: Tabs?  answer: \"tabs\" | \"spaces\"\r\n", q + ": approved by ann\r\n", "rm {\"n\":1}\r\n", "[host:strange] {\"n\":\"\\u001b[2J\"}\r\n", "done it\r\n"} {
		if !strings.Contains(s.content(), want) {
			t.Errorf("the screen lacks %q:\n%q", want, s.content())
		}
	}
}

// TestDecideOffline decides a request while its machine is not connected. The command reports that
// the server has stored the decision. When the machine reconnects, it applies the decision.
func TestDecideOffline(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	id := r.waitForRun(r.detached(`printf 'Go on? [y/N] '; read x; echo "said $x"; exit 4`))
	q := r.request(id, "Go on?").RequestID
	var list []struct {
		Pending []protocol.PermissionRequested
	}
	token := r.server.login("ann", "correct horse")
	for len(list) == 0 || len(list[0].Pending) == 0 {
		r.server.ask("GET", "/runs", token, "", &list)
	}
	r.kill()
	var machines []struct{ Online bool }
	for len(machines) == 0 || machines[0].Online {
		r.server.ask("GET", "/hosts", token, "", &machines)
	}
	waited := r.do(1, append([]string{"approve", id, q, "--wait", "50ms"}, r.at...)...)
	if !strings.Contains(waited, "machine desk is not connected: the server stores the decision, which takes effect if the machine reconnects within 24 h") {
		t.Errorf("output of approve with --wait 50ms = %s", waited)
	}
	if out := r.do(0, append([]string{"approve", id, q, "--wait", "0s"}, r.at...)...); out != "approved "+q+": accepted; machine desk receives it when it is connected\n" {
		t.Errorf("output of approve with --wait 0s = %s", out)
	}
	s := r.screen(append([]string{"attach", id}, r.at...)...)
	s.typeText("x")
	s.waitFor("could not send the input: machine desk is not connected (host_offline)", 1)
	r.start()
	if out := r.do(4, append([]string{"attach", id}, r.at...)...); !strings.Contains(out, "said y") {
		t.Errorf("output of the run = %q", out)
	}
	s.waitExit(4)
}
