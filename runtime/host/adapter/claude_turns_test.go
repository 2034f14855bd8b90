package adapter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClaudeTurns checks which turns of Claude Code end an exchange, and which text is the
// exchange's result. U1, U2, … are the UUIDs of the messages to the process.
func TestClaudeTurns(t *testing.T) {
	const (
		prompt  = `> {"type":"prompt","text":"go"}`
		typed   = `> {"type":"prompt","text":"go","schema":{"type":"object"}}`
		queued  = `> {"type":"prompt","text":"more","queued":true}`
		steer   = `> {"type":"steer","id":"t1","text":"also"}`
		started = `{"type":"command_lifecycle","command_uuid":"U1","state":"started"}`
		begins  = `{"type":"system","subtype":"init","model":"M"}`
		foreign = `{"type":"progress","message":"other","stage":"turn","foreign":true`
	)
	replay := func(id, text string) string {
		return `{"type":"user","isReplay":true,"uuid":"` + id + `","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	ended := func(text, members string) string {
		return `{"type":"result","subtype":"success","result":"` + text + `"` + members + `}`
	}
	reply := func(id, text, members string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"` + text + `"}]}` + members + `}`
	}
	mine, theirs, task := `,"user_message_uuids":["U1"]`, `,"user_message_uuids":["another"]`, `,"origin":{"kind":"task-notification","runId":"r"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  []string // results of the last lines
	}{
		{"the UUIDs decide", []string{prompt, ended("other", theirs), ended("mine", mine)}, []string{foreign, `{"type":"result","text":"mine"`}},
		{"one UUID is enough", []string{prompt, ended("mine", `,"user_message_uuid":"U1"`)}, []string{`{"type":"result","text":"mine"`}},
		{"several prompts in one turn", []string{prompt, steer, ended("both", `,"user_message_uuids":["another","U2"]`)}, []string{`{"type":"result","text":"both"`}},
		{"a task has begun the turn", []string{prompt, ended("other", task), ended("mine", mine)}, []string{foreign, `{"type":"result","text":"mine"`}},
		{"the turn continues", []string{prompt, started, ended("mine", `,"origin":{"kind":"auto-continuation"}`)}, []string{`quiet command_lifecycle/started`, `{"type":"result","text":"mine"`}},
		{"another turn continues", []string{prompt, ended("other", `,"origin":{"kind":"auto-continuation"}`)}, []string{foreign}},
		{"the prompt waits after another turn", []string{prompt, `{"type":"command_lifecycle","command_uuid":"U1","state":"queued"}`,
			begins, reply("m1", "other text", ""), `{"type":"stream_event","event":{"delta":{"type":"text_delta","text":"other text"}}}`, ended("other", ""),
			started, begins, reply("m2", "mine", ""), ended("", ""),
		}, []string{`quiet command_lifecycle/queued`, `quiet system/init`, `quiet assistant`, `quiet stream_event`, foreign,
			`quiet command_lifecycle/started`, `{"type":"progress","message":"M, Claude Code","stage":"start"`, `{"type":"partial","text":"mine"}`, `{"type":"result","text":"mine"`}},
		{"an earlier version repeats the prompt alone", []string{prompt, replay("x", "go"), ended("one", ""), prompt, ended("other", ""), replay("x", "go"), ended("two", "")},
			[]string{`quiet user/replay`, `{"type":"result","text":"one"`, foreign, `quiet user/replay`, `{"type":"result","text":"two"`}},
		{"a version that repeats nothing", []string{prompt, ended("one", ""), prompt, ended("two", "")}, []string{`{"type":"result","text":"one"`, `{"type":"result","text":"two"`}},
		{"a replay of another session's prompt", []string{prompt, replay("x", "earlier"), ended("other", "")}, []string{`quiet user/replay`, foreign}},
		{"an error without members fails the exchange", []string{prompt, replay("x", "earlier"), `{"type":"result","subtype":"error_during_execution","errors":["broken"]}`},
			[]string{`quiet user/replay`, `{"type":"error","message":"broken","code":"error_during_execution"`}},
		{"an error with no UUIDs fails the exchange", []string{prompt, replay("x", "earlier"), `{"type":"result","subtype":"error_during_execution","errors":["broken"],"user_message_uuids":[]}`},
			[]string{`quiet user/replay`, `{"type":"error","message":"broken","code":"error_during_execution"`}},
		{"an unreadable result of another turn", []string{prompt, `{"type":"result","subtype":"success","result":"other","num_turns":"x"` + theirs + `}`, ended("mine", mine)}, []string{foreign, `{"type":"result","text":"mine"`}},
		{"an unreadable result", []string{prompt, `{"type":"result","subtype":"success","result":"mine","num_turns":"x"` + mine + `}`},
			[]string{`{"type":"error","message":"Claude Code's result cannot be read: num_turns cannot be a JSON string","code":"result"`}},
		{"members with a wrong type hide no line", []string{prompt, `{"type":"result","subtype":"success","result":"mine","uuid":1,"parent_tool_use_id":[],"isReplay":"x"` + mine + `}`}, []string{`{"type":"result","text":"mine"`}},
		{"a repeated UUID is enough", []string{prompt, `{"type":"result","subtype":"error_during_execution","errors":["broken"]}`, replay("U1", "another text"), reply("m1", "mine", "")},
			[]string{`{"type":"error","message":"broken","code":"error_during_execution"`, `quiet user/replay`, `{"type":"partial","text":"mine"}`}},
		{"an error of another turn does not", []string{prompt, `{"type":"result","subtype":"error_during_execution","errors":["broken"],"result":"other","origin":{"kind":"task-notification"}}`}, []string{foreign}},
		{"a turn before the next queued prompt", []string{prompt, ended("one", mine), queued, `{"type":"command_lifecycle","command_uuid":"U2","state":"queued"}`, ended("other", task), ended("two", `,"user_message_uuids":["U2"]`)},
			[]string{`{"type":"result","text":"one"`, `quiet command_lifecycle/queued`, foreign, `{"type":"result","text":"two"`}},
		{"a prompt that was cancelled before it was read", []string{prompt, `{"type":"command_lifecycle","command_uuid":"U1","state":"queued"}`, `{"type":"command_lifecycle","command_uuid":"U1","state":"cancelled"}`},
			[]string{`quiet command_lifecycle/queued`, `{"type":"error","message":"the prompt was cancelled before Claude Code read it","code":"interrupted"`}},
		{"a turn that was cancelled", []string{prompt, started, `{"type":"result","subtype":"error_during_execution","errors":["e"]` + mine + `}`, `{"type":"command_lifecycle","command_uuid":"U1","state":"cancelled"}`},
			[]string{`quiet command_lifecycle/started`, `{"type":"error","message":"e","code":"error_during_execution"`, `quiet command_lifecycle/cancelled`}},
		{"tasks in the foreground", []string{prompt, `{"type":"system","subtype":"task_started","task_id":"t","task_type":"local_bash","description":"make"}`, `{"type":"system","subtype":"task_started","task_id":"u","task_type":"x","ambient":true}`,
			`{"type":"system","subtype":"task_notification","task_id":"t","status":"completed"}`, ended("mine", mine)},
			[]string{`{"type":"progress","message":"command \"make\" has started","stage":"task","task":{"id":"t","kind":"command","name":"make","state":"running"}`, `quiet system/task_started`,
				`{"type":"progress","message":"command \"make\" completed","stage":"task","task":{"id":"t","kind":"command","name":"make","state":"completed"}`, `{"type":"result","text":"mine"`}},
		{"the text of the agent itself", []string{prompt, reply("m1", "first", ""), reply("m2", "se", ""), reply("s1", "chatter", `,"parent_tool_use_id":"t"`), reply("m2", "cond", ""), ended("", mine)},
			[]string{`{"type":"partial","text":"first"}`, `{"type":"partial","text":"se"}`, `{"type":"log","level":"agent","message":"chatter"}`, `{"type":"partial","text":"cond"}`, `{"type":"result","text":"second"`}},
		{"the text of the turn alone", []string{prompt, reply("m1", "one", ""), ended("", mine), prompt, ended("", `,"user_message_uuids":["U2"]`)},
			[]string{`{"type":"partial","text":"one"}`, `{"type":"result","text":"one"`, `{"type":"result","text":""`}},
		{"a value with a schema", []string{typed, ended("words", mine+`,"structured_output":{"a":1}`)}, []string{`{"type":"result","text":"{\"a\":1}"`}},
		{"a value without a schema", []string{prompt, ended("words", mine+`,"structured_output":{"a":1}`)}, []string{`{"type":"result","text":"words"`}},
		{"a value and no text", []string{prompt, ended("", mine+`,"structured_output":{"a":1}`)}, []string{`{"type":"result","text":"{\"a\":1}"`}},
		{"no value", []string{typed, ended("words", mine+`,"structured_output":null`)}, []string{`{"type":"result","text":"words"`}},
	} {
		ids := strings.NewReplacer("U1", messageUUID("s", 1), "U2", messageUUID("s", 2))
		for i := range c.lines {
			c.lines[i] = ids.Replace(c.lines[i])
		}
		var got []string
		for _, line := range talked(t, newClaude(Config{Host: "H", Seed: "s"}), c.lines...) {
			if !strings.HasPrefix(line, "> ") {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// TestMessageUUID checks that messages have different UUIDs of the form that Claude Code accepts.
func TestMessageUUID(t *testing.T) {
	seen := map[string]bool{}
	for _, seed := range []string{"a", "b", "a 1"} {
		for n := range 20 {
			id := messageUUID(seed, n)
			if len(id) != 36 || id[14] != '8' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] {
				t.Errorf("UUID %d of %q = %s", n, seed, id)
			}
			seen[id] = true
		}
	}
}

// TestPendingRequests checks that the requests in the answer to the handshake are handled like
// others, each once.
func TestPendingRequests(t *testing.T) {
	const request = `{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}`
	c := newClaude(Config{Host: "H", Seed: "s"})
	lines := []string{`> {"type":"init"}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{"pending_permission_requests":[{"type":"control_request","request_id":"a","request":` + request + `}],` +
			`"pending_user_dialog_requests":[{"request_id":"d","request":{"subtype":"request_user_dialog"}}],"pending_elicitation_requests":[]}}}`,
		`{"type":"control_request","request_id":"a","request":` + request + `}`, `> {"type":"response","answer_to":"a","value":"yes"}`, `{"type":"control_request","request_id":"a","request":` + request + `}`}
	var got []string
	for _, line := range lines {
		if ours, ok := strings.CutPrefix(line, "> "); ok {
			c.ToAgent([]byte(ours))
			continue
		}
		s := c.FromAgent([]byte(line))
		for _, m := range s.Messages {
			got = append(got, string(m)[:min(len(m), 28)])
		}
		for _, x := range s.Refused {
			got = append(got, "refused "+x.Name)
		}
		if s.Quiet != "" {
			got = append(got, "quiet "+s.Quiet)
		}
	}
	want := []string{`{"type":"init_ack","capabili`, `{"type":"approval","id":"a",`, "refused request_user_dialog", "quiet control_request", "quiet control_request"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
