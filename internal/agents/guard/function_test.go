package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// scriptedFunctions are functions that Go code decides for.
type scriptedFunctions struct {
	paths     []string
	approvals []string
	do        func(ctx context.Context, path string, waits func()) (*Reviewed, error)
}

func (f *scriptedFunctions) Call(ctx context.Context, path string, approval json.RawMessage, waits func()) (*Reviewed, error) {
	f.paths, f.approvals = append(f.paths, path), append(f.approvals, string(approval))
	return f.do(ctx, path, waits)
}

func (f *scriptedFunctions) Sources(path string) ([]Source, error) {
	return []Source{{path, "source"}}, nil
}

// deciding returns functions that return a decision.
func deciding(v hostpolicy.Verdict, reason string) *scriptedFunctions {
	return &scriptedFunctions{do: func(_ context.Context, path string, _ func()) (*Reviewed, error) {
		return &Reviewed{v, reason, "review", path, 3}, nil
	}}
}

// TestFunctionDecides checks that the strictest of the rules and of the function applies, and which
// one is named.
func TestFunctionDecides(t *testing.T) {
	const head = "[guard]\nprogram = \"g/guard.conc\"\n"
	const rules = "[guard.permissions]\ncommands = { allow = [\"a\"], ask = [\"b\"], deny = [\"c\"] }\n"
	for _, c := range []struct {
		project, command string
		verdict          hostpolicy.Verdict
		want             string
		calls            int
	}{
		{head + rules, "a", "allow", `allow Concerto.toml:4: commands.allow "a"`, 1},
		{head + rules, "a", "pass", `allow Concerto.toml:4: commands.allow "a"`, 1},
		{head + rules, "a", "ask", `ask g/guard.conc:3: review: why`, 1},
		{head + rules, "a", "deny", `deny g/guard.conc:3: review: why`, 1},
		{head + rules, "b", "allow", `ask Concerto.toml:4: commands.ask "b"`, 1},
		{head + rules, "b", "ask", `ask Concerto.toml:4: commands.ask "b"`, 1},
		{head + rules, "c", "allow", `deny Concerto.toml:4: commands.deny "c"`, 0},
		{head, "a", "pass", "ask Concerto.toml:1: no rule matches, and `default` is by default \"ask\"", 1},
		{head, "a", "allow", "ask Concerto.toml:1: no rule matches, and `default` is by default \"ask\"", 1},
		{head, "a", "ask", `ask g/guard.conc:3: review: why`, 1},
		{head + "default = \"pass\"\n", "a", "pass", "pass Concerto.toml:3: no rule matches, and `default` is \"pass\"", 1},
		{head + "default = \"pass\"\n", "a", "allow", `allow g/guard.conc:3: review: why`, 1},
		{head, "echo > g/guard.conc", "allow", "deny built in: g/guard.conc decides which rules apply, and no command may name it", 0},
	} {
		p, dir := newPlaces(t, c.project, "", "")
		f := deciding(c.verdict, "why")
		p.Functions = f
		trust(t, p, dir)
		d := p.Decide(ParseCommand("claude-code", c.command, dir))
		if got := string(d.Verdict) + " " + d.Reason; got != c.want || len(f.paths) != c.calls {
			t.Errorf("%q with %q, function %s: %d calls, %s\nwant %s", c.project, c.command, c.verdict, len(f.paths), got, c.want)
		}
		if len(f.paths) > 0 && f.paths[0] != filepath.Join(dir, "g/guard.conc") {
			t.Errorf("the program is %s", f.paths[0])
		}
	}
}

