package adapter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines of Claude Code in tests of its background tasks, in the order in which version 2.1.332
// sends them. U1, U2, … are the UUIDs of the messages to the process.
const (
	promptLine = `> {"type":"prompt","text":"go"}`
	readLine   = `{"type":"command_lifecycle","command_uuid":"U1","state":"started"}`
	initLine   = `{"type":"system","subtype":"init","model":"M"}`
	idleLine   = `{"type":"system","subtype":"session_state_changed","state":"idle"}`
	runsLine   = `{"type":"system","subtype":"session_state_changed","state":"running"}`
	noTasks    = `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`
	helper     = `{"task_id":"a","run_id":"r","task_type":"local_agent","description":"helper"}`
	server     = `{"task_id":"b","run_id":"s","task_type":"local_bash","description":"npm run dev"}`
)

func tasksLine(tasks ...string) string {
	return `{"type":"system","subtype":"background_tasks_changed","tasks":[` + strings.Join(tasks, ",") + `]}`
}

func resultLine(text, members string) string {
	return `{"type":"result","subtype":"success","result":"` + text + `"` + members + `}`
}

// TestClaudeBackground checks when an exchange ends whose work continues in the background, and
// what the program receives until then.
func TestClaudeBackground(t *testing.T) {
	const (
		mine, second = `,"user_message_uuids":["U1"]`, `,"user_message_uuids":["U2"]`
		byHelper     = `,"origin":{"kind":"task-notification","runId":"r"}`
		ended        = `{"type":"system","subtype":"task_notification","task_id":"a","status":"completed","summary":"Two faults."}`
		stopped      = `{"type":"system","subtype":"task_notification","task_id":"a","status":"stopped","summary":"helper"}`

		starts     = `{"type":"progress","message":"agent \"helper\" has started","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"running"}}`
		completes  = `{"type":"progress","message":"agent \"helper\" completed: Two faults.","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"completed","summary":"Two faults."}}`
		isStopped  = `{"type":"progress","message":"agent \"helper\" stopped","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"stopped","summary":"helper"}}`
		runsServer = `{"type":"progress","message":"command \"npm run dev\" has started","stage":"task","task":{"id":"b","kind":"command","name":"npm run dev","state":"running"}}`
		endsServer = `{"type":"progress","message":"command \"npm run dev\" completed","stage":"task","task":{"id":"b","kind":"command","name":"npm run dev","state":"completed"}}`
		waits      = `{"type":"progress","message":"waits for agent \"helper\"","stage":"wait"}`
		turn       = `{"type":"progress","message":"Started.","stage":"turn","waits":true}`
		helperTask = `"tasks":[{"id":"a","kind":"agent","name":"helper","state":"completed","summary":"Two faults."}]}`
	)
	for _, c := range []struct {
		name, background string
		lines            []string
		want             []string // what is not quiet
	}{
		{"the exchange waits for the turn that a task begins", "", []string{promptLine, readLine, initLine, tasksLine(helper), resultLine("Started.", mine), ended, noTasks, initLine, resultLine("Two faults.", byHelper), idleLine},
			[]string{starts, turn, waits, completes, `{"type":"progress","message":"Two faults.","stage":"turn","waits":true}`, `{"type":"result","text":"Two faults.",` + helperTask}},
		{"a task ends within the turn", "", []string{promptLine, readLine, initLine, tasksLine(helper), ended, noTasks, resultLine("Two faults.", mine), idleLine},
			[]string{starts, completes, `{"type":"progress","message":"Two faults.","stage":"turn","waits":true}`, `{"type":"result","text":"Two faults.",` + helperTask}},
		{"an empty text replaces none", "", []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), ended, noTasks, initLine, resultLine("", byHelper), idleLine},
			[]string{starts, turn, waits, completes, `{"type":"progress","message":"the turn has ended","stage":"turn","waits":true}`, `{"type":"result","text":"Started.",` + helperTask}},
		{"idle before the task's end is not enough", "", []string{promptLine, readLine, tasksLine(server), resultLine("Started.", mine), idleLine, noTasks, runsLine, initLine, resultLine("Served.", `,"origin":{"runId":"s"}`)},
			[]string{runsServer, turn, `{"type":"progress","message":"waits for command \"npm run dev\"","stage":"wait"}`, endsServer, `{"type":"progress","message":"Served.","stage":"turn","waits":true}`}},
		{"idle before the result", "", []string{promptLine, readLine, tasksLine(helper), idleLine, ended, noTasks, resultLine("Started.", mine)}, []string{starts, completes, turn}},
		{"a version that does not report its state", "", []string{promptLine, tasksLine(helper), noTasks, resultLine("Started.", mine), `> {"type":"poll"}`, `> {"type":"poll"}`, `{"type":"control_response","response":{"subtype":"success","request_id":"p1"}}`},
			[]string{starts, `{"type":"progress","message":"agent \"helper\" completed","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"completed"}}`, turn,
				`> {"request":{"subtype":"mcp_status"},"request_id":"p1","type":"control_request"}`, `{"type":"result","text":"Started.","tasks":[{"id":"a","kind":"agent","name":"helper","state":"completed"}]}`}},
		{"a version that is not silent after all", "", []string{promptLine, tasksLine(helper), noTasks, resultLine("Started.", mine), `> {"type":"poll"}`, `> {"type":"poll"}`, initLine, `{"type":"control_response","response":{"subtype":"success","request_id":"p1"}}`},
			[]string{starts, `{"type":"progress","message":"agent \"helper\" completed","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"completed"}}`, turn,
				`> {"request":{"subtype":"mcp_status"},"request_id":"p1","type":"control_request"}`}},
		{"the turn of another task is foreign", "", []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), resultLine("other", `,"origin":{"kind":"task-notification","runId":"x"}`)},
			[]string{starts, turn, waits, `{"type":"progress","message":"other","stage":"turn","foreign":true}`}},
		{"the time is over, and an agent is at work", "", []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), `> {"type":"stop","reason":"did not finish its background work within 600 seconds"}`, stopped, noTasks, initLine, resultLine("Stopped.", byHelper), idleLine},
			[]string{starts, turn, waits, `> {"request":{"subtype":"stop_task","task_id":"a"},"request_id":"t1","type":"control_request"}`, isStopped, `{"type":"progress","message":"Stopped.","stage":"turn","waits":true}`,
				`{"type":"error","message":"host 'H' did not finish its background work within 600 seconds: stopped agent \"helper\"","code":"background","tasks":[{"id":"a","kind":"agent","name":"helper","state":"stopped","summary":"helper"}],"result":{"type":"result","text":"Started."}}`}},
		{"the time is over, and a server runs", "", []string{promptLine, readLine, tasksLine(server), resultLine("Started.", mine), idleLine, `> {"type":"stop","reason":"did not finish"}`, `{"type":"system","subtype":"task_updated","task_id":"b","patch":{"status":"killed"}}`, noTasks, idleLine},
			[]string{runsServer, turn, `{"type":"progress","message":"waits for command \"npm run dev\"","stage":"wait"}`, `> {"request":{"subtype":"stop_task","task_id":"b"},"request_id":"t1","type":"control_request"}`,
				`{"type":"progress","message":"command \"npm run dev\" stopped","stage":"task","task":{"id":"b","kind":"command","name":"npm run dev","state":"stopped"}}`,
				`{"type":"result","text":"Started.","tasks":[{"id":"b","kind":"command","name":"npm run dev","state":"stopped"}]}`}},
		{"a turn fails", "", []string{promptLine, readLine, tasksLine(helper), `{"type":"result","subtype":"error_during_execution","errors":["broken"]` + mine + `}`, stopped, noTasks, resultLine("Stopped.", byHelper), idleLine},
			[]string{starts, `{"type":"progress","message":"broken","stage":"turn","waits":true}`, waits, `> {"request":{"subtype":"stop_task","task_id":"a"},"request_id":"t1","type":"control_request"}`, isStopped, `{"type":"progress","message":"Stopped.","stage":"turn","waits":true}`,
				`{"type":"error","message":"broken","code":"error_during_execution","tasks":[{"id":"a","kind":"agent","name":"helper","state":"stopped","summary":"helper"}]}`}},
		{"the exchange is cancelled in its turn", "", []string{promptLine, readLine, initLine, tasksLine(helper), `> {"type":"cancel","reason":"lost a race"}`, stopped, noTasks, `{"type":"result","subtype":"error_during_execution","errors":["e"]` + mine + `}`, idleLine},
			[]string{starts, `> {"request":{"subtype":"stop_task","task_id":"a"},"request_id":"t1","type":"control_request"}`, `> {"request":{"cancel_queued":true,"subtype":"interrupt"},"request_id":"c1","type":"control_request"}`, isStopped,
				`{"type":"progress","message":"e","stage":"turn","waits":true}`, `{"type":"error","message":"e","code":"error_during_execution","tasks":[{"id":"a","kind":"agent","name":"helper","state":"stopped","summary":"helper"}]}`}},
		{"the exchange is cancelled while it waits", "", []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), `> {"type":"cancel","reason":"lost a race"}`},
			[]string{starts, turn, waits, `> {"request":{"subtype":"stop_task","task_id":"a"},"request_id":"t1","type":"control_request"}`}},
		{"the program interrupts the turn", "", []string{promptLine, readLine, initLine, tasksLine(helper), `> {"type":"cancel","reason":"interrupted"}`, `{"type":"result","subtype":"error_during_execution","errors":["e"]` + mine + `}`},
			[]string{starts, `> {"request":{"subtype":"interrupt"},"request_id":"c1","type":"control_request"}`,
				`{"type":"error","message":"e","code":"error_during_execution","tasks":[{"id":"a","kind":"agent","name":"helper","state":"running"}]}`}},
		{"a request of the turn is withdrawn, one of a task stays", "", []string{promptLine, readLine, tasksLine(helper), `{"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Read","input":{}}}`,
			`{"type":"control_request","request_id":"q2","request":{"subtype":"can_use_tool","tool_name":"Read","input":{},"agent_id":"a"}}`, resultLine("Started.", mine), `> {"type":"response","answer_to":"q2","value":"yes"}`},
			[]string{starts, `{"type":"approval","id":"q1","description":"Read","risk_level":"low","tool":"Read","kind":"read","args":{},"options":["once","deny"]}`,
				`{"type":"approval","id":"q2","description":"Read","risk_level":"low","tool":"Read","kind":"read","args":{},"options":["once","deny"],"agent":{"id":"a","name":"helper"}}`,
				`{"type":"withdraw","id":"q1"}`, turn, waits,
				`> {"response":{"request_id":"q2","response":{"behavior":"allow","updatedInput":{}},"subtype":"success"},"type":"control_response"}`}},
		{"a message while the exchange waits begins a turn", "", []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), noTasks, `> {"type":"steer","id":"t1","text":"also"}`, idleLine, `{"type":"command_lifecycle","command_uuid":"U2","state":"started"}`, `{"type":"user","isReplay":true,"uuid":"U2","message":{"content":"also"}}`, resultLine("Both.", second), idleLine},
			[]string{starts, turn, waits, `{"type":"progress","message":"agent \"helper\" completed","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"completed"}}`, "> user",
				`{"type":"progress","message":"Both.","stage":"turn","waits":true}`, `{"type":"result","text":"Both.","tasks":[{"id":"a","kind":"agent","name":"helper","state":"completed"}]}`}},
		{"forbidden", BackgroundForbid, []string{promptLine, readLine, tasksLine(helper, `{"task_id":"w","task_type":"monitor","ambient":true}`), tasksLine(helper, server), noTasks, resultLine("mine", mine), promptLine, resultLine("mine", second)},
			[]string{starts, `> {"request":{"subtype":"stop_task","task_id":"a"},"request_id":"t1","type":"control_request"}`, runsServer, `> {"request":{"subtype":"stop_task","task_id":"b"},"request_id":"t2","type":"control_request"}`,
				`{"type":"progress","message":"agent \"helper\" stopped","stage":"task","task":{"id":"a","kind":"agent","name":"helper","state":"stopped"}}`, `{"type":"progress","message":"command \"npm run dev\" stopped","stage":"task","task":{"id":"b","kind":"command","name":"npm run dev","state":"stopped"}}`,
				`{"type":"error","message":"host 'H' started background work, which was stopped: agent \"helper\", command \"npm run dev\"","code":"background","tasks":[{"id":"a","kind":"agent","name":"helper","state":"stopped"},{"id":"b","kind":"command","name":"npm run dev","state":"stopped"}]}`,
				"> user", `{"type":"result","text":"mine"}`}},
		{"detached", BackgroundDetach, []string{promptLine, readLine, tasksLine(helper), resultLine("Started.", mine), ended, noTasks, initLine, resultLine("Two faults.", byHelper), idleLine, promptLine, `{"type":"command_lifecycle","command_uuid":"U2","state":"started"}`, resultLine("next", second)},
			[]string{starts, `{"type":"result","text":"Started.","tasks":[{"id":"a","kind":"agent","name":"helper","state":"running"}]}`, `{"type":"progress","message":"Two faults.","stage":"turn","foreign":true}`, "> user", `{"type":"result","text":"next"}`}},
	} {
		ids := strings.NewReplacer("U1", messageUUID("s", 1), "U2", messageUUID("s", 2))
		a := newClaude(Config{Host: "H", Seed: "s", Background: c.background})
		var got []string
		for i, line := range c.lines {
			for _, l := range talked(t, a, ids.Replace(line)) {
				switch {
				case strings.HasPrefix(l, "quiet "), strings.Contains(l, `"stage":"start"`), i == 0 && strings.HasPrefix(l, "> "):
				case strings.Contains(l, `"type":"user"`):
					got = append(got, "> user")
				default:
					l, _, _ = strings.Cut(l, " + payload")
					got = append(got, strings.TrimRight(l, "}"))
				}
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

// TestManyClaudeTasks checks that a list of 10,000 tasks is handled, that a message names only some
// of them, and that each is stopped once.
func TestManyClaudeTasks(t *testing.T) {
	var all []string
	for i := range 10_000 {
		all = append(all, fmt.Sprintf(`{"task_id":"t%d","task_type":"local_agent","description":"d"}`, i))
	}
	a := newClaude(Config{Host: "H", Seed: "s"})
	uuid := strings.NewReplacer("U1", messageUUID("s", 1))
	got := talked(t, a, promptLine, uuid.Replace(readLine), tasksLine(all...), tasksLine(all...), uuid.Replace(resultLine("x", `,"user_message_uuids":["U1"]`)))
	if last := got[len(got)-1]; !strings.Contains(last, `waits for agent \"d\", agent \"d\", agent \"d\", agent \"d\", agent \"d\" and 9995 more`) {
		t.Errorf("the exchange waits: %s", last)
	}
	if n := len(a.ToAgent(Stop("w")).Lines); n != 10_000 {
		t.Errorf("%d tasks are stopped, want 10000", n)
	}
	if n := len(a.ToAgent(Stop("w")).Lines); n != 0 {
		t.Errorf("%d tasks are stopped again", n)
	}
	if end := a.FromAgent([]byte(noTasks)); len(end.Messages) != 10_000 || len(a.Work().Tasks) != 0 {
		t.Errorf("%d messages about ends, %d tasks are left", len(end.Messages), len(a.Work().Tasks))
	}
}
