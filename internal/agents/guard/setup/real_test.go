package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/agents/guard"
	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// hostile are settings of a cloned repository that switch off the hooks of a user, by agent, and a
// text that the check must report.
var hostile = map[string]struct{ path, text, reported string }{
	"claude-code": {".claude/settings.local.json", `{"disableAllHooks": true}`, "`disableAllHooks` removes the hooks"},
	"gemini":      {".gemini/settings.json", `{"hooksConfig": {"enabled": false}}`, "`hooksConfig.enabled` removes the hooks"},
}

// own are settings of a user with hooks of another tool, by agent.
var own = map[string]struct{ path, text string }{
	"claude-code": {".claude/settings.json", "{\n\t\"theme\": \"dark\",\n\t\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}"},
	"codex":       {".codex/config.toml", "model = \"x\"\n\n[history]\npersistence = \"none\""},
	"gemini":      {".gemini/settings.json", "{\n  // a comment\n  \"ui\": {}\n}\n"},
}

// TestRealAgents installs the hooks in the settings of the agents in PATH, checks them with the
// agents, and removes them. Each agent has an empty home directory.
func TestRealAgents(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hooks are not installed on Windows")
	}
	var found []Agent
	for _, a := range Agents() {
		if _, err := exec.LookPath(a.Program); err == nil && a.CanCheck() {
			found = append(found, a)
		}
	}
	if found == nil {
		t.Skip("PATH contains no agent")
	}
	concerto := filepath.Join(t.TempDir(), "concerto")
	if out, err := exec.Command("go", "build", "-o", concerto, "github.com/concerto-lang/concerto/cmd/concerto").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	for _, a := range found {
		t.Run(a.Name, func(t *testing.T) { tryAgent(t, &a, concerto) })
	}
}

