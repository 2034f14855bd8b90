package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// persons are scripted persons.
type persons struct {
	answer    *Answer // nil if there is none until the wait ends
	problem   error
	asked     []*Question
	withdrawn []string
}

func (p *persons) Ask(ctx context.Context, q *Question) (*Answer, error) {
	p.asked = append(p.asked, q)
	if p.answer == nil && p.problem == nil {
		<-ctx.Done()
	}
	return p.answer, p.problem
}

func (p *persons) Withdraw(session, hash string) { p.withdrawn = append(p.withdrawn, session+" "+hash) }

// lastRecord returns the actor and the reason of the last record of the session s1.
func lastRecord(t *testing.T, p Places) (actor, decision, reason string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Guard(), "s1.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var r struct {
		Actor struct{ Type, Name, At string }
		Data  struct{ Decision, Reason string }
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(r.Actor.Type + " " + r.Actor.Name + " " + filepath.Base(r.Actor.At)), r.Data.Decision, r.Data.Reason
}

const asking = "[guard]\nunattended = \"deny\"\n[guard.permissions]\ncommands = { ask = [\"make *\"] }\n"

// TestPersonDecides checks when a person is asked, and what the agent and the ledger receive.
func TestPersonDecides(t *testing.T) {
	ann := func(allow bool, reason string) *Answer {
		return &Answer{Allow: allow, Reason: reason, By: effect.ByRelay, Name: "ann"}
	}
	for name, c := range map[string]struct {
		agent, event, mode string
		terminal           bool
		answer             *Answer
		problem            error
		stdout             string // a part; "" if nothing is printed
		record             string
	}{
		"allowed":              {"claude-code", beforeTool, "default", false, ann(true, ""), nil, `"permissionDecision":"allow"`, `human ann relay allow Concerto.toml:4: commands.ask "make *"; allowed by ann`},
		"denied":               {"claude-code", beforeTool, "plan", true, ann(false, "not today"), nil, `"permissionDecision":"deny"`, `human ann relay deny Concerto.toml:4: commands.ask "make *"; denied by ann: not today`},
		"no answer":            {"claude-code", beforeTool, "auto", true, nil, nil, `"permissionDecision":"deny"`, `rule unattended Concerto.toml:4 deny Concerto.toml:4: commands.ask "make *"; no person has answered within 900 s, and ` + "`unattended` is \"deny\""},
		"no one can be asked":  {"claude-code", beforeTool, "default", false, nil, errors.New("no process"), `"permissionDecision":"deny"`, `rule unattended Concerto.toml:4 deny Concerto.toml:4: commands.ask "make *"; no process, and ` + "`unattended` is \"deny\""},
		"a dialog":             {"claude-code", beforeTool, "default", true, ann(true, ""), nil, `"permissionDecision":"ask"`, `rule commands.ask make * Concerto.toml:4 ask Concerto.toml:4: commands.ask "make *"`},
		"allowed at a dialog":  {"claude-code", askPerson, "default", true, ann(true, ""), nil, `"decision":{"behavior":"allow"}`, `human ann relay allow Concerto.toml:4: commands.ask "make *"; allowed by ann`},
		"denied at a dialog":   {"claude-code", askPerson, "default", true, ann(false, ""), nil, `"decision":{"behavior":"deny","message":`, `human ann relay deny Concerto.toml:4: commands.ask "make *"; denied by ann`},
		"answer at the dialog": {"claude-code", askPerson, "default", true, nil, nil, ``, `rule commands.ask make * Concerto.toml:4 ask Concerto.toml:4: commands.ask "make *"`},
		"no one at a dialog":   {"claude-code", askPerson, "default", true, nil, errors.New("no process"), ``, `rule commands.ask make * Concerto.toml:4 ask Concerto.toml:4: commands.ask "make *"`},
		"Codex":                {"codex", beforeTool, "default", true, ann(false, ""), nil, `"permissionDecision":"deny"`, `human ann relay deny Concerto.toml:4: commands.ask "make *"; denied by ann`},
		"Codex, no answer":     {"codex", beforeTool, "default", true, nil, nil, `"permissionDecision":"deny"`, `rule unattended Concerto.toml:4 deny Concerto.toml:4: commands.ask "make *"; no person has answered within 900 s, and ` + "`unattended` is \"deny\""},
		"the dialog of Codex":  {"codex", askPerson, "default", true, ann(true, ""), nil, ``, `rule commands.ask make * Concerto.toml:4 ask Concerto.toml:4: commands.ask "make *"`},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newPlaces(t, asking, "", "")
			synctest.Test(t, func(t *testing.T) {
				h := newHook(p)
				h.Agent, h.CanAsk = c.agent, func() bool { return c.terminal }
				h.Persons = &persons{answer: c.answer, problem: c.problem}
				began := time.Now()
				stdout, stderr, code := h.run(strings.Replace(event(c.event, "Bash", `{"command":"make all"}`, "t1", dir), `"default"`, fmt.Sprintf("%q", c.mode), 1))
				if !strings.Contains(stdout, c.stdout) || (stdout == "") != (c.stdout == "") || strings.Contains(c.stdout, "deny") != (code == 2) {
					t.Errorf("stdout %q stderr %q exit %d, want %q", stdout, stderr, code, c.stdout)
				}
				asks := strings.Contains(c.record, "human") || strings.Contains(c.record, "no p") || c.event == askPerson && c.agent != "codex"
				if n := len(h.Persons.(*persons).asked); asks != (n == 1) || n > 1 {
					t.Errorf("asked %d times", n)
				}
				if took, waits := time.Since(began), c.answer == nil && c.problem == nil && asks; waits != (took == 900*time.Second) {
					t.Errorf("the hook took %v", took)
				}
			})
			actor, decision, reason := lastRecord(t, p)
			if got := actor + " " + decision + " " + reason; got != c.record {
				t.Errorf("the ledger has\n%s\nwant\n%s", got, c.record)
			}
		})
	}
}

