package eventstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/testkit/testevents"
	"github.com/concerto-lang/concerto/vm"
)

// collect calls play with a run, and returns the tree of its items as indented lines, in the order
// in which they began.
func collect(t *testing.T, secrets *secret.Set, play func(*testevents.Run)) []string {
	t.Helper()
	var order []int64
	type shown struct {
		begin, end *event.Event
	}
	items := map[int64]*shown{}
	last := int64(0)
	sink := event.Sink{Shows: map[event.Kind]func(*event.Event){}, Places: true}
	for _, row := range event.Table() {
		sink.Shows[row.Kind] = func(e *event.Event) {
			if e.Number <= last {
				t.Errorf("event %d follows event %d", e.Number, last)
			}
			last = e.Number
			x := *e
			switch i := items[e.Item]; {
			case e.Phase == event.End:
				if i == nil || i.end != nil || i.begin.Kind != e.Kind || i.begin.At != e.Began || i.begin.Parent != e.Parent {
					t.Errorf("the end of %s %s does not match its begin", e.Kind, e.Name)
					return
				}
				i.end = &x
			case i != nil:
				t.Errorf("item %d begins twice", e.Item)
			default:
				items[e.Item] = &shown{begin: &x}
				order = append(order, e.Item)
				if e.Phase == event.Point != row.Instant {
					t.Errorf("%s has the phase %d", e.Kind, e.Phase)
				}
				if e.Phase == event.Point {
					items[e.Item].end = &x
				}
			}
		}
	}
	r := testevents.New(secrets, sink)
	play(r)
	var lines []string
	var list func(parent int64, indent string)
	list = func(parent int64, indent string) {
		for _, n := range order {
			if x := items[n]; x.begin.Parent == parent {
				lines = append(lines, indent+describe(x.begin, x.end))
				list(n, indent+"  ")
			}
		}
	}
	list(0, "")
	if len(lines) != len(order) {
		t.Errorf("%d of %d items have a parent", len(lines), len(order))
	}
	return lines
}

// describe returns an item as text. end is its last event; nil if it is open.
func describe(begin, end *event.Event) string {
	line := string(begin.Kind)
	if begin.Name != "" {
		line += " " + begin.Name
	}
	if begin.Stage != "" {
		line += " in " + begin.Stage
	}
	switch {
	case end == nil:
		line += ": open"
	case end.Err != nil:
		line += ": " + end.Err.Error()
	case end.How != "":
		line += ": " + end.How
	}
	return line
}

func check(t *testing.T, got []string, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), got); diff != "" {
		t.Errorf("items differ (-want +got):\n%s", diff)
	}
}

// at returns the calls of a task that calls an agent at a line of its program, from within the
// library.
func at(line int) []vm.Place {
	return []vm.Place{{Function: "__converse", File: "agent.conc", Line: 90}, {Function: "Agent.execute", File: "agent.conc", Line: 9},
		{Function: "main", File: "main.conc", Text: "fn main", Line: line, Column: 3}}
}

// askModel plays a request to a model with one attempt.
func askModel(r *testevents.Run, task int64, agent string, reply *effect.AgentReply, err error) {
	q := &effect.AgentCall{Agent: agent, Connection: "c", Model: "m"}
	came := r.Request(task, q)
	a := func() *event.Attempt { return &event.Attempt{Call: q, Connection: "c", Model: "m", Number: 1, Of: 1} }
	r.ReportAttempt(event.Model, event.Begin, a(), nil)
	end := a()
	end.Reply = reply
	r.ReportAttempt(event.Model, event.End, end, err)
	r.CallEnded(q)
	if err != nil {
		came(nil, err)
		return
	}
	came(reply, nil)
}

