package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// open is a policy that allows all that the built-in rules do not deny.
const open = "[guard]\ndefault = \"allow\"\nother = \"allow\"\n"

// newPlaces returns places with a project that has a policy. A policy of "" is none.
func newPlaces(t *testing.T, project, user, system string) (p Places, dir string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(root, "project")
	p = Places{Home: filepath.Join(root, "home"), Config: filepath.Join(root, "home/.config/concerto"), System: filepath.Join(root, "etc"), State: filepath.Join(root, "home/.local/state/concerto")}
	for name, text := range map[string]string{filepath.Join(dir, "Concerto.toml"): project, filepath.Join(p.Config, FileName): user, filepath.Join(p.System, FileName): system} {
		write(t, name, text)
	}
	trust(t, p, dir)
	return p, dir
}

// trust trusts the policy of a directory, if it has one without errors.
func trust(t *testing.T, p Places, dir string) {
	t.Helper()
	wrong := (*PolicyError)(nil)
	if _, _, err := p.Trust(dir); err != nil && !errors.As(err, &wrong) && !strings.Contains(err.Error(), "contains [guard]") {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if text == "" {
		return
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStrictest checks that the strictest of the policies applies, and which one is named.
func TestStrictest(t *testing.T) {
	allow, ask, forbid, pass := `[guard.permissions.commands]
allow = ["x"]
`, `[guard.permissions.commands]
ask = ["x"]
`, `[guard.permissions.commands]
deny = ["x"]
`, "[guard]\ndefault = \"pass\"\n"
	for _, c := range []struct {
		project, user, system string
		want                  string
	}{
		{allow, "", "", `allow Concerto.toml:2: commands.allow "x"`},
		{allow, ask, "", `ask USER:2: commands.ask "x"`},
		{ask, allow, "", `ask Concerto.toml:2: commands.ask "x"`},
		{allow, ask, forbid, `deny SYSTEM:2: commands.deny "x"`},
		{allow, pass, pass, `allow Concerto.toml:2: commands.allow "x"`},
		{pass, "", "", "pass Concerto.toml:2: no rule matches, and `default` is \"pass\""},
		{"", allow, "", `allow USER:2: commands.allow "x"`},
		{"[guard]\n", allow, "", "ask Concerto.toml:1: no rule matches, and `default` is by default \"ask\""},
		{"", "", "", "deny no policy: neither a Concerto.toml above DIR nor USER contains [guard]"},
		{"[guard]\nprogram = 5\n", "", "", "deny Concerto.toml:2: `guard.program` must be a string, not an integer"},
		{"[guard]\ndefault = \"perhaps\"\n", "", "", "deny Concerto.toml:2: unknown default \"perhaps\""},
		{"[guard\n", "", "", "deny Concerto.toml:1: expected `]` after the name of the table, found '\\n'"},
		{allow, "[project]\nname = \"x\"\n", "", "deny USER: it contains no [guard]"},
		{"[project]\nname = \"x\"\n", "", "", "deny no policy: neither a Concerto.toml above DIR nor USER contains [guard]"},
	} {
		p, dir := newPlaces(t, c.project, c.user, c.system)
		d := p.Decide(ParseCommand("claude-code", "x", dir))
		got := strings.NewReplacer(filepath.Join(p.Config, FileName), "USER", filepath.Join(p.System, FileName), "SYSTEM", dir, "DIR").Replace(string(d.Verdict) + " " + d.Reason)
		if got != c.want {
			t.Errorf("with the policies %q, %q and %q:\n%s\nwant\n%s", c.project, c.user, c.system, got, c.want)
		}
	}
}

// TestNearest checks which projects count: the nearest one with [guard] above the call's directory,
// and the nearest one above the directory in which the agent was started.
func TestNearest(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\ndefault = \"deny\"\n", "", "")
	write(t, filepath.Join(dir, "plain/Concerto.toml"), "[project]\nname = \"x\"\n")
	write(t, filepath.Join(dir, "inner/Concerto.toml"), open)
	trust(t, p, filepath.Join(dir, "inner"))
	for _, c := range []struct {
		dir, project string
		want         hostpolicy.Verdict
	}{
		{"plain", "", hostpolicy.Deny},
		{"inner", "", hostpolicy.Allow},
		{"inner", ".", hostpolicy.Deny},
		{"..", ".", hostpolicy.Deny},
	} {
		call := ParseCommand("claude-code", "x", filepath.Join(dir, c.dir))
		if c.project != "" {
			call.Project = dir
		}
		if d := p.Decide(call); d.Verdict != c.want {
			t.Errorf("in %s of a session in %q: %s (%s), want %s", c.dir, c.project, d.Verdict, d.Reason, c.want)
		}
	}
}

// TestTrust checks that a project's policy that no person has trusted as it is allows nothing, and
// that its denials count.
func TestTrust(t *testing.T) {
	const rules = "[guard]\nunattended = \"allow\"\n[guard.permissions]\nread = [\".\"]\ncommands = { allow = [\"a *\"], deny = [\"b *\"] }\n[guard.agents.codex]\nmcp = { allow = [\"x.*\"] }\n"
	p, dir := newPlaces(t, rules, "[guard]\ndefault = \"pass\"\nunattended = \"allow\"\n", "")
	decide := func(command string) string {
		d := p.Decide(ParseCommand("claude-code", command, dir))
		return fmt.Sprintf("%s %s %s", d.Verdict, d.unattended, d.Reason)
	}
	trusted, denied := `allow allow Concerto.toml:5: commands.allow "a *"`, `deny deny Concerto.toml:5: commands.deny "b *"`
	if a, b := decide("a 1"), decide("b 1"); a != trusted || !strings.HasSuffix(b, denied[len("deny deny"):]) {
		t.Errorf("trusted: %s, %s", a, b)
	}
	for name, change := range map[string]func(){
		"never": func() { _ = os.Remove(p.trustFile()) },
		"changed": func() {
			write(t, filepath.Join(dir, "Concerto.toml"), strings.Replace(rules, "a *", "a *\", \"c *", 1))
		},
		"another": func() { write(t, p.trustFile(), fmt.Sprintf("{%q:%q}", filepath.Join(dir, "Concerto.toml"), "x")) },
	} {
		write(t, filepath.Join(dir, "Concerto.toml"), rules)
		trust(t, p, dir)
		change()
		a := decide("a 1")
		if !strings.HasPrefix(a, "ask deny ") || !strings.HasSuffix(a, "; the policy allows nothing before `concerto guard trust`") || !strings.HasPrefix(decide("b 1"), "deny ") {
			t.Errorf("%s: %s, %s", name, a, decide("b 1"))
		}
	}
	write(t, p.trustFile(), "[")
	if d := decide("a 1"); !strings.HasPrefix(d, "deny ") || !strings.Contains(d, "trusted.json") {
		t.Errorf("a damaged list: %s", d)
	}
	_ = os.Remove(p.trustFile())
	write(t, filepath.Join(dir, "Concerto.toml"), rules)
	file, allows, err := p.Trust(filepath.Join(dir, "src"))
	want := []string{`unattended = "allow"`, `permissions.read = "."`, `permissions.commands.allow = "a *"`, `agents.codex.mcp.allow = "x.*"`}
	if err != nil || file != filepath.Join(dir, "Concerto.toml") || !slices.Equal(allows, want) {
		t.Errorf("Trust = %s, %q, %v", file, allows, err)
	}
}

// TestAgents checks that the rules of one agent are added to those of all.
func TestAgents(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\ndefault = \"allow\"\n[guard.permissions.commands]\nask = [\"a\"]\n[guard.agents.codex]\ncommands = { deny = [\n\"b\", \"c\"] }\n", "", "")
	for _, c := range []struct{ agent, command, want string }{
		{"codex", "c", `deny Concerto.toml:7: commands.deny "c"`},
		{"codex", "a", `ask Concerto.toml:4: commands.ask "a"`},
		{"claude-code", "c", "allow Concerto.toml:2: no rule matches, and `default` is \"allow\""},
	} {
		d := p.Decide(ParseCommand(c.agent, c.command, dir))
		if got := string(d.Verdict) + " " + d.Reason; got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.command, c.agent, got, c.want)
		}
	}
}

