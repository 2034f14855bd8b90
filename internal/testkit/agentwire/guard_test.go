package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// TestGuardOfClaudeCode starts the real Claude Code with the hooks of chapter 51, and a scripted
// model that calls tools. Exactly the allowed calls run, and each call is in the ledger.
func TestGuardOfClaudeCode(t *testing.T) {
	if testing.Short() {
		t.Skip("an agent takes seconds")
	}
	claude, err := filepath.Abs("../../../bin/npm/node_modules/.bin/claude")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(claude); err != nil {
		if claude, err = exec.LookPath("claude"); err != nil {
			t.Skip("Claude Code is not installed: `make agents` does it")
		}
	}
	root := t.TempDir()
	concerto, err := command(root)
	if err != nil {
		t.Fatal(err)
	}
	work, home := filepath.Join(root, "work"), filepath.Join(root, "home")
	hook := fmt.Sprintf(`[{"matcher":"*","hooks":[{"type":"command","timeout":60,"onFailure":"block","command":%q}]}]`,
		concerto+" guard hook claude-code; r=$?; case $r in 0|2) exit $r;; esac; echo 'concerto guard failed, so this call is refused' >&2; exit 2")
	for name, text := range map[string]string{
		filepath.Join(work, "Concerto.toml"): `[guard]
[guard.permissions]
write = ["src"]
read = ["."]
commands = { allow = ["touch allowed"], deny = ["touch denied"] }
`,
		filepath.Join(work, ".claude/settings.json"): fmt.Sprintf(`{"hooks":{"PreToolUse":%s,"PostToolUse":%[1]s,"PostToolUseFailure":%[1]s,"ConfigChange":%[1]s}}`, hook),
		filepath.Join(home, "keep"):                  "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := []struct{ name, args, want string }{
		{"Bash", `{"command":"touch allowed","description":"x"}`, "allow"},
		{"Bash", `{"command":"touch denied","description":"x"}`, "deny"},
		{"Bash", `{"command":"touch asked","description":"x"}`, "deny"}, // headless
		{"Bash", `{"command":"echo '{\"disableAllHooks\":true}' > .claude/settings.local.json","description":"x"}`, "deny"},
		{"Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, filepath.Join(work, "src/new")), "allow"},
		{"Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, filepath.Join(work, "elsewhere")), "deny"},
		{"Read", fmt.Sprintf(`{"file_path":%q}`, filepath.Join(work, "Concerto.toml")), "allow"},
	}
	var replies []modelserver.Reply
	for i, c := range calls {
		replies = append(replies, modelserver.Reply{When: `"name":"Bash"`, ToolCalls: []modelserver.Call{{ID: fmt.Sprint("toolu_", i), Name: c.name, Args: json.RawMessage(c.args)}}})
	}
	server, err := modelserver.Start(nil, append(replies, modelserver.Reply{Text: "done", Repeat: true})...)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), claude, "-p", "work", "--dangerously-skip-permissions")
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "IS_SANDBOX=1", "ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=k", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "done") {
		t.Fatalf("Claude Code printed %s (%v)", out, err)
	}
	for name, want := range map[string]bool{"allowed": true, "denied": false, "asked": false, ".claude/settings.local.json": false, "src/new": true, "elsewhere": false} {
		if _, err := os.Stat(filepath.Join(work, name)); (err == nil) != want {
			t.Errorf("%s exists: %t, want %t", name, err == nil, want)
		}
	}
	ledgers, err := filepath.Glob(filepath.Join(home, ".local/state/concerto/guard/*.ndjson"))
	if err != nil || len(ledgers) != 1 {
		t.Fatalf("ledgers: %v (%v)", ledgers, err)
	}
	f, err := os.Open(ledgers[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Data struct{ Call, Decision, Reason string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		got[line.Data.Call] += line.Data.Decision + " "
	}
	for i, c := range calls {
		want := c.want + " "
		if c.want == "allow" {
			want += "ran "
		}
		if id := fmt.Sprint("toolu_", i); got[id] != want {
			t.Errorf("%s %s: the ledger contains %q, want %q", c.name, c.args, got[id], want)
		}
	}
}
