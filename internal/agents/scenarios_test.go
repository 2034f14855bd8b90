package agents

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// TestScenariosAreComplete compiles the program and the manifest of each scenario and recording for
// each agent, and checks the replies, the verdicts and the agents' expectations.
func TestScenariosAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Scenarios() {
		if names[s.Name] || s.What == "" || (s.Measure == nil) == (len(s.Programs) == 0 || len(s.Verdicts) == 0 || s.Replies == nil) {
			t.Errorf("scenario %s is incomplete, or has the name of another one", s.Name)
		}
		names[s.Name] = true
	}
	compiled := map[string]bool{}
	for _, a := range append(Table(), Unknown("acp"), Unknown("codex")) {
		for name, want := range a.expect {
			result, _, _ := strings.Cut(want, ": ")
			if !names[name] || !slices.Contains([]string{Yes, No, NotOffered}, result) || want == Yes {
				t.Errorf("%s: the expectation %q of scenario %q is invalid", a.Name, want, name)
			}
		}
		all := Scenarios()
		if !a.unknown {
			all = append(all, Recorded(&a)...)
		}
		for _, s := range all {
			p := &play{agent: a, options: &Options{Path: "/bin/agent"}, dir: t.TempDir(), at: place{home: "/home/user", url: "http://127.0.0.1:1", asks: "http://127.0.0.1:1/mcp"}}
			p.model = &modelserver.Server{}
			p.out = "session 1\n" // of an earlier run
			more := ""
			if s.Config != nil {
				more = s.Config(p)
			}
			if s.Replies != nil {
				if replies := s.Replies(&a); replies == nil != (a.expect[s.Name] == notTried) && !a.unknown {
					t.Errorf("%s: scenario %s has %d replies, but the expectation %q", a.Name, s.Name, len(replies), a.expect[s.Name])
				}
			}
			for i, program := range s.Programs {
				text := program(p)
				if key := a.Transport + more + text; compiled[key] || text == "" {
					continue
				} else {
					compiled[key] = true
				}
				if err := p.write(text, more); err != nil {
					t.Fatal(err)
				}
				got, found, err := engine.CompileSource(driver.Request{Path: filepath.Join(p.dir, "main.conc"), Dir: p.dir})
				if err != nil || got == nil {
					t.Errorf("%s: program %d of scenario %s: %v %v\n%s", a.Name, i+1, s.Name, err, found, text)
				}
			}
		}
	}
}

// TestVerdicts checks the choice of a verdict, and the comparison with what is known of the agent.
func TestVerdicts(t *testing.T) {
	s := &Scenario{Name: "edit", Verdicts: append(yes(prints(1, "made ", "")), verdict{"no: denied", []check{prints(1, "denied ", "")}})}
	for _, c := range []struct{ printed, want string }{
		{"made it\n", "yes"},
		{"denied it\n", "no: denied"},
		{"failed the disk is full\n", "no: the disk is full"},
		{"nothing\n", `no: the program printed 0 lines "made", not 1`},
	} {
		if got := s.judge(&play{out: c.printed}); got != c.want {
			t.Errorf("result of %q: %q, want %q", c.printed, got, c.want)
		}
	}
	known, unknown := &Options{Agent: Agent{expect: map[string]string{"edit": "no: denied"}}}, &Options{Agent: Unknown("acp")}
	for _, c := range []struct {
		o              *Options
		scenario, want string
	}{{known, "edit", "no: denied"}, {known, "once", "yes"}, {unknown, "once", ""}} {
		if got := c.o.expects(&Scenario{Name: c.scenario}); got != c.want {
			t.Errorf("expectation of %s: %q, want %q", c.scenario, got, c.want)
		}
	}
	for r, want := range map[Result]string{
		{Name: "a", Result: Yes}: "a yes", {Name: "a", Result: Yes, Got: "session"}: "a yes (session)",
		{Name: "a", Result: Fail, Expected: "yes", Got: "no: b"}: "a FAIL expected yes, got no: b",
	} {
		if r.Text() != want {
			t.Errorf("line %q, want %q", r.Text(), want)
		}
	}
}