// TestEscapes contains commands by which an agent would change its rules or hooks, and similar ones
// that are harmless. The policy allows everything else.
func TestEscapes(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	write(t, filepath.Join(dir, ".claude/settings.json"), "{}")
	if err := os.Symlink(".claude", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		agent string
		deny  bool
		all   []string
	}{
		{"claude-code", true, []string{
			`echo '{"disableAllHooks":true}' > .claude/settings.local.json`,
			`echo {} >.claude/settings.json`, `tee .claude/settings.json`, `rm -r .claude/hooks`, `rm -rf .claude/hooks/x`,
			`cp x "$HOME/.claude/settings.json"`, `cp x ~/.claude/settings.json`, `sed -i s/a/b/ ~/.claude.json`,
			`cd .claude && echo > settings.local.json`, `cd .claude; cd .; echo > settings.json`, `pushd .claude; rm settings.json`,
			`echo > .cl"aude"/settings.json`, `echo > .cl\aude/settings.json`, `echo > .claude/s*.json`, `echo > link/settings.json`, `echo > .CLAUDE/SETTINGS.json`,
			`echo > ./x/../.claude/settings.json`, `ln -s .claude/settings.json y`, `mv y .claude/settings.json`,
			`dd of=.claude/settings.json`, `git -c x=y show :a > .claude/settings.json`, `bash -c 'echo > .claude/settings.json'`,
			`sudo tee .claude/settings.json`, `cat x > Concerto.toml`, `git checkout HEAD~1 -- Concerto.toml`, `mkdir y; echo > y/Concerto.toml`,
			`echo > .git/hooks/pre-commit`, `git config core.hooksPath x`, `echo > .git/config`, `echo > .codex/config.toml`,
			`echo > ~/.config/concerto/guard.toml`, `rm ~/.local/state/concerto/guard/s.ndjson`, `echo > /etc/claude-code/managed-settings.json`,
			`echo > .gemini/settings.json`, `echo > .cursor/hooks.json`, `echo > .github/hooks/x.json`, `echo > .opencode/plugin/x.js`, `echo > ~/.copilot/x`,
			`claude --bare -p x`, `claude -p x --settings '{}'`, `claude --setting-sources project`, `claude --setting-sources=project`, `env A=b claude --safe-mode`,
			`npx @anthropic-ai/claude-code --bare`, `npx -y @anthropic-ai/claude-code@latest --bare`, `/usr/bin/claude --bare`, `timeout 5 claude --bare`,
			`CLAUDE_CONFIG_DIR=/tmp/x claude -p y`, `export CLAUDE_CONFIG_DIR=/tmp/x; claude`, `env CODEX_HOME=x codex exec y`,
			`codex exec --disable hooks x`, `codex --ignore-user-config`, `codex --dangerously-bypass-hook-trust`, `codex -c features.hooks=false`, `opencode --pure`,
			`rm -rf .claude`, `mv .claude/ old`, `rm -rf ./.claude`, `mv .git old`, `rm -rf "$HOME/.config"`, `mv ~/.local/state x`, `rm -rf '.claude'`,
			`cd sub && rm -rf ../.claude`, `Set-Content .claude\settings.json x`, `echo > .husky/pre-commit`,
			`concerto guard release s1`, `/usr/bin/concerto -C x guard uninstall claude-code`, `env A=b concerto runs answer r1 yes`, `concerto guard install`, `concerto top`, `concerto-relay approve x`, `bash -c 'concerto guard trust'`, `echo $(concerto guard trust)`, `npx concerto guard trust`, `true; concerto guard trust &`,
			`concerto relay -v deny x`,
			`perl -i -pe s/a/b/ .claude/settings.json`, `awk 1 > .claude/settings.json`, `install x .claude/settings.json`, `rsync x .claude/settings.json`,
			`truncate -s 0 .claude/settings.json`, `: > .claude/settings.json`, `exec 3> .claude/settings.json`, `tar -C .claude -xf x settings.json`,
			`find .claude -name settings.json -delete`, `xargs rm .claude/settings.json`, `unlink .claude/settings.json`, `shred .claude/settings.json`,
			`echo > "$PWD/.claude/settings.json"`, `echo > ../project/.claude/settings.json`, `cd / && echo > etc/claude-code/managed-settings.json`,
			`vim .claude/settings.json`, `python3 -c 'open(".claude/settings.json","w")'`, `node -e 'fs.writeFileSync(".claude/settings.json","")'`,
			`git rm --cached .claude/settings.json`, `git stash push .claude/settings.json`, `sqlite3 .claude/settings.json ''`, `chmod 000 .claude/settings.json`,
			`sudo -E CLAUDE_CONFIG_DIR=/tmp claude`, `XDG_CONFIG_HOME=/tmp/x concerto guard test ls`, `GIT_CONFIG_GLOBAL=/dev/null git commit`,
			`copilot --config-dir x`, `gemini -e none`, `npx opencode-ai --pure`, `bunx @openai/codex --disable hooks`, `echo > .github/hooks/concerto-guard.json`,
			`rm .opencode/plugin/concerto-guard.js`, `echo > ~/.config/opencode/plugin/concerto-guard.js`, `echo > ~/.codex/config.toml`, `echo > /etc/codex/requirements.toml`,
			`cat x $(echo) .claude/settings.json`, `cat .claude/settings.json > .claude/settings.json`,
		}},
		{"codex", true, []string{`python`, `python3 -i x.py`, `bash`, `bash -i`, `/bin/sh`, `sudo bash`, `node`, `psql shop`, `ssh server`, `sqlite3 x.db`, `env python`}},
		{"codex", false, []string{`python x.py`, `bash x.sh`, `bash -c ls`, `node -e 1`, `python3 -m http.server`, `psql -c 'select 1' shop`, `ssh server ls`, `node --version`}},
		{"claude-code", false, []string{
			`ls`, `go test ./...`, `cat .claude/settings.json`, `grep x Concerto.toml`, `jq . .claude/settings.json | head`, `git status`, `git commit -m x`,
			`echo > .claude/notes.md`, `claude -p hello`, `codex exec x`, `cd sub && make`, `python`, `echo '--bare' > x`, `ls > settings.json`,
			`concerto guard test x`, `concerto check top.conc`, `concerto-relay status`, `concerto guard check`, `concerto runs list`, `concerto run main.conc`, `grep answer x`,
			`cd .claude && ls`, `ls .git`, `git add .github`, `cp x ~`, `find . -name '*.go'`, `grep -r x .`, `git -C . status`, `ls ~/.config`,
		}},
	} {
		for _, command := range c.all {
			d := p.Decide(ParseCommand(c.agent, command, dir))
			if (d.Verdict == hostpolicy.Deny) != c.deny {
				t.Errorf("%s: %s of %s: %s (%s)", map[bool]string{true: "must be denied", false: "must not be denied"}[c.deny], command, c.agent, d.Verdict, d.Reason)
			}
		}
	}
}

