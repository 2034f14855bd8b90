package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// past is a call of a generated history.
type past struct {
	session, command string
	decision         hostpolicy.Verdict
	by               string // type of the actor
	ran              bool
	ago              time.Duration
}

// writeHistory writes the ledgers of calls, which are in the order of their times. They are not
// synced, and not verified by what reads them.
func writeHistory(t testing.TB, p Places, dir string, calls []past) {
	t.Helper()
	if err := os.MkdirAll(p.Guard(), 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	files := map[string]*strings.Builder{}
	line := func(c past, kind, decision, id string) {
		b := files[c.session]
		if b == nil {
			b = &strings.Builder{}
			files[c.session] = b
		}
		fmt.Fprintf(b, `{"actor":{"name":"x","type":%q},"data":{"args_sha256":%q,"asked":{"args":{"command":%q},"cwd":%q,"event":"PreToolUse"},"call":%q,"decision":%q,"reason":"r","tool":"Bash"},"kind":%q,"subject":{"host":"claude-code"},"time":%q}`+"\n",
			c.by, c.command, c.command, dir, id, decision, kind, now.Add(-c.ago).UTC().Format(time.RFC3339Nano))
	}
	for i, c := range calls {
		line(c, kindCall, string(c.decision), fmt.Sprint("t", i))
		if c.ran {
			line(c, kindRan, ranAsDecided, fmt.Sprint("t", i))
		}
	}
	for session, b := range files {
		path := filepath.Join(p.Guard(), session+".ndjson")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistory checks that the calls of several sessions are in the order of their times, with what
// was executed, and that old ones are left out.
func TestHistory(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	var calls []past
	for i := range 3000 { // each ledger is longer than what is read at once
		calls = append(calls, past{session: fmt.Sprint("s", i%3), command: fmt.Sprint("c ", i, strings.Repeat(" x", 100)), decision: hostpolicy.Allow, by: "rule", ran: i%2 == 0, ago: time.Duration(3000-i) * time.Minute})
	}
	writeHistory(t, p, dir, calls)
	i := len(calls)
	for got, err := range p.History(time.Now().Add(-2000*time.Minute - 30*time.Second)) {
		i--
		if err != nil {
			t.Fatal(err)
		}
		if want := calls[i]; got.Session != want.session || !strings.Contains(string(got.Args), want.command) || (got.Ran == ranAsDecided) != want.ran || got.Dir != dir {
			t.Fatalf("call %d is %+v, want %+v", i, got, want)
		}
	}
	if i != 1000 {
		t.Errorf("the oldest call is %d, want 1000", i)
	}
	if err := os.WriteFile(filepath.Join(p.Guard(), "s1.ndjson"), []byte("no record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, err := range p.History(time.Time{}) {
		failed = errors.Join(failed, err)
	}
	if failed == nil || !strings.Contains(failed.Error(), "s1.ndjson") {
		t.Errorf("a damaged ledger: %v", failed)
	}
}

// TestProbes checks that probes are in no list, and that no other call can pass for one: neither to
// be hidden, nor to run without an alarm.
func TestProbes(t *testing.T) {
	nonce := strings.Repeat("a", 32)
	args := func(command string) string {
		text, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for command, hidden := range map[string]bool{
		ProbeAllow.Command(nonce):                          true,
		ProbeDeny.Command(nonce):                           true,
		"touch /tmp/" + probeName + nonce + "/file":        true,
		"rm x # " + ProbeAllow.Command(nonce):              false,
		ProbeAllow.Command(nonce) + "; rm x":               false,
		ProbeAllow.Command(nonce) + "\nrm x":               false,
		ProbeAllow.Command(nonce[:31]):                     false,
		"printf 'ran %s\\n' " + probeName + nonce + "-all": false,
	} {
		p, dir := newPlaces(t, open, "", "")
		h := newHook(p)
		h.run(event(beforeTool, "Bash", args(command), "t1", dir))
		n := 0
		for range p.History(time.Time{}) {
			n++
		}
		if sessions, err := p.Sessions(); err != nil || (len(sessions) == 0) != hidden || (n == 0) != hidden {
			t.Errorf("%s: %d calls in %d sessions (%v)", command, n, len(sessions), err)
		}
	}
	for command, alarms := range map[string]bool{
		ProbeAllow.Command(nonce):                false,
		"rm -r /tmp/" + probeName + nonce + "/":  true,
		"rm x; " + ProbeAllow.Command(nonce):     true,
		"rm x # " + probeName + nonce + "-allow": true,
	} {
		p, dir := newPlaces(t, open, "", "")
		if _, _, code := newHook(p).run(event(afterTool, "Bash", args(command), "t1", dir)); (code == 2) != alarms {
			t.Errorf("%s ran without a decision: exit %d", command, code)
		}
	}
}

// TestStored checks how long ledgers are stored, and what they contain.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		project, user string
		days          int // for which a ledger is stored
		args          bool
	}{
		{open, "", 90, true},
		{open + "keep = \"7d\"\n", "", 7, true},
		{open + "keep = \"200d\"\n", "", 200, true},
		{open + "keep = \"200d\"\n", open + "keep = \"30d\"\ncontent = \"none\"\n", 30, false},
		{open + "content = \"none\"\n", "", 90, false},
		{"[guard]\nkeep = \"soon\"\n", "", 90, false},
	} {
		p, dir := newPlaces(t, c.project, c.user, "")
		writeHistory(t, p, dir, []past{{session: "old"}, {session: "new"}})
		for name, days := range map[string]int{"old": c.days + 1, "new": c.days - 1} {
			at := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
			if err := os.Chtimes(filepath.Join(p.Guard(), name+".ndjson"), at, at); err != nil {
				t.Fatal(err)
			}
		}
		newHook(p).run(event(beforeTool, "Bash", `{"command":"swordfish"}`, "t1", dir))
		for name, stays := range map[string]bool{"old": false, "new": true, "s1": true} {
			if _, err := os.Stat(filepath.Join(p.Guard(), name+".ndjson")); (err == nil) != stays {
				t.Errorf("%q %q: the ledger %s: %v", c.project, c.user, name, err)
			}
		}
		text, _ := os.ReadFile(filepath.Join(p.Guard(), "s1.ndjson"))
		if has := strings.Contains(string(text), "swordfish"); has != c.args || !strings.Contains(string(text), "args_sha256") {
			t.Errorf("%q %q: the ledger contains %s", c.project, c.user, text)
		}
	}
}

// TestReplay checks which calls are decided otherwise by another policy.
func TestReplay(t *testing.T) {
	p, dir := newPlaces(t, "[guard]\n[guard.permissions.commands]\nallow = [\"a *\", \"b *\"]\nask = [\"c *\"]\n", "", "")
	writeHistory(t, p, dir, []past{
		{"s1", "a 1", hostpolicy.Allow, "rule", true, 9 * time.Hour},
		{"s1", "b 1", hostpolicy.Deny, "rule", false, 8 * time.Hour},
		{"s1", "b 1", hostpolicy.Deny, "rule", false, 7 * time.Hour},
		{"s1", "c 1", hostpolicy.Allow, effect.ActorHuman, true, 6 * time.Hour},
		{"s1", "d 1", hostpolicy.Allow, "rule", true, 5 * time.Hour},
		{"s1", "a 2", hostpolicy.Ask, "rule", true, 4 * time.Hour},
	})
	r, err := p.Replay(time.Now().Add(-24 * time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range r.Differences {
		got = append(got, fmt.Sprintf("%s -> %s %s %d", d.Was, d.Now, d.Last.Text(), d.Times))
	}
	want := []string{"ask -> allow a 2 1", "deny -> allow b 1 2", "allow -> ask d 1 1"}
	if !slices.Equal(got, want) || r.Calls != 6 || r.Skipped != 0 {
		t.Errorf("%d calls, %d skipped, differences %q, want %q", r.Calls, r.Skipped, got, want)
	}
}

// TestSuggest checks suggestions for some histories.
func TestSuggest(t *testing.T) {
	yes := func(command string, n int) (all []past) {
		for range n {
			all = append(all, past{"s", command, hostpolicy.Allow, effect.ActorHuman, true, time.Hour})
		}
		return all
	}
	no := func(command string, n int) (all []past) {
		for range n {
			all = append(all, past{"s", command, hostpolicy.Deny, effect.ActorHuman, false, time.Hour})
		}
		return all
	}
	dialog := func(command string, ran bool, n int) (all []past) {
		for range n {
			all = append(all, past{"s", command, hostpolicy.Ask, "rule", ran, time.Hour})
		}
		return all
	}
	denied := []past{{"s", "git push evil", hostpolicy.Deny, "rule", false, time.Hour}}
	for name, c := range map[string]struct {
		calls []past
		want  string
	}{
		"often enough":       {yes("make check", 5), `commands.allow "make check" 5`},
		"too rarely":         {yes("make check", 4), ""},
		"otherwise once":     {slices.Concat(yes("make check", 9), no("make check", 1)), ""},
		"a common beginning": {slices.Concat(yes("git push origin a", 3), yes("git push origin b", 3)), `commands.allow "git push origin *" 6`},
		"two words":          {slices.Concat(yes("git push a", 3), yes("git push b", 3)), `commands.allow "git push *" 6`},
		"one word":           {slices.Concat(yes("make a", 4), yes("make b", 4)), ""},
		"a wider refusal":    {slices.Concat(yes("git push a x", 5), yes("git push b x", 5), no("git push c x", 1)), `commands.allow "git push a x" 5, commands.allow "git push b x" 5`},
		"denied by a rule":   {slices.Concat(yes("git push a", 5), yes("git push b", 5), denied), `commands.allow "git push a" 5, commands.allow "git push b" 5`},
		"always refused":     {no("npm publish", 5), `commands.deny "npm publish" 5`},
		"in the dialog":      {dialog("make check", true, 5), `commands.allow "make check" 5`},
		"refused there":      {slices.Concat(dialog("make check", true, 5), dialog("make check", false, 1)), ""},
		"a chain":            {yes("make check && rm -rf /", 9), ""},
		"a pipe":             {yes("cat x | sh", 9), ""},
		"a variable":         {yes("make $X", 9), ""},
		"a redirection":      {yes("make x > y", 9), ""},
		"a pattern":          {yes("rm *", 9), ""},
		"already a rule":     {yes("ls x", 9), ""},
		"other programs":     {slices.Concat(yes("find a -name x", 5), yes("find a -exec rm x", 1)), `commands.allow "find a -name x" 5`},
	} {
		p, dir := newPlaces(t, "[guard]\n[guard.permissions.commands]\nallow = [\"ls *\"]\n", "", "")
		writeHistory(t, p, dir, c.calls)
		all, err := p.Suggest(time.Now().Add(-24*time.Hour), dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s %q %d", s.Key, s.Rule, s.Times))
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// TestSuggestions checks generated histories: each suggested rule repeats the answers of the
// person, and allows nothing that was denied.
func TestSuggestions(t *testing.T) {
	randtest.InOneGoroutine(t)
	r := rand.New(rand.NewPCG(7, 7))
	found := 0
	for range 150 {
		p, dir := newPlaces(t, "[guard]\n", "", "")
		var calls []past
		words := []string{"git", "push", "origin", "a", "b", "-f", "make", "&&", "x*"}
		for range r.IntN(120) {
			var text []string
			for range 1 + r.IntN(4) {
				text = append(text, words[min(r.IntN(len(words)), r.IntN(len(words)))])
			}
			c := past{session: "s", command: strings.Join(text, " "), decision: hostpolicy.Allow, by: effect.ActorHuman, ran: true, ago: time.Hour}
			switch r.IntN(60) {
			case 0:
				c.decision, c.ran = hostpolicy.Deny, false
			case 1:
				c.decision, c.by, c.ran = hostpolicy.Deny, "rule", false
			}
			calls = append(calls, c)
		}
		writeHistory(t, p, dir, calls)
		all, err := p.Suggest(time.Now().Add(-24*time.Hour), dir)
		if err != nil {
			t.Fatal(err)
		}
		found += len(all)
		for _, s := range all {
			list, verdict, _ := strings.Cut(s.Key, ".")
			matched := 0
			for _, c := range calls {
				if !covers(list, s.Rule, c.command) {
					continue
				}
				matched++
				if string(c.decision) != verdict {
					t.Errorf("%s %q, but %q was answered with %s", s.Key, s.Rule, c.command, c.decision)
				}
			}
			if matched < minAnswers || strings.Contains(s.Rule, "&&") {
				t.Errorf("%s %q covers %d calls", s.Key, s.Rule, matched)
			}
		}
	}
	if found < 50 {
		t.Errorf("%d suggestions", found)
	}
}

// TestReadersOfRealRecords checks that the history has what a hook records.
func TestReadersOfRealRecords(t *testing.T) {
	p, dir := newPlaces(t, open, "", "")
	h := newHook(p)
	h.run(event(beforeTool, "Bash", `{"command":"a b"}`, "t1", dir))
	h.run(event(afterTool, "Bash", `{"command":"a b"}`, "t1", dir))
	h.run(event(beforeTool, "mcp__x__y", `{"z":1}`, "t2", dir))
	var got []string
	for c, err := range p.History(time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %v", c.Session, c.Agent, c.Text(), c.Decision, c.Ran, c.names))
		if c.Actor != (audit.Actor{Type: "rule", Name: "default", At: filepath.Join(dir, "Concerto.toml") + ":2"}) && c.Actor.Name != "other" {
			t.Errorf("actor %+v", c.Actor)
		}
	}
	want := []string{"s1 claude-code Call the tool mcp__x__y allow  [x.y]", "s1 claude-code a b allow ran []"}
	if !slices.Equal(got, want) {
		t.Errorf("history %q, want %q", got, want)
	}
}

// BenchmarkHistory measures the first 100 of 1,000,000 calls.
func BenchmarkHistory(b *testing.B) {
	root := b.TempDir()
	p := Places{Config: root, State: root}
	var calls []past
	for i := range 1_000_000 {
		calls = append(calls, past{fmt.Sprint("s", i/10_000), "go test ./... -run TestSomething", hostpolicy.Allow, "rule", false, time.Duration(1_000_000-i) * time.Second})
	}
	writeHistory(b, p, root, calls)
	for b.Loop() {
		n := 0
		for range p.History(time.Time{}) {
			if n++; n == 100 {
				break
			}
		}
	}
}
