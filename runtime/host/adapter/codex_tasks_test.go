package adapter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCodexBackground checks when an exchange ends whose subagents or commands continue to work.
// The lines are in the order in which Codex 0.171.0 sends them.
func TestCodexBackground(t *testing.T) {
	event := func(method, params string) string {
		return `{"method":"` + method + `","params":{` + params + `}}`
	}
	item := func(method, thread, item string) string {
		return event("item/"+method, `"threadId":"`+thread+`","turnId":"`+strings.ToUpper(thread)+`1","item":{`+item+`}`)
	}
	turn := func(state, thread, status string) string {
		return event("turn/"+state, `"threadId":"`+thread+`","turn":{"id":"`+strings.ToUpper(thread)+`1","rootTurnId":"T1","status":"`+status+`"}`)
	}
	status := func(thread, status string) string {
		return event("thread/status/changed", `"threadId":"`+thread+`","status":{"type":"`+status+`"}`)
	}
	tokens := func(thread, in string) string {
		return event("thread/tokenUsage/updated", `"threadId":"`+thread+`","turnId":"`+strings.ToUpper(thread)+`1","tokenUsage":{"total":{"inputTokens":`+in+`,"outputTokens":1}}`)
	}
	begin := []string{`> {"type":"init"}`, `{"id":1,"result":{"userAgent":"x/0.171.0"}}`, `{"id":2,"result":{"thread":{"id":"t"},"model":"m"}}`, `> {"type":"prompt","text":"go"}`, `{"id":3,"result":{"turn":{"id":"T1"}}}`, turn("started", "t", "inProgress")}
	spawn := item("completed", "t", `"type":"collabAgentToolCall","id":"c1","tool":"spawnAgent","status":"completed","senderThreadId":"t","receiverThreadIds":["u"],"prompt":"review it"`)
	command := `"type":"commandExecution","id":"c2","command":"/bin/bash -lc 'npm run dev'"`
	text := item("completed", "t", `"type":"agentMessage","id":"m1","text":"Started."`)
	end := turn("completed", "t", "completed")
	const (
		starts  = `{"type":"progress","message":"agent \"review it\" has started","stage":"task","task":{"id":"u","kind":"agent","name":"review it","state":"running"}`
		ends    = `{"type":"progress","message":"agent \"review it\" completed: Two faults.","stage":"task","task":{"id":"u","kind":"agent","name":"review it","state":"completed","summary":"Two faults."}`
		stopped = `{"type":"progress","message":"agent \"review it\" stopped","stage":"task","task":{"id":"u","kind":"agent","name":"review it","state":"stopped"}`
		turned  = `{"type":"progress","message":"Started.","stage":"turn","waits":true`
		waits   = `{"type":"progress","message":"waits for agent \"review it\"","stage":"wait"`
		serves  = `{"type":"progress","message":"command \"npm run dev\" has started","stage":"task","task":{"id":"c2","kind":"command","name":"npm run dev","state":"running"}`
		served  = `{"type":"progress","message":"command \"npm run dev\" completed","stage":"task","task":{"id":"c2","kind":"command","name":"npm run dev","state":"completed"}`
		agent   = `,"agent":{"id":"u","name":"review it"}`
		lists   = `> {"id":4,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list","params":{"threadId":"t"}}`
	)
	isListed, isEmpty := `{"id":4,"result":{"data":[{"itemId":"c2","processId":"77"}]}}`, `{"id":4,"result":{"data":[]}}`
	for _, c := range []struct {
		name, background string
		lines            []string
		want             []string // what is neither quiet nor about the parent's own tools
	}{
		{"the exchange waits for a subagent", "", []string{spawn, status("u", "idle"), status("u", "active"), turn("started", "u", "inProgress"), text, tokens("t", "10"), end,
			item("started", "u", `"type":"commandExecution","id":"c9","command":"ls"`), item("completed", "u", `"type":"commandExecution","id":"c9","status":"completed"`),
			`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"u","itemId":"c3","command":"rm x","cwd":"/w"}}`, `> {"type":"response","answer_to":"7","value":"yes"}`,
			item("completed", "u", `"type":"agentMessage","id":"m2","text":"Two faults."`), tokens("u", "100"), status("u", "idle"), turn("completed", "u", "completed")},
			[]string{starts, turned + `,"usage":{"tokens_in":10,"tokens_out":1,"tokens_cached":0},"models":{"m":{"tokens_in":10,"tokens_out":1,"tokens_cached":0}}`, waits,
				`{"type":"progress","message":"command: ls","stage":"tool"` + agent, `{"type":"progress","message":"command: completed","stage":"tool_result"` + agent,
				`{"type":"approval","id":"7","description":"command: rm x","risk_level":"high","tool":"command","kind":"execute","args":{"command":"rm x","cwd":"/w"},"options":["once","session","deny"]` + agent + `,"call":"c3","session":"t"`,
				`> {"id":7,"jsonrpc":"2.0","result":{"decision":"accept"}}`, `{"type":"log","level":"agent","message":"Two faults."`, ends,
				`{"type":"result","text":"Started.","session":"t","usage":{"tokens_in":110,"tokens_out":2,"tokens_cached":0},"tasks":[{"id":"u","kind":"agent","name":"review it","state":"completed","summary":"Two faults."}]`}},
		{"a subagent that ends within the turn", "", []string{spawn, status("u", "active"), turn("started", "u", "inProgress"), item("completed", "u", `"type":"agentMessage","id":"m2","text":"Two faults."`), status("u", "idle"), turn("completed", "u", "completed"), text, end},
			[]string{starts, `{"type":"log","level":"agent","message":"Two faults."`, ends, `{"type":"result","text":"Started.","session":"t","tasks":[{"id":"u","kind":"agent","name":"review it","state":"completed","summary":"Two faults."}]`}},
		{"a thread that is known only by its turn", "", []string{turn("started", "u", "inProgress"), text, end},
			[]string{`{"type":"progress","message":"agent has started","stage":"task","task":{"id":"u","kind":"agent","name":"","state":"running"}`, turned, `{"type":"progress","message":"waits for agent","stage":"wait"`}},
		{"a thread of another turn", "", []string{strings.Replace(turn("started", "u", "inProgress"), `"T1"`, `"X"`, 1), text, end}, []string{`{"type":"result","text":"Started.","session":"t"`}},
		{"the exchange waits for a command", "", []string{item("started", "t", command), text, end, isListed, item("completed", "t", command+`,"status":"completed"`)},
			[]string{turned, lists, serves, `{"type":"progress","message":"waits for command \"npm run dev\"","stage":"wait"`, served, `{"type":"result","text":"Started.","session":"t","tasks":[{"id":"c2","kind":"command","name":"npm run dev","state":"completed"}]`}},
		{"a command that is in no list has ended", "", []string{item("started", "t", command), text, end, isEmpty}, []string{turned, lists, `{"type":"result","text":"Started.","session":"t"`}},
		{"a version without a list", "", []string{item("started", "t", command), text, end, `{"id":4,"error":{"code":-32601,"message":"unknown"}}`}, []string{turned, lists, `{"type":"result","text":"Started.","session":"t"`}},
		{"the time is over", "", []string{spawn, turn("started", "u", "inProgress"), item("started", "t", command), text, end, isListed, `> {"type":"stop","reason":"did not finish"}`,
			`{"id":6,"result":{"data":[{"itemId":"c2","processId":"77"}]}}`, `{"id":5,"result":{}}`, turn("completed", "u", "interrupted"), `{"id":7,"result":{}}`, item("completed", "t", command+`,"status":"failed"`)},
			[]string{starts, turned, waits, lists, serves, `{"type":"progress","message":"waits for agent \"review it\", command \"npm run dev\"","stage":"wait"`,
				`> {"id":5,"jsonrpc":"2.0","method":"turn/interrupt","params":{"threadId":"u","turnId":"U1"}}`, `> {"id":6,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list","params":{"threadId":"t"}}`,
				`> {"id":7,"jsonrpc":"2.0","method":"thread/backgroundTerminals/terminate","params":{"processId":"77","threadId":"t"}}`, stopped, `{"type":"progress","message":"waits for command \"npm run dev\"","stage":"wait"`,
				`{"type":"progress","message":"command \"npm run dev\" failed","stage":"task","task":{"id":"c2","kind":"command","name":"npm run dev","state":"failed"}`,
				`{"type":"error","message":"host 'H' did not finish: stopped agent \"review it\"","code":"background","session":"t","tasks":[{"id":"u","kind":"agent","name":"review it","state":"stopped"},{"id":"c2","kind":"command","name":"npm run dev","state":"failed"}],"result":{"type":"result","text":"Started.","session":"t"`}},
		{"a message while the exchange waits begins a turn", "", []string{spawn, turn("started", "u", "inProgress"), text, end, `> {"type":"steer","id":"t1","text":"also"}`, turn("completed", "u", "completed"), `{"id":4,"result":{"turn":{"id":"T2"}}}`,
			event("item/completed", `"threadId":"t","turnId":"T2","item":{"type":"agentMessage","id":"m3","text":"Both."}`), event("turn/completed", `"threadId":"t","turn":{"id":"T2","status":"completed"}`)},
			[]string{starts, turned, waits, `> {"id":4,"jsonrpc":"2.0","method":"turn/start","params":{"input":[{"text":"also","text_elements":[],"type":"text"}],"threadId":"t"}}`,
				`{"type":"progress","message":"agent \"review it\" completed","stage":"task","task":{"id":"u","kind":"agent","name":"review it","state":"completed"}`, `{"type":"partial","text":"Both."}`,
				`{"type":"progress","message":"Both.","stage":"turn","waits":true`, `{"type":"result","text":"Both.","session":"t","tasks":[{"id":"u","kind":"agent","name":"review it","state":"completed"}]`}},
		{"forbidden", BackgroundForbid, []string{spawn, turn("started", "u", "inProgress"), text, end, turn("completed", "u", "interrupted")},
			[]string{starts, turned, waits, `> {"id":4,"jsonrpc":"2.0","method":"turn/interrupt","params":{"threadId":"u","turnId":"U1"}}`, stopped,
				`{"type":"error","message":"host 'H' started background work, which was stopped: agent \"review it\"","code":"background","session":"t","tasks":[{"id":"u","kind":"agent","name":"review it","state":"stopped"}]`}},
		{"detached", BackgroundDetach, []string{spawn, turn("started", "u", "inProgress"), text, end, turn("completed", "u", "completed")},
			[]string{starts, `{"type":"result","text":"Started.","session":"t","tasks":[{"id":"u","kind":"agent","name":"review it","state":"running"}]`}},
	} {
		a := newCodex(Config{Host: "H", Background: c.background})
		talked(t, a, begin...)
		var got []string
		for _, l := range talked(t, a, c.lines...) {
			l, _, _ = strings.Cut(l, " + payload")
			isOwn := strings.Contains(l, `"stage":"usage"`) || !strings.Contains(l, `"agent":`) && strings.Contains(l, `"stage":"tool`) || l == `{"type":"partial","text":"Started."}`
			if !strings.HasPrefix(l, "quiet ") && !isOwn {
				got = append(got, strings.TrimRight(l, "}"))
			}
		}
		for i := range c.want {
			c.want[i] = strings.TrimRight(c.want[i], "}")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestCodexDetachedCommand checks that the list of commands is requested while no exchange runs,
// so that a command that ends without an event is known to have ended.
func TestCodexDetachedCommand(t *testing.T) {
	a := newCodex(Config{Host: "H", Background: BackgroundDetach})
	linesOf(a, codexBegin)
	linesOf(a, []string{codexRuns("started", "t", "c1"), codexTurn("completed", "t", "T1"), `{"id":4,"result":{"data":[{"itemId":"c1","processId":"1"}]}}`})
	if tasks := a.Work().Tasks; len(tasks) != 1 || !a.Polls() {
		t.Fatalf("after the exchange: tasks %v, polls %v", tasks, a.Polls())
	}
	got := linesOf(a, []string{`> {"type":"poll"}`, `{"id":5,"result":{"data":[]}}`})
	if want := `> {"id":5,"jsonrpc":"2.0","method":"thread/backgroundTerminals/list"`; len(got) == 0 || !strings.HasPrefix(got[0], want) {
		t.Errorf("a poll sends %v, want %s", got, want)
	}
	if tasks := a.Work().Tasks; len(tasks) != 0 || a.Polls() {
		t.Errorf("after the command: tasks %v, polls %v", tasks, a.Polls())
	}
}