// event returns an input of Claude Code's hook.
func event(name, tool, args, id, dir string) string {
	return fmt.Sprintf(`{"session_id":"s1","transcript_path":"/x","cwd":%q,"permission_mode":"default","hook_event_name":%q,"tool_name":%q,"tool_input":%s,"tool_use_id":%q}`, dir, name, tool, args, id)
}

func (h *Hook) run(text string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = h.Run(strings.NewReader(text), &out, &errs)
	return out.String(), errs.String(), code
}

func newHook(p Places) *Hook {
	return &Hook{Agent: "claude-code", Places: p, Getenv: func(string) string { return "" }, CanAsk: func() bool { return true }, Program: func() string { return "/bin/agent 1 2" }, CursorHooked: func() bool { return false }}
}

// TestTools checks how calls of Claude Code's tools are matched.
func TestTools(t *testing.T) {
	p, dir := newPlaces(t, `[guard]
default = "deny"
other = "ask"
[guard.permissions]
read = ["."]
write = ["src"]
deny = [".env"]
net = { allow = ["pkg.go.dev"] }
mcp = { allow = ["a.*", "x.y__z"], deny = ["*.delete_*"], ask = ["x__y.z"] }
`, "", "")
	for _, c := range []struct{ tool, args, want string }{
		{"Read", `{"file_path":"DIR/a"}`, "allow"},
		{"Read", `{"file_path":"DIR/.env"}`, "deny"},
		{"Read", `{"file_path":"/etc/passwd"}`, "deny"},
		{"Grep", `{"pattern":"x"}`, "allow"},
		{"Grep", `{"pattern":"x","path":"/etc"}`, "deny"},
		{"Glob", `{"pattern":"../**"}`, "deny"},
		{"Write", `{"file_path":"DIR/src/a","content":"x"}`, "allow"},
		{"Write", `{"file_path":"DIR/src/../a","content":"x"}`, "deny"},
		{"Edit", `{"file_path":"DIR/src/a","old_string":"x","new_string":"y"}`, "allow"},
		{"Write", `{"file_path":"DIR/src/.claude/settings.json","content":"x"}`, "deny"},
		{"Edit", `{"file_path":"DIR/src/Concerto.toml","old_string":"x","new_string":"y"}`, "deny"},
		{"NotebookEdit", `{"notebook_path":"DIR/src/a.ipynb"}`, "allow"},
		{"WebFetch", `{"url":"https://pkg.go.dev/x","prompt":"y"}`, "allow"},
		{"WebFetch", `{"url":"https://example.com/x","prompt":"y"}`, "deny"},
		{"mcp__a__get", `{}`, "allow"},
		{"mcp__a__delete_x", `{}`, "deny"},
		{"mcp__x__y__z", `{}`, "ask"},
		{"TodoWrite", `{}`, ""},
		{"Task", `{"prompt":"x"}`, ""},
		{"AskUserQuestion", `{}`, ""},
		{"Brandnew", `{}`, "ask"},
		{"ReadMcpResourceTool", `{"server":"a","uri":"x"}`, "ask"},
		{"mcp__a", `{}`, "ask"},
	} {
		stdout, stderr, code := newHook(p).run(event(beforeTool, c.tool, strings.ReplaceAll(c.args, "DIR", dir), c.tool+c.args, dir))
		var got struct {
			Specific struct{ PermissionDecision string } `json:"hookSpecificOutput"`
		}
		if stdout != "" {
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatalf("%s %s: %q: %v", c.tool, c.args, stdout, err)
			}
		}
		if got.Specific.PermissionDecision != c.want || (code == 2) != (c.want == "deny") || (stderr != "") != (c.want == "deny") {
			t.Errorf("%s %s: %s %s exit %d, want %s", c.tool, c.args, stdout, stderr, code, c.want)
		}
	}
}

