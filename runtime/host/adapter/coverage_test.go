package adapter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCoverage checks that each message is listed once, with a reason if the program does not
// receive it, that the adapters' tables and the list agree, and that each quiet message is quiet.
func TestCoverage(t *testing.T) {
	for _, transport := range []string{"claude-code", "codex", "acp"} {
		all := Coverage(transport)
		seen := map[string]string{}
		for _, m := range all {
			name := m.Kind + " " + m.Name
			if seen[name] != "" {
				t.Errorf("%s: %s is listed as %s and as %s", transport, name, seen[name], m.Use)
			}
			seen[name] = m.Use
			if (m.Use == Handled) != (m.Reason == "") {
				t.Errorf("%s: %s is %s with the reason %q", transport, name, m.Use, m.Reason)
			}
			line := ""
			switch {
			case m.Kind == "request" && m.Use == Refused && transport == "claude-code":
				line = fmt.Sprintf(`{"type":"control_request","request_id":"r","request":{"subtype":%q}}`, m.Name)
			case m.Kind == "request" && m.Use == Refused:
				line = fmt.Sprintf(`{"id":7,"method":%q,"params":{}}`, m.Name)
			case m.Use != Quiet || m.Kind == "block" || m.Kind == "item":
				continue
			case transport == "claude-code":
				typ, subtype, _ := strings.Cut(m.Name, "/")
				line = fmt.Sprintf(`{"type":%q,"subtype":%q}`, typ, subtype)
			case transport == "codex":
				line = fmt.Sprintf(`{"method":%q,"params":{}}`, m.Name)
			default:
				line = update(fmt.Sprintf("%q", m.Name))
			}
			got := begun(t, transport).FromAgent([]byte(line))
			if isRefused := len(got.Refused) == 1; m.Use == Refused && !isRefused || m.Use == Quiet && (got.Quiet != m.Name || len(got.Messages) > 0) {
				t.Errorf("%s: %s is listed as %s, but %s is translated to %q (quiet: %q)", transport, name, m.Use, line, got.Messages, got.Quiet)
			}
		}
	}
	// The rows without a handler are those that the list has as quiet.
	for _, row := range claudeRows {
		if name := typeName(row.typ, row.subtype); (row.handle == nil) != isQuiet(claudeUnused, "message", name) {
			t.Errorf("claudeRows and claudeUnused do not agree about %s", name)
		}
	}
	for _, row := range codexRows {
		if !strings.HasSuffix(row.method, "*") && (row.handle == nil) != isQuiet(codexUnused, "notification", row.method) {
			t.Errorf("codexRows and codexUnused do not agree about %s", row.method)
		}
	}
	for name := range reportedElsewhere {
		if isHandled := slices.Contains(Coverage("codex"), Message{Kind: "item", Name: name, Use: Handled}); !isHandled && !isQuiet(codexUnused, "item", name) {
			t.Errorf("coverage.go does not list the item %s", name)
		}
	}
	for _, row := range acpRows {
		if (row.handle == nil) != isQuiet(acpUnused, "update", row.update) {
			t.Errorf("acpRows and acpUnused do not agree about %s", row.update)
		}
	}
}

// TestUnknownMessages checks that the program receives only the first message of an unknown kind.
func TestUnknownMessages(t *testing.T) {
	for transport, line := range map[string]string{
		"claude-code": `{"type":"system","subtype":"made_up"}`, "codex": `{"method":"made/up","params":{}}`, "acp": update(`"made_up"`),
	} {
		a := begun(t, transport)
		first, second := a.FromAgent([]byte(line)), a.FromAgent([]byte(line))
		if len(first.Messages) != 1 || len(second.Messages) != 0 || second.Quiet == "" {
			t.Errorf("%s: the first message is translated to %q, the second to %q (quiet: %q)", transport, first.Messages, second.Messages, second.Quiet)
		}
		if other := reread(t, a).FromAgent([]byte(line)); len(other.Messages) != 0 {
			t.Errorf("%s: a resumed adapter has reported the message again: %q", transport, other.Messages)
		}
	}
}