// TestAgentCalls checks which requests belong to a call of an agent, and what its tools cause.
func TestAgentCalls(t *testing.T) {
	tools := &effect.AgentReply{ToolCalls: []effect.ToolCall{{ID: "1", Name: "search"}, {ID: "2", Name: "ask"}}}
	text := &effect.AgentReply{Text: "done"}
	got := collect(t, nil, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main"})
		r.At(1, at(5)...)
		askModel(r, 1, "A", tools, nil)
		r.TaskBegan(2, 1, vm.Place{Function: "search"}) // the tools of a round have their own tasks
		r.Perform(2, &effect.Step{What: effect.StepToolCall, By: "A", Tool: "search", ID: "1"}, nil, nil)
		r.Perform(2, &effect.HTTP{Method: "GET"}, &effect.HTTPResponse{}, nil)
		r.Perform(2, &effect.Step{What: effect.StepToolResult, By: "A", Tool: "search", ID: "1", Text: "nothing", Failed: true}, nil, nil)
		r.TaskEnded(2, "")
		r.TaskBegan(3, 1, vm.Place{Function: "ask"})
		r.Perform(3, &effect.Step{What: effect.StepToolCall, By: "A", Tool: "ask", ID: "2"}, nil, nil)
		r.At(3, at(20)...)
		askModel(r, 3, "B", text, nil) // an agent that is called by a tool
		r.Perform(3, &effect.Step{What: effect.StepToolResult, By: "A", Tool: "ask", ID: "2", Text: "yes"}, nil, nil)
		r.TaskEnded(3, "")
		askModel(r, 1, "A", text, nil)
		r.Perform(1, &effect.Step{What: effect.StepRepair, By: "A", Attempt: 2, Of: 3}, nil, nil)
		askModel(r, 1, "A", text, nil)
		r.Perform(1, &effect.MemoryAppend{}, nil, nil) // still within the call
		askModel(r, 1, "A", text, nil)                 // a loop calls the agent again at the same place
		r.At(1, at(6)...)
		r.TaskBegan(4, 1, vm.Place{Function: "later"}) // the call has ended
		r.TaskEnded(4, "")
		askModel(r, 1, "A", tools, nil)
		r.At(1, vm.Place{Function: "main", File: "main.conc", Text: "fn main", Line: 7})
		r.Perform(1, &effect.Print{}, nil, nil) // the agent's method has returned with an error
		r.TaskEnded(1, "")
	})
	check(t, got, `
run main
  agent A
    request agent.call
    model A
    task search
      tool search: nothing
        http GET
    task ask
      tool ask
        agent B
          request agent.call
          model B
    request agent.call
    model A
    repair A
    request agent.call
    model A
    store
  agent A
    request agent.call
    model A
  task later
  agent A
    request agent.call
    model A
  print print
`)
}

// TestExchanges checks that what a handler does belongs to the message that it handles.
func TestExchanges(t *testing.T) {
	message := func(line string) effect.HostMessage {
		typ, id, payload, err := value.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: []byte(line)}
	}
	messages := func(lines ...string) *effect.ExchangeMessages {
		m := &effect.ExchangeMessages{}
		for _, l := range lines {
			m.Messages = append(m.Messages, message(l))
		}
		return m
	}
	handler := func(typ string, n uint32) vm.Span {
		return vm.Span{Kind: vm.SpanHandler, Name: typ, Exchange: 7, Message: n}
	}
	got := collect(t, nil, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main"})
		r.Perform(1, &effect.ExchangeOpen{Host: "H"}, &effect.ExchangeOpened{ID: 7}, nil)
		r.Entered(1, vm.Span{Kind: vm.SpanListen, Name: "H", Exchange: 7})
		r.Perform(1, &effect.ExchangeNext{ID: 7}, messages(`{"type":"progress","message":"1"}`, `{"type":"progress","message":"2"}`,
			`{"type":"question","id":1,"question":"a?"}`, `{"type":"approval","id":"b","description":"rm"}`, `{"type":"question","id":3,"question":"c?"}`), nil)
		r.Entered(1, handler("progress", 1))
		r.Perform(1, &effect.Print{}, nil, nil)
		r.Left(1)
		r.Entered(1, handler("progress", 2))
		r.Perform(1, &effect.Emit{Channel: "seen"}, nil, nil)
		r.Left(1)
		r.Entered(1, handler("question", 3))
		r.At(1, at(5)...)
		askModel(r, 1, "A", &effect.AgentReply{Text: "yes"}, nil)
		r.Left(1)
		r.Perform(1, &effect.ExchangeReply{ID: 7, InReplyTo: "question", AnswerTo: "1", Value: []byte(`"yes"`)}, nil, effect.ErrWaits)
		r.Perform(1, &effect.ExchangeReply{ID: 7, InReplyTo: "question", AnswerTo: "1", Value: []byte(`"yes"`)}, nil, nil)
		r.Perform(1, &effect.ExchangeNext{ID: 7}, messages(`{"type":"withdraw","id":"b"}`, `{"type":"error","message":"no more"}`), nil)
		r.Perform(1, &effect.ExchangeClose{ID: 7}, nil, nil)
		r.Left(1)
		r.Perform(1, &effect.ExchangeOpen{Host: "H"}, nil, effect.Errorf("HostError", "not found"))
		r.TaskEnded(1, "HostError")
		r.Close(errors.New("it failed"))
		r.TaskBegan(9, 0, vm.Place{}) // no event follows the end
	})
	check(t, got, `
run main: HostError
  request exchange.open
  exchange H: no more
    listen H
    request exchange.next
    message progress
      handler progress
      print print
    message progress
      handler progress
      emit seen
    question question
      handler question
      agent A
        request agent.call
        model A
    approval approval: withdrawn by the host
    question question: cancelled
    request exchange.reply: open
    request exchange.reply
    request exchange.next
    request exchange.close
  request exchange.open: not found
  exchange H: not found
  error cancelled: it failed
`)
}

