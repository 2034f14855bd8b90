package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// runResult is a finished run.
type runResult struct{ out, err, wire string }

// lines returns the printed lines that begin with begin and contain held.
func (r *runResult) lines(begin, held string) (all []string) {
	for l := range strings.Lines(r.out) {
		if strings.HasPrefix(l, begin) && strings.Contains(l, held) {
			all = append(all, strings.TrimSpace(l[len(begin):]))
		}
	}
	return all
}

func (r *runResult) requireLines(t *testing.T, times int, begin, held string) {
	t.Helper()
	if n := len(r.lines(begin, held)); n != times {
		t.Errorf("number of lines that begin with %q and contain %q = %d, want %d", begin, held, n, times)
	}
}

// restOfLine returns the part after the prefix of the first line that begins with it.
func (r *runResult) restOfLine(begin string) string {
	if all := r.lines(begin, ""); len(all) > 0 {
		return all[0]
	}
	return ""
}

// requireStarts requires that the agent started want processes.
func (r *runResult) requireStarts(t *testing.T, want int) {
	t.Helper()
	if n := strings.Count(r.wire, `"line":"start"`); n != want {
		t.Errorf("the agent was started %d times, not %d", n, want)
	}
}

// TestAgents plays each scenario with each real agent; only the model is scripted.
func TestAgents(t *testing.T) {
	if testing.Short() {
		t.Skip("agents take minutes")
	}
	dir := t.TempDir()
	bin, err := filepath.Abs("../../../bin/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	var build sync.Once
	var concerto string
	for i := range agents {
		a := &agents[i]
		t.Run(a.name, func(t *testing.T) {
			if !a.isInstalled(bin) {
				t.Skipf("%s %s is not installed: `make agents` does it", a.pkg, a.version)
			}
			build.Do(func() { concerto, err = command(dir) })
			if err != nil {
				t.Fatal(err)
			}
			for j := range scenarios {
				s := &scenarios[j]
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.play(t, newWorld(t, a, concerto, bin, s.replies(&a.scriptedModel)))
				})
			}
		})
	}
}

// world is the environment of an agent: a home, a project and a model.
type world struct {
	agent    *agent
	concerto string // path of the command
	bin, dir string
	at       place
	model    *modelserver.Server
	arrived  *httptest.Server // responds after the model has received a request
}

func newWorld(t *testing.T, a *agent, concerto, bin string, replies []modelserver.Reply) *world {
	tmp := t.TempDir()
	w := &world{agent: a, concerto: concerto, bin: bin, dir: filepath.Join(tmp, "work")}
	for i := range replies {
		for j := range replies[i].ToolCalls {
			c := &replies[i].ToolCalls[j]
			c.Args = bytes.ReplaceAll(c.Args, []byte("DIR"), []byte(w.dir))
		}
	}
	var err error
	if w.model, err = modelserver.Start(nil, replies...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.model.Close)
	w.at = place{home: filepath.Join(tmp, "home"), url: w.model.URL}
	for _, d := range []string{w.at.home, w.dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.writeFiles(w.at); err != nil {
		t.Fatal(err)
	}
	w.arrived = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for !slices.ContainsFunc(w.model.Requests(), func(q modelserver.Request) bool { return strings.Contains(q.Text, a.main) }) {
			select {
			case <-w.model.Arrived:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(w.arrived.Close)
	return w
}

// manifest writes the manifest of the agent's program.
func (w *world) manifest(more string) string {
	c := w.agent.config(filepath.Join(w.bin, ".bin"), w.dir, w.at)
	var b strings.Builder
	line := func(key string, v any) {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "%s = %s\n", key, text)
	}
	b.WriteString("[hosts.coder]\n")
	line("transport", c.Transport)
	line("command", c.Command)
	if c.Args != nil {
		line("args", c.Args)
	}
	if c.Vendor.Model != "" {
		line("model", c.Vendor.Model)
	}
	line("timeout", 120)
	b.WriteString(more)
	b.WriteString("[hosts.coder.env]\n")
	for name, value := range c.Env {
		line(name, value)
	}
	return b.String()
}

// run runs a program with the agent.
func (w *world) run(t *testing.T, program, config string) *runResult {
	t.Helper()
	for name, text := range map[string]string{"main.conc": program, "Concerto.toml": w.manifest(config)} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.concerto, "run", "--progress", "none", "--wire", filepath.Join(w.dir, "talk.wire"))
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(w.concerto) + ":" + os.Getenv("PATH"), "HOME=" + w.at.home, "TMPDIR=" + filepath.Dir(w.dir), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Errorf("concerto run: %v", err)
	}
	wire, err := os.ReadFile(filepath.Join(w.dir, "talk.wire"))
	if err != nil {
		t.Error(err)
	}
	w.requireNoProcesses(t)
	r := &runResult{out: out.String(), err: errs.String(), wire: string(wire)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s\nwire:\n%s", r.out, r.err, r.wire)
		}
	})
	return r
}

// requireFile requires that a file exists, or that it does not.
func (w *world) requireFile(t *testing.T, name string, want bool) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(w.dir, name)); (err == nil) != want {
		t.Errorf("%s is there: %v, not %v", name, err == nil, want)
	}
}

// lastRequest returns the last request to the model in the main conversation.
func (w *world) lastRequest(t *testing.T) string {
	t.Helper()
	for _, q := range slices.Backward(w.model.Requests()) {
		if strings.Contains(q.Text, w.agent.main) {
			return q.Text
		}
	}
	t.Fatal("the model has received no request of the main conversation")
	return ""
}

func (w *world) requireInRequest(t *testing.T, text string) {
	t.Helper()
	if last := w.lastRequest(t); !strings.Contains(last, text) {
		t.Errorf("the last request to the model does not contain %q:\n%s", text, last)
	}
}

func (w *world) requireNotInRequest(t *testing.T, text string) {
	t.Helper()
	if last := w.lastRequest(t); strings.Contains(last, text) {
		t.Errorf("the last request to the model contains %q:\n%s", text, last)
	}
}

// requireNoProcesses requires that no process of the run remains.
func (w *world) requireNoProcesses(t *testing.T) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "HOME="+w.at.home+"\x00") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
			t.Errorf("the run left a process running: %s: %s", file, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
}
