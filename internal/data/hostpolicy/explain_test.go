package hostpolicy

import "testing"

// TestExplain checks which entry is named as the reason of a verdict.
func TestExplain(t *testing.T) {
	p := policy(Rules{
		Read: []string{"docs", "."}, Write: []string{"src"}, Deny: []string{"*.key", ".env"},
		Commands: Commands{Allow: []string{"ls", "go *"}, Ask: []string{"git push*"}, Deny: []string{"x", "rm *"}},
		Net:      Net{Allow: []string{"a.example"}, Deny: []string{"b.example"}},
	})
	for _, c := range []struct {
		message string
		verdict Verdict
		want    Entry
	}{
		{`{"kind":"execute","args":{"command":"ls; rm -rf y"}}`, Deny, Entry{"commands.deny", 1}},
		{`{"kind":"execute","args":{"command":"go test"}}`, Allow, Entry{"commands.allow", 1}},
		{`{"kind":"execute","args":{"command":"ls && git push"}}`, Ask, Entry{"commands.ask", 0}},
		{`{"kind":"execute","args":{"command":"make"}}`, Ask, Entry{}},
		{`{"kind":"read","paths":["a"]}`, Allow, Entry{"read", 1}},
		{`{"kind":"edit","paths":["src/a"]}`, Allow, Entry{"write", 0}},
		{`{"kind":"edit","paths":["src/.env"]}`, Deny, Entry{"deny", 1}},
		{`{"kind":"fetch","args":{"url":"https://a.example/x"}}`, Allow, Entry{"net.allow", 0}},
		{`{"kind":"fetch","args":{"url":"https://b.example/x"}}`, Deny, Entry{"net.deny", 0}},
	} {
		q := ParseRequest([]byte(c.message))
		v := p.Decide(q)
		if got := p.Explain(q, v); v != c.verdict || got != c.want {
			t.Errorf("%s: %s by %v, want %s by %v", c.message, v, got, c.verdict, c.want)
		}
	}
}

// TestPass checks that a default of `pass` is as open as `allow`: a command that may contain what a
// rule denies is a question.
func TestPass(t *testing.T) {
	p := policy(Rules{Default: "pass", Commands: Commands{Deny: []string{"rm *"}}})
	for command, want := range map[string]Verdict{"ls": Pass, "rm x": Deny, "$x y": Ask} {
		if got := p.Decide(Request{Kind: "execute", Command: command}); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
