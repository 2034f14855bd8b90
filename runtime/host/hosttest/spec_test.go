package hosttest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestRulesAreTheChapters compares the rules of the suite with the H rules of the chapter: they
// have the same order and the same text.
func TestRulesAreTheChapters(t *testing.T) {
	chapter, err := os.ReadFile("../../../spec/host-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	unwrapped := strings.ReplaceAll(string(chapter), "\n  ", " ")
	written := regexp.MustCompile(`(?m)^- \*\*(H\d+)\*\* (.*)$`).FindAllStringSubmatch(unwrapped, -1)
	for i, m := range written {
		if i >= len(rules) {
			t.Errorf("%s has no test: %s", m[1], m[2])
			continue
		}
		if r := rules[i]; r.id != m[1] || r.text != m[2] {
			t.Errorf("rule in the chapter: %s %s\nrule in the suite:   %s %s", m[1], m[2], r.id, r.text)
		}
	}
	for _, r := range rules[min(len(written), len(rules)):] {
		t.Errorf("%s is not in the chapter: %s", r.id, r.text)
	}
	if n := strings.Count(string(chapter), "**H"); n != len(written) {
		t.Errorf("%d rules look like rules, %d are", n, len(written))
	}
}