// TestAfter checks the comparison of executed calls with the ledger.
func TestAfter(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string // arguments; "" means that there is no such event
		want          string
	}{
		"as decided":         {`{"command":"a","description":"x"}`, `{"description":"x","command":"a"}`, ""},
		"without a decision": {"", `{"command":"a"}`, "ran without a decision"},
		"another command":    {`{"command":"a"}`, `{"command":"b"}`, "ran with other arguments than those that were judged"},
		"denied":             {`{"command":"rm x"}`, `{"command":"rm x"}`, "ran although it was denied"},
	} {
		p, dir := newPlaces(t, open+"[guard.permissions.commands]\ndeny = [\"rm *\"]\n", "", "")
		h := newHook(p)
		if c.before != "" {
			h.run(event(beforeTool, "Bash", c.before, "t1", dir))
		}
		for _, after := range []string{afterTool, afterFailure} {
			stdout, stderr, code := h.run(event(after, "Bash", c.after, "t1", dir))
			if c.want == "" && (stdout != "" || stderr != "" || code != 0) || c.want != "" && (code != 2 || !strings.Contains(stderr, c.want)) {
				t.Errorf("%s: %s: %q %q exit %d", name, after, stdout, stderr, code)
			}
		}
		_, stderr, code := h.run(event(beforeTool, "Bash", `{"command":"a"}`, "t2", dir))
		if stopped := strings.Contains(stderr, "session s1 is stopped") && code == 2; stopped != (c.want != "") {
			t.Errorf("%s: the next call: %q exit %d", name, stderr, code)
		}
	}
}