// TestQuestionIsShown checks what a person receives about a call.
func TestQuestionIsShown(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\nother = \"ask\"\n", "", "")
	for _, c := range []struct{ tool, args, message string }{
		{"Bash", `{"command":"make","description":"Build it"}`, `{"args":{"command":"make","cwd":"DIR","description":"Build it"},"kind":"execute","reason":"Build it\nRULE","tool":"Bash"}`},
		{"Write", `{"file_path":"DIR/x","content":"swordfish-1"}`, `{"args":{"file_path":"DIR/x","content":"«secret:KEY»"},"kind":"edit","reason":"RULE","tool":"Write"}`},
		{"mcp__shop__buy", `{"n":12345678901234567890}`, `{"args":{"n":12345678901234567890},"kind":"","reason":"RULE","tool":"mcp__shop__buy"}`},
	} {
		h := newHook(p)
		h.CanAsk = func() bool { return false }
		h.Environ = []string{"KEY=swordfish-1"}
		who := &persons{answer: &Answer{Allow: true, By: effect.ByAnswer, Name: "ann"}}
		h.Persons = who
		args := strings.ReplaceAll(c.args, "DIR", dir)
		if stdout, _, _ := h.run(event(beforeTool, c.tool, args, "t1", dir)); !strings.Contains(stdout, `"allow"`) || len(who.asked) != 1 {
			t.Errorf("%s: %s, %d questions", c.tool, stdout, len(who.asked))
			continue
		}
		q := who.asked[0]
		got := strings.NewReplacer(dir, "DIR", "Concerto.toml:1: no rule matches, and `default` is by default \\\"ask\\\"", "RULE").Replace(string(q.Message))
		if got != c.message || q.Type != "approval" || q.Session != "s1" || q.ID != "t1" || q.Dir != dir || q.WaitMS != 900_000 || q.Hash == "" {
			t.Errorf("%s: %+v with the message\n%s\nwant\n%s", c.tool, q, got, c.message)
		}
	}
}

// TestAgentsQuestion checks that a person on another device can answer a question of Claude Code,
// and that the answers are no change of the judged arguments.
func TestAgentsQuestion(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	h := newHook(p)
	who := &persons{answer: &Answer{Allow: true, Value: json.RawMessage(`"blue"`), By: effect.ByRelay, Name: "ann"}}
	h.Persons = who
	args := `{"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}],"multiSelect":false}]}`
	if stdout, stderr, code := h.run(event(beforeTool, "AskUserQuestion", args, "t1", dir)); stdout != "" || code != 0 {
		t.Errorf("before: %q %q exit %d", stdout, stderr, code)
	}
	answered := strings.TrimSuffix(args, "}") + `,"answers":{"Which colour?":"Blue"}}`
	want := `{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"answers":{"Which colour?":"Blue"},` + args[1:] + `},"hookEventName":"PermissionRequest"}}` + "\n"
	if stdout, stderr, code := h.run(event(askPerson, "AskUserQuestion", args, "", dir)); stdout != want || code != 0 {
		t.Errorf("%s%s exit %d, want\n%s", stdout, stderr, code, want)
	}
	message := `{"type":"question","id":"","question":"Which colour?","options":["Red","Blue"],"questions":[{"id":"Which colour?","question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}],"multi":false}]}`
	if len(who.asked) != 1 {
		t.Fatalf("%d questions", len(who.asked))
	}
	if who.asked[0].Type != "question" || string(who.asked[0].Message) != message {
		t.Errorf("the message is\n%s\nwant\n%s", who.asked[0].Message, message)
	}
	if stdout, stderr, code := h.run(event(afterTool, "AskUserQuestion", answered, "t1", dir)); code != 0 {
		t.Errorf("after: %s %s exit %d", stdout, stderr, code)
	}
	if want := []string{"s1 " + who.asked[0].Hash}; !slices.Equal(who.withdrawn, want) {
		t.Errorf("withdrawn %q, want %q", who.withdrawn, want)
	}
	// A refusal is a denial, and so is an answer that fits no question. Without an answer, the
	// dialog decides.
	for _, c := range []struct {
		answer *Answer
		stdout string
		code   int
	}{{&Answer{Reason: "later", Name: "ann"}, `"behavior":"deny"`, 2}, {&Answer{Allow: true, Value: json.RawMessage(`{"x":"y"}`)}, `"behavior":"deny"`, 2}, {nil, "", 0}} {
		synctest.Test(t, func(t *testing.T) {
			h.Persons = &persons{answer: c.answer}
			stdout, _, code := h.run(event(askPerson, "AskUserQuestion", args, "", dir))
			if !strings.Contains(stdout, c.stdout) || (stdout == "") != (c.stdout == "") || code != c.code {
				t.Errorf("%q exit %d, want %q", stdout, code, c.stdout)
			}
		})
	}
}