// TestFunctionsOfPolicies checks that the functions of all policies decide, until one denies.
func TestFunctionsOfPolicies(t *testing.T) {
	const head = "[guard]\nprogram = \"guard.conc\"\ndefault = \"pass\"\n"
	p, dir := newPlaces(t, head, head, head)
	f := &scriptedFunctions{do: func(_ context.Context, path string, _ func()) (*Reviewed, error) {
		if strings.HasPrefix(path, p.Config) {
			return nil, &PolicyError{path, 7, "panic: broken"}
		}
		return &Reviewed{hostpolicy.Allow, "", "review", path, 3}, nil
	}}
	p.Functions = f
	trust(t, p, dir)
	d := p.Decide(ParseCommand("claude-code", "x", dir))
	want := filepath.Join(p.Config, "guard.conc")
	if d.Verdict != hostpolicy.Deny || d.Reason != want+":7: panic: broken" || d.Line != 7 || d.File != want || len(f.paths) != 2 {
		t.Errorf("%+v after %v", d, f.paths)
	}
	p.Functions = nil
	trust(t, p, dir)
	if d = p.Decide(ParseCommand("claude-code", "x", dir)); d.Verdict != hostpolicy.Deny || d.Reason != "guard.conc: functions cannot be called here" {
		t.Errorf("without functions: %+v", d)
	}
}

// TestApproval checks what a function receives about a call.
func TestApproval(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\nprogram = \"guard.conc\"\nother = \"pass\"\n", "", "")
	f := deciding(hostpolicy.Pass, "")
	p.Functions = f
	trust(t, p, dir)
	if err := os.Symlink(filepath.Join(dir, "migrations"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	write(t, filepath.Join(dir, "migrations/1.sql"), "x")
	for _, c := range []struct{ tool, args, want string }{
		{"Write", `{"file_path":"DIR/src/../migrations/2.sql","content":""}`, `"description":"Write: migrations/2.sql","id":"t1","kind":"edit","paths":["migrations/2.sql"],`},
		{"Write", `{"file_path":"link/1.sql","content":""}`, `"description":"Write: migrations/1.sql","id":"t1","kind":"edit","paths":["migrations/1.sql"],`},
		{"Read", `{"file_path":"/etc/passwd"}`, `"description":"Read: /etc/passwd","id":"t1","kind":"read","paths":["/etc/passwd"],`},
		{"Bash", `{"command":"make it","description":"Builds"}`, `"description":"Bash: make it","id":"t1","kind":"execute",`},
		{"mcp__github__get", `{"id":1}`, `"description":"mcp__github__get","id":"t1",`},
		{"Teleport", `{}`, `"description":"Teleport","id":"t1","kind":"other",`},
	} {
		args := strings.ReplaceAll(c.args, "DIR", dir)
		newHook(p).run(event(beforeTool, c.tool, args, "t1", dir))
		want := `{"args":` + args + `,"call":"t1",` + c.want + `"payload":{"agent":"claude-code","cwd":"` + dir + `"},"tool":"` + c.tool + `"}`
		if got := f.approvals[len(f.approvals)-1]; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.tool, got, want)
		}
	}
}

// TestFunctionIsLate checks how long a function may take, and that a function and a person share
// the time of `wait`.
func TestFunctionIsLate(t *testing.T) {
	for name, c := range map[string]struct {
		wait  string
		do    func(ctx context.Context, waits func()) error
		took  time.Duration
		want  string
		asked int64 // how long a person may be asked, in milliseconds
	}{
		"a pure function": {"900", func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return &PolicyError{"/p/guard.conc", 5, "stopped"}
		}, 9 * time.Second, "deny /p/guard.conc:5: the function has not decided within 9s", 0},
		"does not end":         {"900", func(context.Context, func()) error { time.Sleep(time.Hour); return nil }, 9500 * time.Millisecond, "deny guard.conc: the function has not decided in time", 0},
		"waits":                {"900", func(_ context.Context, waits func()) error { waits(); time.Sleep(5 * time.Minute); return nil }, 900 * time.Second, "ask guard.conc:3: review; no person has answered within 600 s, and `unattended` is \"deny\"", 600_000},
		"waits too long":       {"60", func(ctx context.Context, waits func()) error { waits(); <-ctx.Done(); return ctx.Err() }, time.Minute, "deny guard.conc: the function has not decided within 1m0s", 0},
		"may not wait so long": {"0", func(ctx context.Context, waits func()) error { waits(); <-ctx.Done(); return ctx.Err() }, 9 * time.Second, "deny guard.conc: the function has not decided within 9s", 0},
		"panics":               {"0", func(context.Context, func()) error { panic("broken") }, 0, "deny guard.conc: the function could not be called: broken", 0},
		"fails":                {"0", func(context.Context, func()) error { return errors.New("no memory") }, 0, "deny no memory", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newPlaces(t, "[guard]\nprogram = \"guard.conc\"\ndefault = \"pass\"\nwait = "+c.wait+"\n", "", "")
			synctest.Test(t, func(t *testing.T) {
				p.Functions = &scriptedFunctions{do: func(ctx context.Context, path string, waits func()) (*Reviewed, error) {
					return &Reviewed{hostpolicy.Ask, "", "review", path, 3}, c.do(ctx, waits)
				}}
				trust(t, p, dir)
				h, asked := newHook(p), &persons{}
				h.CanAsk, h.Persons = func() bool { return false }, asked
				began := time.Now()
				_, stderr, code := h.run(event(beforeTool, "Bash", `{"command":"x"}`, "t1", dir))
				_, decision, reason := lastRecord(t, p)
				if c.asked > 0 && (len(asked.asked) != 1 || asked.asked[0].WaitMS != c.asked) {
					t.Errorf("asked %+v", asked.asked)
				} else if c.asked > 0 {
					decision = "ask"
				}
				if took := time.Since(began); code != 2 || stderr == "" || took != c.took || decision+" "+reason != c.want {
					t.Errorf("%s %s, %q and %d after %v", decision, reason, stderr, code, took)
				}
				time.Sleep(2 * time.Hour) // what has not ended
			})
		})
	}
}