// TestStopped checks that a session stays stopped, whatever is recorded after the alarm, and that
// other sessions are not affected.
func TestStopped(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	h := newHook(p)
	before := func(id, command string) string {
		return event(beforeTool, "Bash", fmt.Sprintf(`{"command":%q}`, command), id, dir)
	}
	h.run(before("t1", "a"))
	h.run(event(afterTool, "Bash", `{"command":"never judged"}`, "t0", dir))
	h.run(event(afterTool, "Bash", `{"command":"a"}`, "t1", dir))
	h.run(before("t2", "b"))
	h.run(`{"session_id":"s1","hook_event_name":"ConfigChange"}`)
	if _, stderr, code := h.run(before("t3", "c")); code != 2 || !strings.Contains(stderr, "session s1 is stopped: Bash ran without a decision") {
		t.Errorf("%q exit %d, want a denial with the reason of the alarm", stderr, code)
	}
	if _, stderr, code := h.run(strings.Replace(before("t1", "a"), `"s1"`, `"s2"`, 1)); code != 0 {
		t.Errorf("another session: %q exit %d", stderr, code)
	}
}

// TestLongSession checks a session whose ledger is longer than what each call verifies.
func TestLongSession(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	h := newHook(p)
	args := fmt.Sprintf(`{"command":"a","description":"%s"}`, strings.Repeat("x", verified/8))
	for i := range 12 {
		h.run(event(beforeTool, "Bash", args, fmt.Sprint("t", i), dir))
	}
	if _, stderr, code := h.run(event(afterTool, "Bash", args, "t0", dir)); code != 0 {
		t.Errorf("the first call: %q exit %d", stderr, code)
	}
	if _, stderr, code := h.run(event(beforeTool, "Bash", args, "t99", dir)); code != 0 {
		t.Errorf("another call: %q exit %d", stderr, code)
	}
	f, err := os.Open(filepath.Join(p.State, "guard/s1.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := audit.Verify(f, "ledger", ""); err != nil {
		t.Errorf("%s: %v", s, err)
	}
	if _, stderr, code := h.run(event(afterTool, "Bash", args, "missing", dir)); code != 2 || !strings.Contains(stderr, "ran without a decision") {
		t.Errorf("a call without a decision: %q exit %d", stderr, code)
	}
}

// TestUnreadable checks that an input that names no session is in a ledger.
func TestUnreadable(t *testing.T) {
	p, _ := newPlaces(t, open, "", "")
	newHook(p).run("{")
	text, err := os.ReadFile(filepath.Join(p.State, "guard/unreadable.ndjson"))
	if err != nil || !bytes.Contains(text, []byte("the input is not a JSON object")) {
		t.Errorf("the ledger contains %s (%v)", text, err)
	}
}

// TestFailures checks that everything that fails is a denial.
func TestFailures(t *testing.T) {
	good := func(dir string) string { return event(beforeTool, "Bash", `{"command":"a"}`, "t1", dir) }
	for name, c := range map[string]struct {
		change func(h *Hook, dir string) (input string)
		want   string
	}{
		"no input":          {func(*Hook, string) string { return "" }, "the input is not a JSON object: EOF"},
		"a cut input":       {func(_ *Hook, dir string) string { return good(dir)[:40] }, "the input is not a JSON object"},
		"two inputs":        {func(_ *Hook, dir string) string { return good(dir) + good(dir) }, "more than one JSON object"},
		"no session":        {func(_ *Hook, dir string) string { return strings.Replace(good(dir), "session_id", "session", 1) }, "no `session_id`"},
		"a path as session": {func(_ *Hook, dir string) string { return strings.Replace(good(dir), `"s1"`, `"../x"`, 1) }, "not a valid name"},
		"no call":           {func(_ *Hook, dir string) string { return strings.Replace(good(dir), "tool_use_id", "id", 1) }, "no `tool_use_id`"},
		"another type":      {func(_ *Hook, dir string) string { return strings.Replace(good(dir), `"Bash"`, `1`, 1) }, "`tool_name` of the input is not a string"},
		"arguments":         {func(_ *Hook, dir string) string { return strings.Replace(good(dir), `{"command":"a"}`, `[1]`, 1) }, "the arguments of Bash are not an object"},
		"unknown event": {func(_ *Hook, dir string) string {
			return strings.Replace(good(dir), beforeTool, "SessionStart", 1)
		}, `unknown event "SessionStart"`},
		"a change of settings": {func(*Hook, string) string {
			return `{"session_id":"s1","hook_event_name":"ConfigChange","source":"local_settings","file_path":"x"}`
		}, "settings must not change during a session"},
		"Cursor":   {func(_ *Hook, dir string) string { return strings.Replace(good(dir), "{", `{"cursor_version":"2",`, 1) }, "the hooks of Cursor are not installed"},
		"no state": {func(h *Hook, dir string) string { h.Places.State = ""; return good(dir) }, "the decision could not be recorded"},
		"a file as state": {func(h *Hook, dir string) string {
			h.Places.State = filepath.Join(dir, "Concerto.toml")
			return good(dir)
		}, "the decision could not be recorded"},
		"a full disk": {func(h *Hook, dir string) string {
			h.Sync = func() error { return errors.New("no space left on device") }
			return good(dir)
		}, "no space left on device"},
		"a damaged ledger": {func(h *Hook, dir string) string {
			h.run(good(dir))
			name := filepath.Join(h.Places.State, "guard/s1.ndjson")
			text, _ := os.ReadFile(name)
			_ = os.WriteFile(name, bytes.Replace(text, []byte("allow"), []byte("denyx"), 1), 0o600)
			return good(dir)
		}, "the record was changed"},
		"a panic": {func(h *Hook, dir string) string { h.Sync = func() error { panic("oops") }; return good(dir) }, "the guard has failed: oops"},
		"late": {func(h *Hook, dir string) string {
			h.Deadline = 20 * time.Millisecond
			h.Sync = func() error { select {} }
			return good(dir)
		}, "no decision within 20ms"},
		"an unreadable policy": {func(h *Hook, dir string) string {
			_ = os.Remove(filepath.Join(dir, "Concerto.toml"))
			_ = os.Mkdir(filepath.Join(dir, "Concerto.toml"), 0o700)
			return good(dir)
		}, "Concerto.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newPlaces(t, open, "", "")
			h := newHook(p)
			text := c.change(h, dir)
			stdout, stderr, code := h.run(text)
			if code != 2 || !strings.Contains(stderr, c.want) || !json.Valid([]byte(stdout)) || !strings.Contains(stdout, "deny") && !strings.Contains(stdout, "block") {
				t.Errorf("stdout %q stderr %q exit %d, want a denial with %q", stdout, stderr, code, c.want)
			}
		})
	}
}

