package adapter

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"slices"
	"strings"
	"testing"
)

// codexBegin begins an exchange with Codex, whose turn T1 has started in the thread t.
var codexBegin = []string{`> {"type":"init"}`, `{"id":1,"result":{"userAgent":"x/0.171.0"}}`, `{"id":2,"result":{"thread":{"id":"t"}}}`, `> {"type":"prompt","text":"go"}`, `{"id":3,"result":{"turn":{"id":"T1"}}}`}

func codexTurn(state, thread, turn string) string {
	return fmt.Sprintf(`{"method":"turn/%s","params":{"threadId":%q,"turn":{"id":%q,"rootTurnId":"T1","status":"%s"}}}`, state, thread, turn, map[string]string{"started": "inProgress", "completed": "completed"}[state])
}

// codexRuns is the start or the end of a command.
func codexRuns(state, thread, id string) string {
	return fmt.Sprintf(`{"method":"item/%s","params":{"threadId":%q,"turnId":"T1","item":{"type":"commandExecution","id":%q,"command":"sleep 9","status":"completed"}}}`, state, thread, id)
}

// TestHostileTasks checks that no order or form of the messages about background tasks ends an
// exchange before its work, leaves a request without an answer, or a task without an end.
func TestHostileTasks(t *testing.T) {
	ends := codexTurn("completed", "t", "T1")
	asks := func(id, thread string) string {
		return fmt.Sprintf(`{"method":"item/commandExecution/requestApproval","id":%s,"params":{"threadId":%q,"itemId":"i","command":"ls"}}`, id, thread)
	}
	const (
		asksClaude = `{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"agent_id":"a"}}`
		calls      = `{"type":"control_request","request_id":"q2","request":{"subtype":"mcp_message","server_name":"concerto","message":{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"look","arguments":{}}}}}`
		mine       = `,"user_message_uuids":["U1"]`
	)
	for _, c := range []struct {
		name, transport, background string
		fresh                       bool
		lines                       []string
		want                        []string // beginnings of the last results that are not quiet
	}{
		{"a list of commands with several pages", "codex", "", false, []string{codexRuns("started", "t", "c1"), codexRuns("started", "t", "c2"), ends, `{"id":4,"result":{"data":[{"itemId":"c1","processId":"1"}],"nextCursor":"x"}}`, `{"id":5,"result":{"data":[{"itemId":"c2","processId":"2"}],"nextCursor":null}}`},
			[]string{`> {"id":5,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list","params":{"cursor":"x","threadId":"t"}}`, `{"type":"progress","message":"command \"sleep 9\" has started"`, `{"type":"progress","message":"command \"sleep 9\" has started"`, `{"type":"progress","message":"waits for`}},
		{"a list that cannot be read", "codex", "", false, []string{codexRuns("started", "t", "c1"), ends, `{"id":4,"result":{"data":7}}`}, []string{`{"type":"log","level":"warn","message":"host 'H' sends a list of its background commands that cannot be read: data cannot be a JSON number"`, `{"type":"result"`}},
		{"a list that is older than the command", "codex", "", false, []string{codexRuns("started", "t", "c1"), ends, `{"id":4,"result":{"data":[{"itemId":"c1","processId":"1"}]}}`, `> {"type":"poll"}`,
			codexTurn("started", "t", "T2"), strings.Replace(codexRuns("started", "t", "c2"), "T1", "T2", 1), `{"id":5,"result":{"data":[]}}`, codexTurn("completed", "t", "T2")},
			[]string{`{"type":"progress","message":"command \"sleep 9\" completed"`, `{"type":"progress","message":"the turn has ended","stage":"turn"`, `> {"id":6,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list"`}},
		{"a list during a turn", "codex", "", false, []string{codexRuns("started", "t", "c1"), ends, `{"id":4,"result":{"data":[{"itemId":"c1","processId":"1"}]}}`, codexTurn("started", "t", "T2"), strings.Replace(codexRuns("started", "t", "c2"), "T1", "T2", 1), `> {"type":"poll"}`, `{"id":5,"result":{"data":[]}}`, codexTurn("completed", "t", "T2")},
			[]string{`{"type":"progress","message":"command \"sleep 9\" completed"`, `{"type":"progress","message":"the turn has ended","stage":"turn"`, `> {"id":6,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list"`}},
		{"a turn that begins while the tasks are stopped", "codex", "", false, []string{codexTurn("started", "u", "U1"), ends, `> {"type":"stop","reason":"w"}`, codexTurn("started", "u", "U2"), codexTurn("started", "u", "U2")},
			[]string{`> {"id":4,"jsonrpc":"2.0","method":"turn/interrupt","params":{"threadId":"u","turnId":"U1"}}`, `> {"id":5,"jsonrpc":"2.0","method":"turn/interrupt","params":{"threadId":"u","turnId":"U2"}}`}},
		{"a message that Codex refuses while the exchange waits", "codex", "", false, []string{codexTurn("started", "u", "U1"), ends, `> {"type":"steer","id":"t1","text":"also"}`, `{"id":4,"error":{"code":-32603,"message":"no"}}`, codexTurn("completed", "u", "U1")},
			[]string{`> {"id":4,"jsonrpc":"2.0","method":"turn/start"`, `> {"id":5,"jsonrpc":"2.0","method":"turn/interrupt"`, `{"type":"progress","message":"agent completed"`, `{"type":"error","message":"host 'H': turn/start: no","code":"-32603","session":"t","tasks":[{`}},
		{"a request of a subagent when its exchange ends", "codex", BackgroundDetach, false, []string{codexTurn("started", "u", "U1"), asks("7", "u"), ends},
			[]string{`{"type":"withdraw","id":"7","moved":true}`, `{"type":"result"`, `{"type":"approval","id":"7"`}},
		{"a request of a subagent when its exchange is cancelled", "codex", BackgroundDetach, false, []string{codexTurn("started", "u", "U1"), asks("7", "u"), `> {"type":"cancel"}`, ends},
			[]string{`{"type":"withdraw","id":"7"}`, `{"type":"result"`, `> {"id":7,"jsonrpc":"2.0","result":{"decision":"decline"}}`}},
		{"a request that two exchanges leave open", "codex", BackgroundDetach, false, []string{codexTurn("started", "u", "U1"), asks("7", "u"), ends,
			`> {"type":"prompt","text":"again"}`, `{"id":4,"result":{"turn":{"id":"T2"}}}`, codexTurn("completed", "t", "T2"), `> {"type":"response","answer_to":"7","value":"yes"}`},
			[]string{`{"type":"approval","id":"7"`, `> {"id":4,"jsonrpc":"2.0","method":"turn/start"`, `{"type":"result"`, `> {"id":7,"jsonrpc":"2.0","result":{"decision":"accept"}}`}},
		{"a subagent and a command of an earlier session", "codex", BackgroundDetach, true, []string{codexTurn("started", "u", "U1"), codexRuns("started", "t", "c1"), ends, `{"id":4,"result":{"data":[{"itemId":"c1","processId":"1"}]}}`,
			`> {"type":"prompt","text":"again"}`, `{"id":5,"result":{"thread":{"id":"t2"}}}`, `{"id":6,"result":{"turn":{"id":"T2"}}}`, codexTurn("completed", "u", "U1"), codexRuns("completed", "t", "c1"), codexTurn("completed", "t2", "T2")},
			[]string{`{"type":"progress","message":"agent completed"`, `{"type":"progress","message":"command \"sleep 9\" completed"`, `{"type":"result"`}},
		{"a call of a subagent when the turn ends", "claude-code", "", false, []string{promptLine, readLine, tasksLine(helper), calls, resultLine("Started.", mine), `> {"type":"response","answer_to":"q2","value":"a"}`},
			[]string{`{"type":"progress","message":"waits for`, `> {"response":{"request_id":"q2","response":{"mcp_response":{"id":5,"jsonrpc":"2.0","result":{"content":[{"text":"a"`}},
		{"requests of a subagent when its exchange ends", "claude-code", BackgroundDetach, false, []string{promptLine, readLine, tasksLine(helper), asksClaude, calls, resultLine("Started.", mine)},
			[]string{`{"type":"withdraw","id":"q1","moved":true}`, `{"type":"withdraw","id":"q2"}`, `{"type":"result"`, `{"type":"approval","id":"q1"`, `> {"response":{"request_id":"q2","response":{"mcp_response":{"id":5,"jsonrpc":"2.0","result":{"content":[{"text":"the exchange has ended"`}},
	} {
		cfg := Config{Host: "H", Background: c.background, Fresh: c.fresh, Seed: "s", Tools: Tools{{Name: "look"}}}
		var a Adapter = newClaude(cfg)
		if c.transport == "codex" {
			cfg.Tools = nil
			a = newCodex(cfg)
			linesOf(a, codexBegin)
		}
		for i, l := range c.lines {
			c.lines[i] = strings.ReplaceAll(l, `"U1"]`, `"`+messageUUID("s", 1)+`"]`)
			c.lines[i] = strings.ReplaceAll(c.lines[i], `"command_uuid":"U1"`, `"command_uuid":"`+messageUUID("s", 1)+`"`)
		}
		got := slices.DeleteFunc(linesOf(a, c.lines), func(l string) bool { return strings.HasPrefix(l, "quiet ") })
		got = got[max(0, len(got)-len(c.want)):]
		if !slices.EqualFunc(c.want, got, func(want, got string) bool { return strings.HasPrefix(got, want) }) {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if ended := strings.HasPrefix(c.want[len(c.want)-1], `{"type":"result"`); ended && len(a.(Worker).Work().Tasks) > 0 {
			t.Errorf("%s: tasks remain: %v", c.name, a.(Worker).Work().Tasks)
		}
	}
}

// TestManyTasks checks that the time for 10,000 tasks, threads and calls is about proportional to
// their number, and that nothing of them remains after the next exchange has begun.
func TestManyTasks(t *testing.T) {
	randtest.InOneGoroutine(t)
	const n = 10_000
	t.Run("claude-code", func(t *testing.T) {
		c := newClaude(Config{Host: "H", Seed: "s"})
		c.ToAgent([]byte(`{"type":"prompt","text":"go"}`))
		read := func(line string) []string { return linesOf(c, []string{line}) }
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"task_id":"a%d","run_id":"r%d","tool_use_id":"w%d","task_type":"local_agent","description":"d"}`, i, i, i))
			read(fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[{"type":"tool_use","id":"w%d","name":"Monitor","input":{}}]}}`, i, i))
		}
		read(tasksLine(all...))
		read(fmt.Sprintf(`{"type":"result","subtype":"success","result":"x","user_message_uuids":[%q]}`, messageUUID("s", 1)))
		for i := range n {
			read(fmt.Sprintf(`{"type":"assistant","agent_id":"a%d","parent_tool_use_id":"t","message":{"id":"n%d","content":[{"type":"text","text":"y"}]}}`, i, i))
		}
		read(noTasks)
		if got := read(idleLine); len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"result"`) {
			t.Fatalf("the exchange has not ended: %.200q", got)
		}
		c.ToAgent([]byte(`{"type":"prompt","text":"go"}`))
		w := &c.Tasks
		if sum := len(w.Agents) + len(w.Watches) + len(w.Runs) + len(w.Front) + len(w.Ends) + len(w.Asked) + len(w.Live) + len(w.Past) + len(c.Calls.Open) + len(c.Calls.Requested) + len(c.Replies) + len(c.Open); sum > 0 {
			t.Errorf("%d entries remain", sum)
		}
	})
	t.Run("codex", func(t *testing.T) {
		c := newCodex(Config{Host: "H"})
		linesOf(c, codexBegin)
		read := func(format string, args ...any) { linesOf(c, []string{fmt.Sprintf(format, args...)}) }
		for i := range n {
			u := fmt.Sprintf("u%d", i)
			linesOf(c, []string{codexTurn("started", u, "x"), codexRuns("started", u, "c"+u)})
			read(`{"method":"thread/tokenUsage/updated","params":{"threadId":%q,"tokenUsage":{"total":{"inputTokens":1}}}}`, u)
		}
		linesOf(c, []string{codexTurn("completed", "t", "T1"), `> {"type":"stop","reason":"w"}`})
		for i := range n {
			u := fmt.Sprintf("u%d", i)
			linesOf(c, []string{codexRuns("completed", u, "c"+u), codexTurn("completed", u, "x")})
		}
		if len(c.Tasks.Live)+len(c.Tasks.Commands) > 0 {
			t.Errorf("%d tasks and %d commands remain", len(c.Tasks.Live), len(c.Tasks.Commands))
		}
		if used := c.sum().minus(c.Used); used.In != n {
			t.Errorf("%d tokens, want %d", used.In, n)
		}
	})
}

// TestSubagentConfirms checks that Codex's confirmation of a decision about a subagent's request
// counts, and that one which it resolves itself is withdrawn.
func TestSubagentConfirms(t *testing.T) {
	c := newCodex(Config{Host: "H"})
	linesOf(c, codexBegin)
	asks := `{"method":"item/commandExecution/requestApproval","id":%,"params":{"threadId":"u","itemId":"i","command":"ls"}}`
	resolved := `{"method":"serverRequest/resolved","params":{"threadId":"u","requestId":%}}`
	of := func(line, id string) string { return strings.ReplaceAll(line, "%", id) }
	got := linesOf(c, []string{codexTurn("started", "u", "U1"), of(asks, "7"), of(asks, "8"), `> {"type":"response","answer_to":"7","value":"yes"}`, of(resolved, "7"), of(resolved, "8")})
	if len(c.Answered) > 0 || !c.Knows {
		t.Errorf("unconfirmed decisions: %v", c.Answered)
	}
	if last := got[len(got)-1]; !strings.HasPrefix(last, `{"type":"withdraw","id":"8"`) {
		t.Errorf("the last message is %s, want the withdrawal", last)
	}
}
