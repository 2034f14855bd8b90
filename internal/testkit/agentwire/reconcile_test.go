package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/testllm"
)

// reconciled is a run whose ledger is compared with the agent's transcripts.
type reconciled struct {
	name     string
	calls    func(m *scriptedModel) []testllm.Call // one call in each reply of the model
	decision string
	config   string
	files    map[string]string // further files of the agent
	want     map[string]string // the beginning of the output by agent; "" is that of the others. SESSION and DIR replace the session and the directory
}

var reconciliations = []reconciled{
	{"decided", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch} }, `"yes"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"denied", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch} }, `"not today"`, "", nil,
		map[string]string{"": "0 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"edited", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch} }, `{ decision: "allow", input: { command: "touch other.txt", description: "another" } }`, "", nil,
		map[string]string{"claude": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n", "codex": "0 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"granted", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch, m.touch} }, `"LONGEST"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 1 granted, 0 unasked, 0 not covered\n"}},
	{"file", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.writes} }, `"yes"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"rule", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch} }, `"no"`, allowTouch, nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	// The agent has its own reasons to execute a command, after one that was decided.
	{"bypassed", func(m *scriptedModel) []testllm.Call {
		harmless := m.touch
		harmless.ID, harmless.Args = "call_2", []byte(`{"command":"ls","description":"list"}`)
		return []testllm.Call{m.touch, harmless}
	}, `"yes"`, "", nil, map[string]string{"claude": "bypassed SESSION call_2 Bash ls (config, subcommandResults)\n1 decided, 0 own, 0 granted, 0 unasked, 1 not covered\n"}},
	{"hook", func(m *scriptedModel) []testllm.Call { return []testllm.Call{m.touch, m.writes} }, `"yes"`, "settings = [\"user\"]\n", hookSettings,
		map[string]string{"claude": "bypassed SESSION toolu_1 Bash touch made.txt (hook)\n1 decided, 0 own, 0 granted, 0 unasked, 1 not covered\n"}},
	{"mode", func(m *scriptedModel) []testllm.Call {
		decided := m.touch
		decided.ID, decided.Args = "call_2", []byte(`{"command":"exit 0","description":"exit"}`)
		return []testllm.Call{m.writes, decided}
	}, `"yes"`, "mode = \"acceptEdits\"\n", nil,
		map[string]string{"claude": "bypassed SESSION toolu_3 Write DIR/new.txt (config, mode)\n1 decided, 0 own, 0 granted, 0 unasked, 1 not covered\n"}},
}

// hookSettings are settings of Claude Code with a hook that allows all commands.
var hookSettings = map[string]string{
	".claude/settings.json": `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"cat $HOME/.claude/hook.json"}]}]}}`,
	".claude/hook.json":     `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`,
}

// TestReconcile compares the transcripts of real agents with the ledgers of their runs.
func TestReconcile(t *testing.T) {
	if testing.Short() {
		t.Skip("agents take minutes")
	}
	bin, err := filepath.Abs("../../../bin/npm/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	concerto, dir := "", t.TempDir()
	for i := range agents {
		a := &agents[i]
		if a.transport == "acp" { // their transcripts cannot be compared
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			if !a.isInstalled(bin) {
				t.Skipf("%s %s is not installed: `make agents` does it", a.pkg, a.version)
			}
			if concerto == "" {
				if concerto, err = command(dir); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range reconciliations {
				want, ok := c.want[a.name]
				if !ok {
					want = c.want[""]
				}
				if want == "" {
					continue
				}
				t.Run(c.name, func(t *testing.T) { c.play(t, a, concerto, bin, want) })
			}
		})
	}
}

func (c *reconciled) play(t *testing.T, a *agent, concerto, bin, want string) {
	var replies []testllm.Reply
	for _, call := range c.calls(&a.scriptedModel) {
		replies = append(replies, testllm.Reply{When: a.main, ToolCalls: []testllm.Call{call}, TokensIn: 10, TokensOut: 5})
	}
	if c.files != nil {
		changed := *a
		changed.files = func(place) map[string]string { return c.files }
		a = &changed
	}
	w := newWorld(t, a, concerto, bin, append(replies, a.textReplies("All done.")...))
	program := decidingProgram(strings.ReplaceAll(c.decision, "LONGEST", a.longest))
	for name, text := range map[string]string{"main.conc": program, "Concerto.toml": w.manifest(c.config)} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := w.command(t, 0, "run", "--progress", "none", "--ledger", "ledger.ndjson")
	code := 0
	if strings.HasPrefix(want, "bypassed") {
		code = 1
	}
	r := runResult{out: out}
	got := w.command(t, code, "audit", "reconcile", "ledger.ndjson")
	if got = strings.NewReplacer(r.restOfLine("session "), "SESSION", w.dir, "DIR").Replace(got); got != want+"0 calls without a result, 0 decisions without a call\n" {
		t.Errorf("output = %s, want %s", got, want)
	}
	w.requireNoProcesses(t)
}

// command runs the command and returns its standard output.
func (w *world) command(t *testing.T, code int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.concerto, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(w.concerto) + ":" + os.Getenv("PATH"), "HOME=" + w.at.home, "TMPDIR=" + filepath.Dir(w.dir), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb"}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		t.Fatalf("concerto %s: %v, want exit code %d\n%s%s", strings.Join(args, " "), err, code, out, errs.String())
	}
	return string(out)
}