// TestEndlessInput checks that a hook whose input does not end denies.
func TestEndlessInput(t *testing.T) {
	p, _ := newPlaces(t, open, "", "")
	h := newHook(p)
	h.Deadline = 20 * time.Millisecond
	in, _ := io.Pipe() // it is never closed: its end would be recorded after the test
	if code := h.Run(in, io.Discard, io.Discard); code != 2 {
		t.Errorf("exit %d, want 2", code)
	}
}

// TestClosedOutput checks that an answer that cannot be written is a denial.
func TestClosedOutput(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	r, w := io.Pipe()
	r.Close()
	if code := newHook(p).Run(strings.NewReader(event(beforeTool, "Bash", `{"command":"a"}`, "t1", dir)), w, io.Discard); code != 2 {
		t.Errorf("exit %d, want 2", code)
	}
}

// TestUnattended checks the decision about calls for which no person can be asked.
func TestUnattended(t *testing.T) {
	for _, c := range []struct {
		policy, mode string
		terminal     bool
		want         string
	}{
		{"[guard]\n", "default", true, `"ask"`},
		{"[guard]\n", "acceptEdits", true, `"ask"`},
		{"[guard]\n", "plan", true, `"deny"`},
		{"[guard]\n", "auto", true, `"deny"`},
		{"[guard]\n", "default", false, `"deny"`},
		{"[guard]\nunattended = \"allow\"\n", "default", false, `"allow"`},
	} {
		p, dir := newPlaces(t, c.policy, "", "")
		h := newHook(p)
		h.CanAsk = func() bool { return c.terminal }
		stdout, _, _ := h.run(strings.Replace(event(beforeTool, "Bash", `{"command":"a"}`, "t1", dir), `"default"`, fmt.Sprintf("%q", c.mode), 1))
		if !strings.Contains(stdout, `"permissionDecision":`+c.want) {
			t.Errorf("mode %s, terminal %t, %q: %s, want %s", c.mode, c.terminal, c.policy, stdout, c.want)
		}
	}
}

