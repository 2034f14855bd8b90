package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// relayed is a machine with a hostd, in a directory of its own.
type relayed struct {
	*testing.T
	dir, concerto, relay string
	hostd                *exec.Cmd
}

func newRelayed(t *testing.T) *relayed {
	t.Helper()
	dir, err := os.MkdirTemp("", "guard") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	r := &relayed{T: t, dir: dir}
	if r.concerto, err = testproc.Command(); err != nil {
		t.Fatal(err)
	}
	if r.relay, err = testproc.Relay(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.kill()
		text, _ := os.ReadFile(filepath.Join(dir, ".local/state/concerto/guard/serve.lock"))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		os.RemoveAll(dir)
	})
	if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte("[guard]\nwait = 600\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *relayed) command(program string, args ...string) *exec.Cmd {
	c := exec.Command(program, args...)
	c.Dir = r.dir
	c.Env = append(os.Environ(), "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir, "XDG_STATE_HOME=", "CONCERTO_RUNTIME_DIR="+filepath.Join(r.dir, "rt"), "RELAY_RUN_ID=",
		"LOCAL_UNIX_SOCKET="+filepath.Join(r.dir, "s"), "CONCERTO_RELAY_SOCK="+filepath.Join(r.dir, "s"), "HOST_TOKEN=t0ken-of-the-host")
	return c
}

// start starts hostd, and returns when it serves its socket.
func (r *relayed) start() {
	r.Helper()
	ready := filepath.Join(r.dir, "ready")
	_ = os.Remove(ready) // of the previous hostd
	r.hostd = r.command(r.relay, "hostd", "--state", "state", "--root", r.dir, "--ready-file", ready)
	if err := r.hostd.Start(); err != nil {
		r.Fatal(err)
	}
	if err := testproc.AwaitFile(ready); err != nil {
		r.Fatal(err)
	}
}

func (r *relayed) kill() {
	if r.hostd != nil {
		_ = r.hostd.Process.Kill()
		_ = r.hostd.Wait()
		r.hostd = nil
	}
}

// hook starts a hook of Codex about a command, and returns the channel of its output.
func (r *relayed) hook(id, command string) chan string {
	r.Helper()
	c := r.command(r.concerto, "guard", "hook", "codex")
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s1","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}`, r.dir, command, id))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		r.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		err := c.Wait()
		ended <- fmt.Sprint(out.String(), err)
	}()
	return ended
}

// eventually repeats a command of the relay until its output matches a pattern, and returns the
// first group of the pattern.
func (r *relayed) eventually(pattern string, args ...string) string {
	r.Helper()
	text := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		out, err := r.command(r.relay, args...).CombinedOutput()
		if m := regexp.MustCompile(pattern).FindSubmatch(out); m != nil && err == nil {
			return string(m[1])
		}
		text = fmt.Sprint(string(out), err)
	}
	r.Fatalf("%v: %s", args, text)
	return ""
}

// TestGuardedSessionAtRelay decides about the calls of a guarded session with the relay's hostd,
// which shows the session as a run. A request survives a hostd that is killed.
func TestGuardedSessionAtRelay(t *testing.T) {
	r := newRelayed(t)
	r.start()
	one := r.hook("t1", "make all")
	run := r.eventually(`(run_\w+)  awaiting_approval`, "runs")
	r.eventually("(.*)", "approve", run, "q1")
	if out := <-one; out != "<nil>" { // Codex prints nothing for an allowed call
		t.Errorf("the hook prints %s", out)
	}
	two := r.hook("t2", "make x")
	r.eventually(`(run_\w+)  awaiting_approval`, "runs")
	r.kill()
	r.start()
	r.eventually("(.*)", "deny", run, "q2")
	if out := <-two; !strings.Contains(out, `"permissionDecision":"deny"`) || !strings.Contains(out, "; denied by ") {
		t.Errorf("the hook prints %s", out)
	}
	ledger, err := r.command(r.concerto, "audit", "show", filepath.Join(r.dir, ".local/state/concerto/guard/s1.ndjson")).CombinedOutput()
	if err != nil || strings.Count(string(ledger), " at relay ") != 2 {
		t.Errorf("the ledger has %s (%v)", ledger, err)
	}
}
