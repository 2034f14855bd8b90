package hosttest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAreTheChapters checks that the suite has the same rules as the chapter, with the same
// order and text.
func TestRulesAreTheChapters(t *testing.T) {
	chapter, err := os.ReadFile("../../../spec/host-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	unwrapped := strings.ReplaceAll(string(chapter), "\n  ", " ")
	written := regexp.MustCompile(`(?m)^- \*\*(H\d+)\*\* (.*)$`).FindAllStringSubmatch(unwrapped, -1)
	for i, m := range written {
		if i >= len(rules) {
			t.Errorf("rule %s of the chapter has no test: %s", m[1], m[2])
			continue
		}
		if r := rules[i]; r.id != m[1] || r.text != m[2] {
			t.Errorf("rule of the chapter: %s %s\nrule of the suite:   %s %s", m[1], m[2], r.id, r.text)
		}
	}
	for _, r := range rules[min(len(written), len(rules)):] {
		t.Errorf("rule %s of the suite is not in the chapter: %s", r.id, r.text)
	}
	if n := strings.Count(string(chapter), "**H"); n != len(written) {
		t.Errorf("the chapter contains \"**H\" %d times, but %d rules were recognised", n, len(written))
	}
}
