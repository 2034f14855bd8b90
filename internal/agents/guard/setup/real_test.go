package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
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