// TestWithdrawals checks that a call that a person has decided at the terminal is withdrawn, and
// all calls at the end of the session. Calls that rules decide never reach a person.
func TestWithdrawals(t *testing.T) {
	p, dir := newPlaces(t, "[guard.permissions]\ncommands = { allow = [\"a\"], deny = [\"c\"] }\n", "", "")
	h := newHook(p)
	who := &persons{answer: &Answer{Allow: true}}
	h.Persons = who
	for i, command := range []string{"a", "b", "c"} {
		id, args := fmt.Sprint("t", i), fmt.Sprintf(`{"command":%q}`, command)
		h.run(event(beforeTool, "Bash", args, id, dir))
		if command != "c" {
			h.run(event(afterTool, "Bash", args, id, dir))
		}
	}
	if len(who.asked) != 0 || len(who.withdrawn) != 1 {
		t.Errorf("%d questions, withdrawn %q", len(who.asked), who.withdrawn)
	}
	if stdout, stderr, code := h.run(`{"session_id":"s1","hook_event_name":"SessionEnd","reason":"other"}`); stdout+stderr != "" || code != 0 || who.withdrawn[1] != "s1 " {
		t.Errorf("%s %s exit %d, withdrawn %q", stdout, stderr, code, who.withdrawn)
	}
	// A stopped session asks no person.
	h.run(event(afterTool, "Bash", `{"command":"never judged"}`, "t9", dir))
	h.CanAsk = func() bool { return false }
	if _, stderr, code := h.run(event(beforeTool, "Bash", `{"command":"b"}`, "t10", dir)); code != 2 || !strings.Contains(stderr, "session s1 is stopped") || len(who.asked) != 0 {
		t.Errorf("%s exit %d, %d questions", stderr, code, len(who.asked))
	}
}

// TestWait checks the limits of guard.wait.
func TestWait(t *testing.T) {
	for value, want := range map[string]string{"0": "no person can be asked", "7": "no person has answered within 7 s", "3001": "Concerto.toml:2: `guard.wait` is 3001, which is more than 3000", "-1": "is -1, which is less than 0"} {
		synctest.Test(t, func(t *testing.T) {
			p, dir := newPlaces(t, "[guard]\nwait = "+value+"\n", "", "")
			h := newHook(p)
			h.Persons, h.CanAsk = &persons{}, func() bool { return false }
			if _, stderr, code := h.run(event(beforeTool, "Bash", `{"command":"b"}`, "t1", dir)); code != 2 || !strings.Contains(stderr, want) {
				t.Errorf("wait = %s: %s exit %d, want %q", value, stderr, code, want)
			}
		})
	}
}

// TestSockets checks that no command may name the sockets where requests are answered.
func TestSockets(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	for _, name := range []string{"/run/user/1000/concerto/x.sock", "/tmp/concerto-1000/x.sock", "/run/user/1000/concerto", filepath.Join(p.Guard(), "serve.sock")} {
		if d := p.Decide(ParseCommand("claude-code", "nc -U "+name, dir)); d.Verdict != hostpolicy.Deny {
			t.Errorf("%s: %s (%s)", name, d.Verdict, d.Reason)
		}
	}
	if d := p.Decide(ParseCommand("claude-code", "ls /tmp/concertos /run/user/1000", dir)); d.Verdict != hostpolicy.Allow {
		t.Errorf("another directory: %s (%s)", d.Verdict, d.Reason)
	}
}