// TestUnattendedIsStrictest checks that one policy that denies unattended calls is enough.
func TestUnattendedIsStrictest(t *testing.T) {
	a, b := Decision{Verdict: hostpolicy.Ask, unattended: hostpolicy.Allow}, Decision{Verdict: hostpolicy.Allow, unattended: hostpolicy.Deny}
	if x, y := stricter(a, b), stricter(b, a); x.unattended != hostpolicy.Deny || y.unattended != hostpolicy.Deny {
		t.Errorf("unattended = %s and %s, want deny", x.unattended, y.unattended)
	}
}

// TestSecrets checks that the ledger contains no secret.
func TestSecrets(t *testing.T) {
	p, dir := newPlaces(t, open+"[run]\nsecrets = [\"SHOP\"]\n", "", "")
	h := newHook(p)
	h.Environ = []string{"API_KEY=swordfish-1"}
	h.Getenv = func(name string) string { return map[string]string{"SHOP": "swordfish-2"}[name] }
	if stdout, _, code := h.run(event(beforeTool, "Bash", `{"command":"curl -H swordfish-1 swordfish-2"}`, "t1", dir)); code != 0 {
		t.Fatalf("%s exit %d", stdout, code)
	}
	if _, stderr, code := h.run(event(afterTool, "Bash", `{"command":"curl -H swordfish-1 swordfish-2"}`, "t1", dir)); code != 0 {
		t.Errorf("after the call: %s exit %d", stderr, code)
	}
	text, err := os.ReadFile(filepath.Join(p.State, "guard/s1.ndjson"))
	if err != nil || bytes.Contains(text, []byte("swordfish")) || !bytes.Contains(text, []byte("curl -H ")) {
		t.Errorf("the ledger contains %s (%v)", text, err)
	}
}