func tryAgent(t *testing.T, a *Agent, concerto string) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &Place{Dir: filepath.Join(home, "project"), Home: home, State: filepath.Join(home, ".local/state/concerto"), Config: filepath.Join(home, ".config/concerto"),
		Concerto: concerto, Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, Getenv: func(string) string { return "" }}
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(p.Dir, "Concerto.toml"), "[guard]\n")
	before, isOwn := own[a.Name]
	if isOwn {
		write(filepath.Join(home, before.path), before.text)
	}
	check := func(launch bool) *Check {
		t.Helper()
		c, err := a.Check(t.Context(), p, launch, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := check(false); c.Enforced || c.Rows[0].Got != "it ran without a decision" {
		t.Errorf("without hooks: %+v", c)
	}
	changes, err := a.Plan(p, User)
	if err == nil {
		err = a.Install(p, User, changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c := check(false); !c.Enforced || c.Program == "" && runtime.GOOS == "linux" {
		t.Errorf("with hooks: %+v", c)
	}
	if h, ok := hostile[a.Name]; ok {
		write(filepath.Join(p.Dir, h.path), h.text)
		if c := check(false); c.Enforced || !slices.ContainsFunc(c.Open, func(s string) bool { return strings.Contains(s, h.reported) }) {
			t.Errorf("in a hostile repository: %+v", c)
		}
	}
	if a.CanRun() {
		if c := check(true); !c.Enforced {
			t.Errorf("as guard run starts it: %+v", c)
		}
	}
	of, removal, err := a.PlanRemoval(p, User)
	if err == nil {
		err = a.Uninstall(p, of, removal)
	}
	if err != nil {
		t.Fatal(err)
	}
	if isOwn {
		text, err := os.ReadFile(filepath.Join(home, before.path))
		if a.Name == "codex" { // it may add trusted directories itself
			text = text[:min(len(text), len(before.text))]
		}
		if err != nil || !bytes.Equal(text, []byte(before.text)) {
			t.Errorf("the settings are %q (%v), want %q", text, err, before.text)
		}
	}
	if all, err := p.Installed(); err != nil || len(all) > 0 {
		text, _ := json.Marshal(all)
		t.Errorf("still installed: %s (%v)", text, err)
	}
}

// realCalls are calls of each kind, by agent: commands, chains, files, patches, pages, calls of a
// subagent and in the background. DIR is the project.
var realCalls = map[string][]modelserver.Call{
	"claude-code": {
		call("Bash", map[string]string{"command": "touch a1"}), call("Bash", map[string]string{"command": "touch d1"}),
		call("Bash", map[string]string{"command": "touch a2 && touch a3"}), call("Bash", map[string]string{"command": "touch a4 && touch d2"}), call("Bash", map[string]string{"command": "touch a5; touch x1"}),
		call("Bash", map[string]string{"command": "echo x | tee a6"}), call("Bash", map[string]string{"command": "echo $(touch d3)"}), call("Bash", map[string]string{"command": "sh -c 'touch d4'"}),
		call("Bash", map[string]string{"command": "echo x > .claude/settings.json"}), call("Bash", map[string]string{"command": "claude --bare -p x"}), call("Bash", map[string]string{"command": "concerto guard trust"}),
		call("Bash", map[string]string{"command": "touch a7 &"}), call("Bash", map[string]string{"command": "env A=b touch a8"}), call("Bash", map[string]string{"command": "echo one\ntouch d5"}),
		{Name: "Bash", Args: json.RawMessage(`{"command":"touch a9","run_in_background":true}`)}, {Name: "Bash", Args: json.RawMessage(`{"command":"touch d6","run_in_background":true}`)},
		call("Write", map[string]string{"file_path": "DIR/src/w1", "content": "x"}), call("Write", map[string]string{"file_path": "DIR/w2", "content": "x"}), call("Write", map[string]string{"file_path": "DIR/src/../w3", "content": "x"}),
		call("Write", map[string]string{"file_path": "DIR/Concerto.toml", "content": "x"}), call("Write", map[string]string{"file_path": "DIR/src/.claude/settings.json", "content": "{}"}),
		call("Read", map[string]string{"file_path": "DIR/Concerto.toml"}), call("Read", map[string]string{"file_path": "/etc/hostname"}), call("Read", map[string]string{"file_path": "DIR/.env"}),
		call("Edit", map[string]string{"file_path": "DIR/src/w1", "old_string": "x", "new_string": "y"}), call("Edit", map[string]string{"file_path": "DIR/w2", "old_string": "x", "new_string": "y"}),
		call("Bash", map[string]string{"command": "cat Concerto.toml"}), call("Bash", map[string]string{"command": "curl http://127.0.0.1:9"}),
		{Name: "Agent", Args: json.RawMessage(`{"description":"helper","prompt":"touch as a helper","subagent_type":"general-purpose"}`)},
		call("Bash", map[string]string{"command": "touch a10"}),
	},
	"codex": {
		call("exec_command", map[string]string{"cmd": "touch a1"}), call("exec_command", map[string]string{"cmd": "touch d1"}),
		call("exec_command", map[string]string{"cmd": "touch a2 && touch a3"}), call("exec_command", map[string]string{"cmd": "touch a4 && touch d2"}), call("exec_command", map[string]string{"cmd": "touch a5; touch x1"}),
		call("exec_command", map[string]string{"cmd": "echo x | tee a6"}), call("exec_command", map[string]string{"cmd": "echo $(touch d3)"}), call("exec_command", map[string]string{"cmd": "sh -c 'touch d4'"}),
		call("exec_command", map[string]string{"cmd": "echo x > .codex/hooks.json"}), call("exec_command", map[string]string{"cmd": "codex exec --disable hooks x"}), call("exec_command", map[string]string{"cmd": "concerto guard trust"}),
		call("exec_command", map[string]string{"cmd": "touch a7 &"}), call("exec_command", map[string]string{"cmd": "env A=b touch a8"}), call("exec_command", map[string]string{"cmd": "echo one\ntouch d5"}),
		call("exec_command", map[string]string{"cmd": "python3"}), call("exec_command", map[string]string{"cmd": "bash"}), call("exec_command", map[string]string{"cmd": "cat Concerto.toml"}),
		call("exec_command", map[string]string{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: src/p1\n+x\n*** End Patch\nEOF"}), call("exec_command", map[string]string{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: p2\n+x\n*** End Patch\nEOF"}),
		call("exec_command", map[string]string{"cmd": "curl http://127.0.0.1:9"}), call("exec_command", map[string]string{"cmd": "touch a9"}), call("exec_command", map[string]string{"cmd": "touch a10 a11"}),
		call("exec_command", map[string]string{"cmd": "touch d6 a12"}), call("exec_command", map[string]string{"cmd": "CODEX_HOME=/tmp/x touch a13"}), call("exec_command", map[string]string{"cmd": "touch 'a14'"}),
		call("exec_command", map[string]string{"cmd": "rm -rf .git"}), call("exec_command", map[string]string{"cmd": "git config core.hooksPath x"}), call("exec_command", map[string]string{"cmd": "echo hello"}),
		call("exec_command", map[string]string{"cmd": "true"}), call("exec_command", map[string]string{"cmd": "touch a15"}),
	},
}

// TestRealCalls lets the agents in PATH make calls of each kind. Each must be in the ledger with
// the decision of the policy, and must have run if and only if it was allowed.
func TestRealCalls(t *testing.T) {
	for name, calls := range realCalls {
		a := Find(name)
		path, err := exec.LookPath(a.Program)
		if err != nil || runtime.GOOS == "windows" {
			t.Logf("PATH contains no %s", a.Program)
			continue
		}
		t.Run(name, func(t *testing.T) { tryCalls(t, a, path, calls) })
	}
}

func tryCalls(t *testing.T, a *Agent, path string, calls []modelserver.Call) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	concerto := filepath.Join(home, "concerto")
	if out, err := exec.Command("go", "build", "-o", concerto, "github.com/concerto-lang/concerto/cmd/concerto").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	p := &Place{Dir: filepath.Join(home, "project"), Home: home, State: filepath.Join(home, ".local/state/concerto"), Config: filepath.Join(home, ".config/concerto"), Concerto: concerto,
		Environ: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, Getenv: func(string) string { return "" }}
	const policy = "[guard]\ndefault = \"deny\"\nother = \"pass\"\n[guard.permissions]\nread = [\".\"]\nwrite = [\"src\"]\ndeny = [\".env\"]\ncommands = { allow = [\"touch a*\", \"echo *\", \"tee a*\"], deny = [\"touch d*\"] }\n"
	if err := errors.Join(os.MkdirAll(filepath.Join(p.Dir, "src"), 0o700), os.WriteFile(filepath.Join(p.Dir, "Concerto.toml"), []byte(policy), 0o600)); err != nil {
		t.Fatal(err)
	}
	places := guard.Places{Home: p.Home, Config: p.Config, State: p.State}
	if _, _, err := places.Trust(p.Dir); err != nil {
		t.Fatal(err)
	}
	var replies []modelserver.Reply
	for i, c := range calls {
		c.ID, c.Args = fmt.Sprint("call_", i), bytes.ReplaceAll(c.Args, []byte("DIR"), []byte(p.Dir))
		replies = append(replies, modelserver.Reply{When: "check the guard", ToolCalls: []modelserver.Call{c}})
	}
	for i, command := range []string{"touch a20", "touch d20"} {
		c := call("Bash", map[string]string{"command": command})
		c.ID = fmt.Sprint("sub_", i)
		replies = append(replies, modelserver.Reply{When: "touch as a helper", ToolCalls: []modelserver.Call{c}})
	}
	model, err := modelserver.Start(nil, append(replies, modelserver.Reply{Text: "done", Repeat: true})...)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	trial := &trial{probing: a.probe(), tmp: t.TempDir(), model: model}
	extra, environ, err := a.launch(a, p, trial.variables())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := trial.run(t.Context(), p, path, extra, environ); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	judged := 0
	for past, err := range places.History(time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		judged++
		if isAllowed := past.Decision != "deny"; isAllowed != (past.Ran == "ran") && past.Tool != "Agent" {
			t.Errorf("%s: %s (%s), executed: %q", past.Text(), past.Decision, past.Reason, past.Ran)
		}
	}
	if judged < len(calls) {
		t.Errorf("%d of %d calls are in the ledger", judged, len(calls))
	}
	if r, err := places.Replay(time.Time{}); err != nil || len(r.Differences) > 0 {
		t.Errorf("the policy decides otherwise: %+v (%v)", r, err)
	}
	for i := range 40 {
		for _, name := range []string{fmt.Sprint("d", i), fmt.Sprint("x", i)} {
			if _, err := os.Lstat(filepath.Join(p.Dir, name)); err == nil {
				t.Errorf("%s exists", name)
			}
		}
	}
}
