package adapter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwnDecisions checks which decisions of the agents themselves are reported: each once, and
// none about a call that the program has decided.
func TestOwnDecisions(t *testing.T) {
	use := func(id, tool, input string) string {
		return `{"type":"assistant","message":{"id":"m` + id + `","content":[{"type":"tool_use","id":"` + id + `","name":"` + tool + `","input":` + input + `}]}}`
	}
	done := func(id, decision, source string) string {
		return `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}]},"tool_result_meta":[{"id":"` + id + `","permission_decision":{"decision":"` + decision + `","source":"` + source + `","reason_type":"mode"}}]}`
	}
	denied := func(id, kind string) string {
		return `{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"` + id + `","decision_reason_type":"` + kind + `","message":"no"}`
	}
	bash := `{"command":"make"}`
	for _, c := range []struct {
		name, transport string
		lines           []string
		want            []string
	}{
		{"a mode allows a command", "claude-code", []string{use("a", "Bash", bash), done("a", "accept", "config")}, []string{`a allow config "mode" Bash: make`}},
		{"a hook allows a command", "claude-code", []string{use("a", "Bash", bash), done("a", "accept", "hook")}, []string{`a allow hook "mode" Bash: make`}},
		{"the program has allowed it", "claude-code", []string{use("a", "Bash", bash), done("a", "accept", "user_temporary")}, nil},
		{"the program was asked", "claude-code", []string{use("a", "Bash", bash), `{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"a","input":{}}}`, done("a", "accept", "config")}, nil},
		{"a call of the program's tool", "claude-code", []string{use("a", "mcp__concerto__Calc_add", `{}`), done("a", "accept", "config")}, nil},
		{"reading needs no request", "claude-code", []string{use("a", "Read", `{"file_path":"x"}`), done("a", "accept", "config"), use("b", "SendMessage", `{}`), done("b", "accept", "config")}, nil},
		{"a result without its call", "claude-code", []string{done("a", "accept", "config")}, nil},
		{"a rejected call", "claude-code", []string{use("a", "Bash", bash), done("a", "reject", "config")}, nil},
		{"a denial, and the list at the end", "claude-code", []string{use("a", "Bash", bash), denied("a", "classifier"), denied("a", "classifier"),
			`{"type":"result","subtype":"success","result":"x","permission_denials":[{"tool_name":"Bash","tool_use_id":"a","tool_input":{"command":"make"}},{"tool_name":"Write","tool_use_id":"b","tool_input":{"file_path":"x"}}]}`},
			[]string{`a deny classifier "no" Bash: make`, `b deny other "" Write: x`}},
		{"a denial by a reason that is unknown", "claude-code", []string{denied("a", "asyncAgent")}, []string{`a deny other "no" Bash`}},
		{"what the program has denied", "claude-code", []string{`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"a","input":{}}}`, `> {"type":"response","answer_to":"q","value":"no"}`,
			`{"type":"result","subtype":"success","result":"x","permission_denials":[{"tool_name":"Bash","tool_use_id":"a"}]}`}, nil},
		{"a hook denies", "claude-code", []string{`{"type":"system","subtype":"hook_response","hook_name":"PreToolUse:Bash","stdout":"{\"hookSpecificOutput\":{\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no rm\"}}"}`}, []string{` deny hook "no rm" hook: PreToolUse:Bash`}},
		{"Codex's reviewer", "codex", []string{`{"method":"item/autoApprovalReview/started","params":{"review":{"status":"inProgress"},"action":{"type":"command","command":"ls"}}}`,
			`{"method":"item/autoApprovalReview/completed","params":{"targetItemId":"i1","review":{"status":"approved","rationale":"harmless"},"action":{"type":"command","command":"/bin/bash -lc 'ls'"}}}`,
			`{"method":"item/autoApprovalReview/completed","params":{"review":{"status":"timedOut"},"action":{"type":"networkAccess","host":"a.example"}}}`},
			[]string{`i1 allow auto_review "harmless" command: ls`, ` deny auto_review "" networkAccess: a.example`}},
	} {
		a := begun(t, c.transport)
		var got []string
		for _, line := range c.lines {
			s := Output{}
			if ours, ok := strings.CutPrefix(line, "> "); ok {
				s = a.ToAgent([]byte(ours))
			} else {
				s = a.FromAgent([]byte(line))
			}
			for _, x := range s.Own {
				verdict := "deny"
				if x.Allowed {
					verdict = "allow"
				}
				got = append(got, fmt.Sprintf("%s %s %s %q %s", x.ID, verdict, x.Source, x.Reason, x.Description))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestUnasked checks that a result counts the calls that Claude Code makes without a request.
func TestUnasked(t *testing.T) {
	a := begun(t, "claude-code")
	for _, tool := range []string{"Read", "Grep", "Read"} {
		a.FromAgent([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"a","name":"` + tool + `","input":{}}]}}`))
		a.FromAgent([]byte(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},"tool_result_meta":[{"id":"a","permission_decision":{"decision":"accept","source":"config"}}]}`))
	}
	s := a.FromAgent([]byte(`{"type":"result","subtype":"success","result":"x"}`))
	if len(s.Messages) != 1 || !strings.Contains(string(s.Messages[0]), `"unasked":{"read":2,"search":1}`) {
		t.Errorf("result = %s", s.Messages)
	}
}

// TestStdinApproval checks what an approval of text for a running program shows.
func TestStdinApproval(t *testing.T) {
	a := begun(t, "codex")
	a.FromAgent([]byte(`{"method":"item/started","params":{"item":{"type":"commandExecution","id":"c1","command":"/bin/bash -lc 'python3 -i'"}}}`))
	s := a.FromAgent([]byte(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"kind":"writeStdin","itemId":"c1","approvalId":"x","command":"rm -rf \"build\"\nexit\u0000","cwd":"/w","availableDecisions":["accept","cancel"]}}`))
	want := `{"type":"approval","id":"0","description":"stdin of \"python3 -i\": rm -rf \"build\"⏎exit\\u{0}","risk_level":"high","tool":"stdin","kind":"execute","args":{"command":"python3 -i","process":"c1","text":"rm -rf \"build\"\nexit\u0000"},"options":["once","deny"]`
	if len(s.Messages) != 1 || !strings.HasPrefix(string(s.Messages[0]), want) {
		t.Errorf("approval = %s, want %s", s.Messages, want)
	}
}

// TestApprovalMembers checks the members about who may decide, and that a request which forbids
// lasting rules offers none.
func TestApprovalMembers(t *testing.T) {
	a := begun(t, "claude-code")
	for members, want := range map[string]string{
		`"default_to_no":true`: `"options":["once","session","always","deny"],"default":"no"`,
		`"suppress_always_allow_rule":true,"requires_user_interaction":true`: `"options":["once","deny"],"person":true`,
		`"matched_ask_rule":{"source":"user"}`:                               `"options":["once","session","always","deny"],"person":true`,
	} {
		s := a.FromAgent([]byte(`{"type":"control_request","request_id":"` + members[1:5] + `","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"permission_suggestions":[{"type":"addRules"}],` + members + `}}`))
		if len(s.Messages) != 1 || !strings.Contains(string(s.Messages[0]), want) {
			t.Errorf("%s: %s, want %s", members, s.Messages, want)
		}
	}
}