// TestFunctionIsRepeated checks that a function decides once about a call, also if the agent then
// shows its dialog.
func TestFunctionIsRepeated(t *testing.T) {
	for _, c := range []struct {
		verdict hostpolicy.Verdict
		want    string
	}{
		{hostpolicy.Ask, "human ann relay allow guard.conc:3: review: why; allowed by ann"},
		{hostpolicy.Pass, "rule default Concerto.toml:3 pass Concerto.toml:3: no rule matches, and `default` is \"pass\""},
	} {
		p, dir := newPlaces(t, "[guard]\nprogram = \"guard.conc\"\ndefault = \"pass\"\n", "", "")
		f := deciding(c.verdict, "why")
		p.Functions = f
		trust(t, p, dir)
		h := newHook(p)
		h.Persons = &persons{answer: &Answer{Allow: true, By: effect.ByRelay, Name: "ann"}}
		for _, name := range []string{beforeTool, askPerson} {
			if _, stderr, code := h.run(event(name, "Bash", `{"command":"x"}`, "t1", dir)); code != 0 {
				t.Fatal(stderr)
			}
		}
		actor, decision, reason := lastRecord(t, p)
		if got := actor + " " + decision + " " + reason; got != c.want || len(f.paths) != 1 {
			t.Errorf("%d calls: %s\nwant %s", len(f.paths), got, c.want)
		}
		// Without a record of an earlier decision, the function decides.
		if h.run(event(askPerson, "Bash", `{"command":"y"}`, "t2", dir)); len(f.paths) != 2 {
			t.Errorf("%d calls", len(f.paths))
		}
	}
}

// TestNoRuleForFunctions checks that no rule is suggested for calls about which a function asks.
func TestNoRuleForFunctions(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\nprogram = \"guard.conc\"\n", "", "")
	h := newHook(p)
	h.CanAsk = func() bool { return false }
	h.Persons = &persons{answer: &Answer{Allow: true, By: effect.ByRelay, Name: "ann"}}
	h.Places.Functions = deciding(hostpolicy.Pass, "")
	for i := range 6 {
		h.run(event(beforeTool, "Bash", `{"command":"make it"}`, fmt.Sprint("t", i), dir))
	}
	for verdict, want := range map[hostpolicy.Verdict]int{hostpolicy.Pass: 1, hostpolicy.Ask: 0} {
		p.Functions = deciding(verdict, "")
		trust(t, p, dir)
		if all, err := p.Suggest(time.Now().Add(-time.Hour), dir); err != nil || len(all) != want {
			t.Errorf("%s: %+v, error %v", verdict, all, err)
		}
	}
}
