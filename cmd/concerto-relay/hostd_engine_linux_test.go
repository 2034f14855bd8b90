package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// TestHostdEngine shows the runs of an engine by hostd, which seals them: a device of the account
// reads and answers them, also after hostd was killed, and the server has nothing of their content.
func TestHostdEngine(t *testing.T) {
	t.Parallel()
	url := pgtest.Make(t, pgtest.Start(t), "engine2")
	dir := t.TempDir()
	concerto := func(args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(links(t), "concerto"), args...)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "CONCERTO_ENGINE="+url, "CONCERTO_PROGRESS=none")
		return c
	}
	do := func(args ...string) string {
		t.Helper()
		out, err := concerto(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("concerto %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "ask.conc"), []byte(strings.Replace(asks, "ship it?", "ship the "+marker+"?", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	do("engine", "init")

	m := newMachine(t)
	if out := m.do(2, "hostd", "--state", "other", "--engine", "none"); !strings.Contains(out, "must have the form postgres://") {
		t.Errorf("hostd --engine none: %s", out)
	}
	r := newRemote(t, "--engine", url)
	r.config(r.server.url)
	r.do(0, "seal", "init", "--user", "ann", "--code-file", "code")
	do("submit", "--id", "three", "ask.conc")
	worker := concerto("worker", "--state", "worker")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })

	runs := append([]string{"runs", "--format", "ndjson"}, r.at...)
	var all []struct {
		ID      string
		Sealed  bool
		Pending []protocol.PermissionRequested
	}
	r.eventually("the question of the run three", func() (string, bool) {
		out := r.do(0, runs...)
		if err := json.Unmarshal([]byte("["+strings.ReplaceAll(strings.TrimSpace(out), "\n", ",")+"]"), &all); err != nil {
			t.Fatal(err)
		}
		return out, len(all) == 1 && strings.HasPrefix(all[0].ID, "three-") && all[0].Sealed && len(all[0].Pending) == 1 && all[0].Pending[0].Prompt == "ship the "+marker+"?"
	})
	id, q := all[0].ID, all[0].Pending[0]
	if out := r.do(0, append([]string{"runs"}, r.at...)...); !strings.Contains(out, "ask.conc") {
		t.Errorf("runs = %s", out)
	}
	r.kill()
	r.start()
	r.eventually("the answer", func() (string, bool) {
		out, err := r.command(append([]string{"approve", id, q.RequestID, "--answer", "true"}, r.at...)...).CombinedOutput()
		return string(out), err == nil
	})
	r.eventually("the end in the engine", func() (string, bool) {
		out := do("runs", "show", "three", "--engine", url)
		return out, strings.Contains(out, "succeeded") || strings.Contains(out, "done")
	})
	if out := r.do(0, append([]string{"attach", id}, r.at...)...); !strings.Contains(out, "begin") {
		t.Errorf("output of the run = %q", out)
	}
	r.serverHasNothing(marker)
}