// TestParallel runs calls of a session at the same time. Each must be recorded.
func TestParallel(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	const n = 30
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			if stdout, stderr, code := newHook(p).run(event(beforeTool, "Bash", `{"command":"a"}`, fmt.Sprint("t", i), dir)); code != 0 {
				t.Errorf("%s %s exit %d", stdout, stderr, code)
			}
		})
	}
	wait.Wait()
	f, err := os.Open(filepath.Join(p.State, "guard/s1.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := 0
	for line, err := range audit.Lines(f, "ledger") {
		if err != nil {
			t.Fatal(err)
		}
		if line.Kind == kindCall {
			count++
		}
	}
	if count != n {
		t.Errorf("%d records, want %d", count, n)
	}
}

// FuzzHook checks that each input results in a valid answer: nothing or an answer of the contract
// with exit code 0, or a denial in all three forms.
func FuzzHook(f *testing.F) {
	for _, tool := range []string{"Bash", "Write", "Read", "WebFetch", "mcp__a__b", "TodoWrite", "X"} {
		f.Add([]byte(event(beforeTool, tool, `{"command":"a; b","file_path":"/x","url":"https://x","paths":[1]}`, "t1", "/tmp")))
	}
	f.Add([]byte(event(afterTool, "Bash", `{}`, "t1", "/tmp")))
	f.Add([]byte(`{"session_id":"s1","hook_event_name":"ConfigChange"}`))
	f.Add([]byte("\x00{}[]"))
	f.Fuzz(checkAnswer)
}

// TestDamagedInput checks the same for inputs of which a part is missing, repeated or replaced.
func TestDamagedInput(t *testing.T) {
	whole := []byte(event(beforeTool, "Bash", `{"command":"a; b","file_path":"/x"}`, "t1", "/tmp"))
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		from, to := r.IntN(len(whole)), r.IntN(len(whole))
		text := slices.Concat(whole[:from], []byte([]string{"", "{", "null", `"`, "\x00", "[1]", "\\u0000", "1e999"}[r.IntN(8)]), whole[to:])
		checkAnswer(t, text)
	}
}

func checkAnswer(t *testing.T, text []byte) {
	p, _ := newPlaces(t, "", "[guard]\ndefault = \"allow\"\n", "")
	var out, errs bytes.Buffer
	code := newHook(p).Run(bytes.NewReader(text), &out, &errs)
	stdout := strings.TrimSuffix(out.String(), "\n")
	var answer struct {
		Specific *struct{ HookEventName, PermissionDecision, PermissionDecisionReason string } `json:"hookSpecificOutput"`
		Decision string                                                                        `json:"decision"`
	}
	if stdout != "" && (strings.Contains(stdout, "\n") || json.Unmarshal([]byte(stdout), &answer) != nil) {
		t.Fatalf("stdout is %q", out.String())
	}
	denies := answer.Decision == "block" || answer.Specific != nil && answer.Specific.PermissionDecision == "deny"
	switch {
	case code == 2 && denies && errs.Len() > 0:
	case code == 0 && !denies && errs.Len() == 0:
	default:
		t.Errorf("%q: exit %d, stdout %q, stderr %q", text, code, out.String(), errs.String())
	}
}

// BenchmarkHook measures a decision in a session with 1,000 records.
func BenchmarkHook(b *testing.B) {
	root := b.TempDir()
	p := Places{Config: root, State: root}
	if err := os.WriteFile(filepath.Join(root, FileName), []byte(open), 0o600); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		newHook(p).run(event(beforeTool, "Bash", `{"command":"go test ./... -run TestSomething"}`, fmt.Sprint("t", i), root))
	}
	for b.Loop() {
		newHook(p).run(event(beforeTool, "Bash", `{"command":"a"}`, "t", root))
	}
}

// TestKeysAreDecoded checks that the code reads every key of [guard].
func TestKeysAreDecoded(t *testing.T) {
	n := 0
	for _, k := range manifest.Keys() {
		if !strings.HasPrefix(k.Path, "guard.") {
			continue
		}
		n++
		m, _ := manifest.Parse(source.NewFile("Concerto.toml", []byte(strings.Replace(k.Path, "*", "codex", 1)+" = "+k.Example+"\n")))
		if m.Guard == nil {
			t.Fatalf("%s: the manifest has no guard", k.Path)
		}
		d := json.NewDecoder(bytes.NewReader(m.Guard.Config))
		d.DisallowUnknownFields()
		if err := d.Decode(&section{}); err != nil {
			t.Errorf("no code reads %s: %v", k.Path, err)
		}
	}
	if n < 20 {
		t.Errorf("%d keys", n)
	}
}
