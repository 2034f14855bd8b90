package mcp

import (
	"encoding/json"
	"testing"
)

// TestVisit checks which answers mean that a person opens the address.
func TestVisit(t *testing.T) {
	for answer, want := range map[string]string{`true`: "accept", `"yes"`: "accept", `"Yes"`: "accept", `"true"`: "decline", `"sure"`: "decline", `false`: "decline",
		`null`: "decline", `{"a":1}`: "decline", `1`: "decline", ``: "decline"} {
		if got := visit(json.RawMessage(answer)).Action; got != want {
			t.Errorf("visit(%s) = %s, want %s", answer, got, want)
		}
	}
	for address, want := range map[string]bool{"https://a.example/b?c": true, "http://127.0.0.1:1": true, "javascript:alert(1)": false, "file:///etc/passwd": false, "https:": false, "": false, "https://a\x1b[2J": false} {
		if isWebAddress(address) != want {
			t.Errorf("isWebAddress(%q) = %v", address, !want)
		}
	}
}