// TestManyMessages checks that a Stream finds the message of a handler also after many messages
// that no handler handled.
func TestManyMessages(t *testing.T) {
	var parent, last int64
	sink := event.Sink{Shows: map[event.Kind]func(*event.Event){}}
	for _, row := range event.Table() {
		sink.Shows[row.Kind] = func(e *event.Event) {
			switch {
			case e.Kind == event.Message:
				last = e.Item
			case e.Kind == event.Handler && e.Phase == event.Begin:
				parent = e.Parent
			}
		}
	}
	r := testevents.New(nil, sink)
	r.TaskBegan(1, 0, vm.Place{})
	r.Perform(1, &effect.ExchangeOpen{Host: "H"}, &effect.ExchangeOpened{ID: 7}, nil)
	batch := &effect.ExchangeMessages{}
	for range 250 {
		batch.Messages = append(batch.Messages, effect.HostMessage{Type: "log", Payload: value.NewMap(0).Slot()})
	}
	for n := uint32(1); n <= 400; n++ {
		r.Perform(1, &effect.ExchangeNext{ID: 7}, batch, nil)
		r.Entered(1, vm.Span{Kind: vm.SpanHandler, Name: "log", Exchange: 7, Message: n * 250})
		r.Left(1)
		if parent != last {
			t.Fatalf("the handler of message %d belongs to item %d, want %d", n*250, parent, last)
		}
	}
}

// TestPipelines checks the stages of pipelines, and that the end of a task ends what is open.
func TestPipelines(t *testing.T) {
	emit := func(r *testevents.Run, channel, payload string) {
		r.Perform(1, &effect.Emit{Channel: "pipeline:" + channel, Payload: json.RawMessage(payload)}, nil, nil)
	}
	got := collect(t, nil, func(r *testevents.Run) {
		r.TaskBegan(1, 0, vm.Place{Function: "main"})
		emit(r, "start", `{"name":"P"}`)
		emit(r, "stage_start", `{"name":"P","stage":"one"}`)
		r.TaskBegan(2, 1, vm.Place{Function: "part"})
		emit(r, "stage_complete", `{"name":"P","stage":"one"}`)
		r.Perform(2, &effect.MCPOpen{Server: "s", Tool: "find"}, &effect.MCPOpened{ID: 1}, nil)
		r.Perform(2, &effect.MCPNext{ID: 1}, &effect.MCPEvent{Kind: "progress"}, nil)
		r.Perform(2, &effect.MCPNext{ID: 1}, nil, effect.Errorf("ToolError", "not found"))
		emit(r, "stage_start", `{"name":"P","stage":"two"}`)
		emit(r, "error", `{"name":"P","stage":"two","error":"no"}`)
		emit(r, "start", `{"name":"Q"}`)
		emit(r, "stage_start", `{"name":"Q","stage":"one"}`)
		emit(r, "complete", `"the program's own"`)
		r.TaskEnded(1, "cancelled")
	})
	check(t, got, `
run main: cancelled
  emit pipeline:start
  pipeline P: no
    emit pipeline:stage_start
    stage P/one in P/one
      task part in P/one: open
        request mcp.open in P/one
        mcp find in P/one: not found
        request mcp.next in P/one
        request mcp.next in P/one: not found
      emit pipeline:stage_complete in P/one
    emit pipeline:stage_start
    stage P/two in P/two: no
      emit pipeline:error in P/two
  emit pipeline:start
  pipeline Q
    emit pipeline:stage_start
    stage Q/one in Q/one
      emit pipeline:complete in Q/one
`)
}

