package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	running "github.com/concerto-lang/concerto/internal/engine/live"
)

// guardedProject is a project whose policy lets a person decide.
type guardedProject struct {
	*testing.T
	dir, runtime string
	env          []string
}

func newGuarded(t *testing.T) *guardedProject {
	t.Helper()
	g := &guardedProject{T: t, dir: t.TempDir(), runtime: filepath.Join(t.TempDir(), "rt")}
	g.env = append(os.Environ(), "HOME="+g.dir, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "CONCERTO_RELAY_SOCK=", "CONCERTO_RUNTIME_DIR="+g.runtime, "NO_COLOR=1")
	if err := os.WriteFile(filepath.Join(g.dir, "Concerto.toml"), []byte("[guard]\nwait = 600\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pid := g.serve(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	})
	return g
}

// serve returns the process id of guard serve, or 0.
func (g *guardedProject) serve() int {
	text, _ := os.ReadFile(filepath.Join(g.dir, ".local/state/concerto/guard/serve.lock"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 without the file
	return pid
}

func (g *guardedProject) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Args[0], c.Dir, c.Env = "concerto", g.dir, g.env
	return c
}

// hook starts a hook of Claude Code about a command, and returns the channel of its output.
func (g *guardedProject) hook(session, id, command string) chan string {
	g.Helper()
	return g.event(fmt.Sprintf(`{"session_id":%q,"cwd":"DIR","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}`, session, command, id))
}

// event starts a hook of Claude Code about an event. DIR in it means the directory of the project.
func (g *guardedProject) event(text string) chan string {
	g.Helper()
	c := g.command("guard", "hook", "claude-code")
	c.Stdin = strings.NewReader(strings.ReplaceAll(text, "DIR", g.dir))
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		g.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		_ = c.Wait() // the output shows it
		ended <- out.String()
	}()
	return ended
}

// pending waits until a session shows a request.
func (g *guardedProject) pending(session string) running.Pending {
	g.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		out, err := g.command("top", "--format", "json").Output()
		if err != nil {
			g.Fatal(err)
		}
		var all []running.State
		if err := json.Unmarshal(out, &all); err != nil {
			g.Fatal(err)
		}
		for _, s := range all {
			if s.Run == session && len(s.Pending) > 0 {
				return s.Pending[0]
			}
		}
	}
	g.Fatalf("the session %s shows no request", session)
	return running.Pending{}
}

// answer answers a request with `concerto runs answer`.
func (g *guardedProject) answer(args ...string) string {
	g.Helper()
	out, err := g.command(append([]string{"runs", "answer"}, args...)...).CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return ""
}

// TestGuardTop shows a call that waits in top, and allows it there. The next one is denied with
// runs answer, and late answers are refused.
func TestGuardTop(t *testing.T) {
	g := newGuarded(t)
	first := g.hook("s1", "t1", "make all")
	top, _ := onTerminal(t, "", 120, 20, func(c *exec.Cmd) { c.Env = append(c.Env, "CONCERTO_RUNTIME_DIR="+g.runtime) }, "top")
	top.AwaitText("s1", "waiting", "Run a command: make all")
	top.Type("a")
	top.AwaitText("claude-code asks to run a command", "make all", "in "+g.dir, "Concerto.toml:1: no rule matches", "y or n")
	top.Type("y")
	top.AwaitText("allowed")
	if out := <-first; !strings.Contains(out, `"permissionDecision":"allow"`) || !strings.Contains(out, "; allowed by ") {
		t.Errorf("the hook prints %s", out)
	}
	second := g.hook("s1", "t2", "make x")
	top.AwaitText("make x")
	q := g.pending("s1")
	if out := g.answer("s1", q.ID, "--refuse", "later", "--by", "ann"); out != "" {
		t.Error(out)
	}
	if out := <-second; !strings.Contains(out, `"permissionDecision":"deny"`) || !strings.Contains(out, "; denied by ann: later") {
		t.Errorf("the hook prints %s", out)
	}
	if out := g.answer("s1", q.ID, "yes"); !strings.Contains(out, "run s1 has no open request "+q.ID) {
		t.Errorf("a late answer: %s", out)
	}
	top.Type("q")
	top.AwaitExit()
	// A question of the agent has an answer, and no refusal.
	third := g.event(`{"session_id":"s1","cwd":"DIR","permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"Which?","options":[{"label":"Red"},{"label":"Blue"}]}]}}`)
	q = g.pending("s1")
	if out := g.answer("s1", q.ID, "--refuse", "later"); !strings.Contains(out, "--refuse denies approvals") {
		t.Errorf("a refusal: %s", out)
	}
	if out := g.answer("s1", "--channel", "host:question", "blue"); out != "" {
		t.Error(out)
	}
	if out := <-third; !strings.Contains(out, `"answers":{"Which?":"Blue"}`) {
		t.Errorf("the hook prints %s", out)
	}
}

// TestGuardManySessions starts the hooks of 50 sessions at the same time. One process holds their
// calls.
func TestGuardManySessions(t *testing.T) {
	g := newGuarded(t)
	const n = 50
	var hooks []chan string
	for i := range n {
		hooks = append(hooks, g.hook(fmt.Sprint("s", i), "t1", "make all"))
	}
	shown := running.NewClient(g.runtime)
	defer shown.Close()
	var waiting []running.State
	pids := map[int]bool{}
	for end := time.Now().Add(2 * time.Minute); len(waiting) < n && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		all, err := shown.List()
		if err != nil {
			t.Fatal(err)
		}
		waiting = slices.DeleteFunc(all, func(s running.State) bool { return len(s.Pending) == 0 })
	}
	for _, s := range waiting {
		pids[s.PID] = true
		if err := running.Answer(g.runtime, s.Run, &s.Pending[0], "yes", "ann"); err != nil {
			t.Error(err)
		}
	}
	if len(waiting) != n || len(pids) != 1 {
		t.Fatalf("%d sessions wait in %d processes", len(waiting), len(pids))
	}
	for _, hook := range hooks {
		if out := <-hook; !strings.Contains(out, `"permissionDecision":"allow"`) {
			t.Errorf("the hook prints %s", out)
		}
	}
}

// TestGuardServeKilled kills guard serve while two calls wait. The hooks start another one, and the
// answers are recorded once.
func TestGuardServeKilled(t *testing.T) {
	g := newGuarded(t)
	one, two := g.hook("s1", "t1", "make all"), g.hook("s2", "t1", "make x")
	q, pid := g.pending("s1"), g.serve()
	g.pending("s2")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for g.serve() == pid {
		time.Sleep(time.Millisecond)
	}
	if again := g.pending("s1"); again.ID != q.ID {
		t.Errorf("the request has the ids %s and %s", q.ID, again.ID)
	}
	for _, session := range []string{"s1", "s2"} {
		if out := g.answer(session, g.pending(session).ID, "yes", "--by", "ann"); out != "" {
			t.Error(out)
		}
	}
	for _, hook := range []chan string{one, two} {
		if out := <-hook; !strings.Contains(out, `"permissionDecision":"allow"`) {
			t.Errorf("the hook prints %s", out)
		}
	}
	// The decisions do not depend on the process.
	if err := syscall.Kill(g.serve(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out, err := g.command("audit", "show", filepath.Join(g.dir, ".local/state/concerto/guard/s1.ndjson")).CombinedOutput()
	if err != nil || strings.Count(string(out), "by human ann at answer") != 1 {
		t.Errorf("the ledger has %s (%v)", out, err)
	}
}
