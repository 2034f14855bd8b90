package agents

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
)

// reconciled is a run whose ledger is compared with the agent's transcripts.
type reconciled struct {
	name     string
	calls    func(m *Agent) []modelserver.Call // one call in each reply of the model
	decision string
	config   string
	files    map[string]string // further files of the agent
	want     map[string]string // the beginning of the output by agent; "" is that of the others. SESSION and DIR replace the session and the directory
}

var reconciliations = []reconciled{
	{"decided", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch} }, `"yes"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"denied", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch} }, `"not today"`, "", nil,
		map[string]string{"": "0 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"edited", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch} }, `{ decision: "allow", input: { command: "touch other.txt", description: "another" } }`, "", nil,
		map[string]string{"claude": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n", "codex": "0 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"granted", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch, m.touch} }, `"LONGEST"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 1 granted, 0 unasked, 0 not covered\n"}},
	{"file", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.writes} }, `"yes"`, "", nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	{"rule", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch} }, `"no"`, "[hosts.coder.permissions.commands]\nallow = [\"touch *\"]\n", nil,
		map[string]string{"": "1 decided, 0 own, 0 granted, 0 unasked, 0 not covered\n"}},
	// The agent has its own reasons to execute a command, after one that was decided.
	{"bypassed", func(m *Agent) []modelserver.Call {
		harmless := m.touch
		harmless.ID, harmless.Args = "call_2", []byte(`{"command":"ls","description":"list"}`)
		return []modelserver.Call{m.touch, harmless}
	}, `"yes"`, "", nil, map[string]string{"claude": "bypassed SESSION call_2 Bash ls (config, subcommandResults)\n1 decided, 0 own, 0 granted, 0 unasked, 1 not covered\n"}},
	{"hook", func(m *Agent) []modelserver.Call { return []modelserver.Call{m.touch, m.writes} }, `"yes"`, "settings = [\"user\"]\n", hookSettings,
		map[string]string{"claude": "bypassed SESSION toolu_1 Bash touch made.txt (hook)\n1 decided, 0 own, 0 granted, 0 unasked, 1 not covered\n"}},
	{"mode", func(m *Agent) []modelserver.Call {
		decided := m.touch
		decided.ID, decided.Args = "call_2", []byte(`{"command":"exit 0","description":"exit"}`)
		return []modelserver.Call{m.writes, decided}
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
	concerto := filepath.Join(t.TempDir(), "concerto")
	bin, err := filepath.Abs("../../bin/npm/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	var build sync.Once
	for _, a := range Table() {
		if a.Transport == "acp" { // their transcripts cannot be compared
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			path := filepath.Join(bin, a.Program)
			if _, err := os.Stat(path); err != nil {
				t.Skipf("%s is not installed: `make agents` does it", a.Package)
			}
			build.Do(func() {
				if out, err := exec.Command("go", "build", "-o", concerto, "github.com/concerto-lang/concerto/cmd/concerto").CombinedOutput(); err != nil {
					t.Fatalf("build: %v\n%s", err, out)
				}
			})
			for _, c := range reconciliations {
				want, ok := c.want[a.Name]
				if !ok {
					want = c.want[""]
				}
				if want != "" {
					t.Run(c.name, func(t *testing.T) {
						c.play(t, &Options{Agent: a, Path: path, Concerto: concerto, Environ: os.Environ()}, want)
					})
				}
			}
		})
	}
}

func (c *reconciled) play(t *testing.T, o *Options, want string) {
	p := &play{agent: o.Agent, options: o}
	if c.files != nil {
		p.agent.files = func(place) map[string]string { return c.files }
	}
	var replies []modelserver.Reply
	for _, call := range c.calls(&p.agent) {
		replies = append(replies, modelserver.Reply{When: p.agent.main, ToolCalls: []modelserver.Call{call}, TokensIn: 10, TokensOut: 5})
	}
	replies = append(replies, textReplies(&p.agent, "All done.")...)
	if err := p.prepare(t.Context(), t.TempDir(), &Scenario{}, replies); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.model.Close)
	_, longest, _ := strings.Cut(o.Agent.expect["longest"], ": ")
	if err := p.write(decides(strings.ReplaceAll(c.decision, "LONGEST", longest))[0](p), c.config); err != nil {
		t.Fatal(err)
	}
	p.model.Restart(replies...)
	if err := p.run(t.Context(), "run", "--progress", "none", "--ledger", "ledger.ndjson"); err != nil {
		t.Fatal(err)
	}
	session, code := p.valueOf("session "), 0
	if strings.HasPrefix(want, "bypassed") {
		code = 1
	}
	err := p.run(t.Context(), "audit", "reconcile", "ledger.ndjson")
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code || err != nil && code == 0 {
		t.Errorf("audit reconcile: exit code %d (error %v), want %d", got, err, code)
	}
	if got := strings.NewReplacer(session, "SESSION", p.dir, "DIR").Replace(p.out); got != want+"0 calls without a result, 0 decisions without a call\n" {
		t.Errorf("output = %s, want %s", got, want)
	}
	if left := p.processes(); left != "" {
		t.Errorf("the runs left a process: %s", left)
	}
}