// TestSecrets checks that no event contains a secret, wherever it occurs.
func TestSecrets(t *testing.T) {
	const text = `hunter2-"hunter2"`
	secrets := new(secret.Set)
	secrets.Add("KEY", text)
	var all []string
	sink := event.Sink{Shows: map[event.Kind]func(*event.Event){}}
	for _, row := range event.Table() {
		sink.Shows[row.Kind] = func(e *event.Event) {
			x := *e
			line, err := json.Marshal(x)
			if err != nil {
				t.Error(err)
			}
			all = append(all, string(line)+fmt.Sprint(e.Err))
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	r := testevents.New(secrets, sink)
	failed := effect.Errorf("HTTPError", "no access with %s", text).With("url", text)
	r.TaskBegan(1, 0, vm.Place{})
	r.Perform(1, &effect.HTTP{URL: text, Body: new(text)}, &effect.HTTPResponse{Body: text}, nil)
	r.Perform(1, &effect.HTTP{}, nil, failed)
	r.Perform(1, &effect.HTTP{}, nil, errors.New(text))
	askModel(r, 1, "A", &effect.AgentReply{Text: text}, nil)
	askModel(r, 1, "A", nil, failed)
	r.Perform(1, &effect.AgentCall{System: text}, nil, failed)
	r.Perform(1, &effect.ExchangeOpen{Prompt: text}, &effect.ExchangeOpened{ID: 1}, nil)
	payload := value.NewMap(1)
	payload.SetString("question", value.String(text))
	r.Perform(1, &effect.ExchangeNext{ID: 1}, &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: "question", ID: "1", Payload: payload.Slot(), Text: quoted}}}, nil)
	r.Perform(1, &effect.ExchangeReply{ID: 1, InReplyTo: "question", AnswerTo: "1", Value: quoted}, nil, nil)
	r.Perform(1, &effect.ExchangeClose{ID: 1, Reason: text}, nil, nil)
	r.Perform(1, &effect.Step{What: effect.StepToolCall, Tool: "t", Text: text}, nil, nil)
	r.Perform(1, &effect.Step{What: effect.StepToolResult, Tool: "t", Text: text, Failed: true}, nil, nil)
	r.Perform(1, &effect.Emit{Channel: "pipeline:start", Payload: []byte(`{"name":"P"}`)}, nil, nil)
	r.Perform(1, &effect.Emit{Channel: "pipeline:error", Payload: []byte(`{"name":"P","error":` + string(quoted) + `}`)}, nil, nil)
	r.Perform(1, &effect.MCPOpen{Args: quoted}, &effect.MCPOpened{ID: 1}, nil)
	r.Perform(1, &effect.MCPNext{ID: 1}, &effect.MCPEvent{Kind: effect.MCPResult, Text: text}, nil)
	r.TaskEnded(1, "HTTPError")
	r.Close(failed)
	for _, line := range all {
		if strings.Contains(line, "hunter2") {
			t.Errorf("the event contains the secret: %s", line)
		}
	}
	if n := strings.Count(strings.Join(all, ""), "***KEY***"); n < 20 {
		t.Errorf("the events contain the placeholder %d times, want it in place of each secret", n)
	}
}
