package host

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestSandboxKeys checks how the section of a sandbox is parsed, and that limits are the stricter
// ones of the section and of limits.
func TestSandboxKeys(t *testing.T) {
	for config, want := range map[string]string{
		`{}`:                            `- ""`,
		`{"codex_sandbox":"read-only"}`: `- "read-only"`,
		// a program that was compiled before the section existed
		`{"sandbox":"read-only"}`:                         `- "read-only"`,
		`{"sandbox":{}}`:                                  `net false files false limits -`,
		`{"sandbox":{"net":false}}`:                       `net true files false limits -`,
		`{"sandbox":{"net":true}}`:                        `net false files false limits -`,
		`{"sandbox":{"net":["a.example.com"],"read":[]}}`: `net true files true limits -`,
		`{"sandbox":{"memory_mb":5},"limits":{"memory_mb":7,"processes":3}}`: `net false files false limits 5 MB of memory, 3 processes`,
		`{"sandbox":{"memory_mb":9},"limits":{"memory_mb":7,"processes":3}}`: `net false files false limits 7 MB of memory, 3 processes`,
	} {
		c, err := ParseConfig("X", "x", nil, json.RawMessage(config), "")
		if err != nil {
			t.Errorf("%s: %v", config, err)
			continue
		}
		got := fmt.Sprintf("- %q", c.Vendor.Sandbox)
		if s := c.Access.Sandbox; s != nil {
			limits := "-"
			if c.Bounds.process().Any() {
				limits = c.Bounds.process().Describe("memory") + ", " + c.Bounds.process().Describe("processes")
			}
			got = fmt.Sprintf("net %v files %v limits %s", s.Net != nil, s.RestrictsFiles(), limits)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}
