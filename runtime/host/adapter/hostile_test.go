package adapter

import (
	"slices"
	"strings"
	"testing"
)

// TestHostileLines checks that no order or form of an agent's lines makes an exchange wait for
// ever, ends it by another turn, or leaves a request without exactly one answer.
func TestHostileLines(t *testing.T) {
	const (
		prompt = `> {"type":"prompt","text":"go"}`
		codex  = `{"id":2,"result":{"thread":{"id":"T"}}}`
		turn   = `{"id":3,"result":{"turn":{"id":"U"}}}`
		ends   = `{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"%","status":"completed"}}}`
		text   = `{"method":"item/completed","params":{"threadId":"T","turnId":"%","item":{"type":"agentMessage","id":"j","text":"of %"}}}`
		used   = `{"method":"thread/tokenUsage/updated","params":{"threadId":"T","turnId":"%","tokenUsage":{"total":{"inputTokens":7}}}}`
		asks   = `{"method":"item/commandExecution/requestApproval","id":@,"params":{"command":"ls"}}`
	)
	of := func(line, id string) string { return strings.ReplaceAll(line, "%", id) }
	ask := func(id string) string { return strings.ReplaceAll(asks, "@", id) }
	for _, c := range []struct {
		name, transport string
		lines           []string
		want            []string // beginnings of the last results
	}{
		{"a turn that completes before its ID is known", "codex", []string{codex, prompt, of(ends, "V"), of(text, "U"), of(used, "U"), of(ends, "U"), turn},
			[]string{`quiet turn/completed`, `quiet item/completed`, `quiet thread/tokenUsage`, `quiet turn/completed`, `{"type":"progress","message":"a turn of its own`, `{"type":"partial","text":"of U"}`, `{"type":"progress","message":"7 tokens"`, `{"type":"result","text":"of U","session":"T","usage":{"tokens_in":7`}},
		{"a request that is repeated", "codex", []string{codex, prompt, turn, ask("7"), ask("7"), ask(`"7"`), `> {"type":"response","answer_to":"7","value":"yes"}`},
			[]string{`{"type":"approval","id":"7"`, `quiet item/commandExecution`, `refused item/commandExecution`, `> {"error":{"code":-32602,"message":"concerto cannot answer item/commandExecution/requestApproval: its id is that of another request"},"id":"7"`, `> {"id":7,"jsonrpc":"2.0","result":{"decision":"accept"}}`}},
		{"an error that is a text", "acp", []string{`{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`, prompt, `{"id":3,"error":"broken"}`}, []string{`{"type":"error"`}},
		{"a request with a wrong member", "acp", []string{`{"id":7,"method":"x","error":5}`}, []string{`refused x`, `> {"error"`}},
		{"a request without an ID", "claude-code", []string{prompt, `{"type":"control_request","request_id":7,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`},
			[]string{`refused can_use_tool`, `> {"response":{"error":"concerto cannot answer can_use_tool: it has no request_id that is a text","request_id":"","subtype":"error"}`}},
	} {
		a := newAdapter(t, c.transport, Vendor{}, "")
		a.ToAgent([]byte(`{"type":"init"}`))
		if c.transport == "codex" {
			a.FromAgent([]byte(`{"id":1,"result":{"userAgent":"x/0.169.0"}}`))
		}
		got := linesOf(a, c.lines)
		got = got[max(0, len(got)-len(c.want)):]
		if !slices.EqualFunc(c.want, got, func(want, got string) bool { return strings.HasPrefix(got, want) }) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// linesOf passes lines to an adapter, and returns its results.
func linesOf(a Adapter, lines []string) (out []string) {
	for _, l := range lines {
		var s Output
		if ours, ok := strings.CutPrefix(l, "> "); ok {
			s = a.ToAgent([]byte(ours))
		} else {
			s = a.FromAgent([]byte(l))
		}
		for _, x := range s.Refused {
			out = append(out, "refused "+x.Name)
		}
		for _, m := range s.Messages {
			out = append(out, string(m))
		}
		for _, o := range s.Lines {
			out = append(out, "> "+string(o))
		}
		if s.Quiet != "" && len(s.Messages) == 0 {
			out = append(out, "quiet "+s.Quiet)
		}
	}
	return out
}

// TestFreshSessionStarts checks that nothing of the old session counts while a prompt waits for a
// new one.
func TestFreshSessionStarts(t *testing.T) {
	for transport, lines := range map[string][]string{
		"codex": {`{"id":1,"result":{"userAgent":"x/0.169.0"}}`, `{"id":2,"result":{"thread":{"id":"T"}}}`, `> {"type":"prompt","text":"one"}`, `{"id":3,"result":{"turn":{"id":"U"}}}`,
			`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed"}}}`, `> {"type":"prompt","text":"two"}`,
			`{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"V","status":"completed"}}}`, `{"id":4,"result":{"thread":{"id":"N"}}}`, `{"id":5,"result":{"turn":{"id":"W"}}}`,
			`{"method":"turn/completed","params":{"threadId":"N","turn":{"id":"W","status":"completed"}}}`},
		"acp": {`{"id":1,"result":{"protocolVersion":1}}`, `{"id":2,"result":{"sessionId":"S"}}`, `> {"type":"prompt","text":"one"}`, `{"id":3,"result":{"stopReason":"end_turn"}}`, `> {"type":"prompt","text":"two"}`,
			update(`"agent_message_chunk","content":{"type":"text","text":"old"}`), `{"id":4,"result":{"sessionId":"N"}}`, `{"id":5,"result":{"stopReason":"end_turn"}}`},
	} {
		a := newAdapter(t, transport, Vendor{Session: "fresh"}, "")
		got := linesOf(a, append([]string{`> {"type":"init"}`}, lines...))
		var results []string
		for _, line := range got {
			if strings.HasPrefix(line, `{"type":"result"`) {
				results = append(results, line[:strings.Index(line, `,"session"`)])
			}
		}
		if want := []string{`{"type":"result","text":""`, `{"type":"result","text":""`}; !slices.Equal(results, want) {
			t.Errorf("%s: results %q, want %q; all:\n%s", transport, results, want, strings.Join(got, "\n"))
		}
	}
}

// TestCancelledSteers checks that messages which Concerto has cancelled begin no turn.
func TestCancelledSteers(t *testing.T) {
	c := newClaude(Config{Host: "H", Seed: "s"})
	linesOf(c, []string{`> {"type":"prompt","text":"go"}`, `{"type":"command_lifecycle","command_uuid":"` + messageUUID("s", 1) + `","state":"queued"}`, `> {"type":"steer","id":"t1","text":"also"}`})
	if !c.BeginsTurn() {
		t.Error("an unread message begins no turn")
	}
	linesOf(c, []string{`> {"type":"cancel","reason":"interrupted"}`})
	if c.BeginsTurn() {
		t.Error("a cancelled message begins a turn")
	}
}

// TestLateResult checks that a result which Claude Code wrote before it was sent the prompt
// neither ends the exchange nor hides that the prompt was read.
func TestLateResult(t *testing.T) {
	c := newClaude(Config{Host: "H", Seed: "s"})
	replay := `{"type":"user","isReplay":true,"uuid":"x","message":{"role":"user","content":"go"}}`
	ended := `{"type":"result","subtype":"success","result":"mine"}`
	linesOf(c, []string{`> {"type":"prompt","text":"go"}`, replay, ended, `> {"type":"prompt","text":"go"}`})
	if s := c.FromAgentLate([]byte(`{"type":"result","subtype":"error_during_execution","errors":["late"]}`)); !strings.Contains(string(s.Messages[0]), `"foreign":true`) {
		t.Errorf("a late result: %s", s.Messages)
	}
	if got := linesOf(c, []string{replay, ended}); !strings.HasPrefix(got[len(got)-1], `{"type":"result","text":"mine"`) {
		t.Errorf("the result: %s", got)
	}
}
