package adapter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// taskModel is a model of Claude Code 2.1.332 with background tasks, in the order in which it sends
// its messages: it begins a turn for each subagent that has ended, and is idle when nothing but
// commands is at work.
type taskModel struct {
	r     *rand.Rand
	queue []string // UUIDs of the messages that it has not read
	ended []string // runs of subagents for which no turn has begun
	tasks []string // in its list; those of commands begin with "c"
	turn  bool     // a turn is running
	mine  []string // UUIDs of the messages of the turn
	run   string   // run of the task that has begun the turn; "" for none
	idle  bool     // it has reported that it is idle
	open  map[string]string
	count int

	text    string // of the last turn
	started int    // number of tasks of the exchange
	answers map[string]int
}

func (m *taskModel) is(n int) bool { return m.r.IntN(n) == 0 }

func (m *taskModel) next(prefix string) string {
	m.count++
	return fmt.Sprintf("%s%d", prefix, m.count)
}

// list returns the list of tasks.
func (m *taskModel) list() string {
	var all []string
	for _, id := range m.tasks {
		kind := "local_agent"
		if id[0] == 'c' {
			kind = "local_bash"
		}
		all = append(all, fmt.Sprintf(`{"task_id":%q,"run_id":"run-%s","task_type":%q,"description":"d"}`, id, id, kind))
	}
	return tasksLine(all...)
}

// endTask ends a task. A turn follows unless a command was stopped.
func (m *taskModel) endTask(id, status string) (out []string) {
	m.tasks = slices.DeleteFunc(m.tasks, func(x string) bool { return x == id })
	for q, agent := range m.open {
		if agent == id {
			delete(m.open, q)
			out = append(out, fmt.Sprintf(`{"type":"control_cancel_request","request_id":%q}`, q))
		}
	}
	if id[0] != 'c' || status != "stopped" {
		m.ended = append(m.ended, id)
	}
	m.idle = false
	return append(out, fmt.Sprintf(`{"type":"system","subtype":"task_notification","task_id":%q,"status":%q,"summary":"s"}`, id, status), m.list())
}

// endTurn ends the running turn.
func (m *taskModel) endTurn(subtype string) string {
	m.text = m.next("text-")
	members := fmt.Sprintf(`"origin":{"kind":"task-notification","runId":"run-%s"}`, m.run)
	if m.run == "" {
		ids, _ := json.Marshal(m.mine)
		members = `"user_message_uuids":` + string(ids)
	}
	for q, agent := range m.open {
		if agent == "" {
			delete(m.open, q)
		}
	}
	m.turn, m.mine, m.run = false, nil, ""
	return fmt.Sprintf(`{"type":"result","subtype":%q,"result":%q,%s}`, subtype, m.text, members)
}

// receive handles a line of Concerto.
func (m *taskModel) receive(t *testing.T, line []byte) (out []string) {
	var x struct {
		Type, UUID string
		RequestID  string `json:"request_id"`
		Request    struct {
			Subtype string
			Task    string `json:"task_id"`
			Queued  bool   `json:"cancel_queued"`
		}
		Response struct {
			ID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(line, &x); err != nil {
		t.Fatal(err)
	}
	confirmed := fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, x.RequestID)
	switch {
	case x.Type == "user":
		m.queue = append(m.queue, x.UUID)
		m.idle = false
		return []string{lifecycle(x.UUID, "queued")}
	case x.Type == "control_response":
		m.answers[x.Response.ID]++
		delete(m.open, x.Response.ID)
	case x.Request.Subtype == "stop_task":
		if slices.Contains(m.tasks, x.Request.Task) {
			out = m.endTask(x.Request.Task, "stopped")
		}
		return append(out, confirmed)
	case x.Request.Subtype == "interrupt":
		if x.Request.Queued {
			for _, id := range m.queue {
				out = append(out, lifecycle(id, "cancelled"))
			}
			m.queue = nil
		}
		if m.turn {
			out = append(out, m.endTurn("error_during_execution"))
		}
		return append(out, confirmed)
	}
	return []string{confirmed}
}

// asks returns a request of a subagent, or of the turn if agent is "".
func (m *taskModel) asks(agent string) []string {
	id := m.next("q")
	m.open[id] = agent
	return []string{fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"agent_id":%q}}`, id, agent)}
}

// step lets the model work.
func (m *taskModel) step() []string {
	begin := func(lines ...string) []string {
		m.turn, m.idle = true, false
		return append([]string{runsLine, initLine}, lines...)
	}
	at := slices.IndexFunc(m.tasks, func(id string) bool { return id[0] != 'c' })
	switch {
	case len(m.tasks) > 0 && m.is(6):
		return m.endTask(m.tasks[m.r.IntN(len(m.tasks))], "completed")
	case at >= 0 && m.is(4):
		return m.asks(m.tasks[at])
	case m.turn && m.is(4):
		m.started++
		m.tasks = append(m.tasks, m.next([]string{"a", "c"}[m.r.IntN(2)]))
		return []string{m.list()}
	case m.turn && m.is(4):
		return m.asks("")
	case m.turn:
		return []string{m.endTurn("success")}
	case len(m.queue) > 0:
		m.mine, m.queue = m.queue, nil
		var lines []string
		for _, id := range m.mine {
			lines = append(lines, lifecycle(id, "started"), fmt.Sprintf(`{"type":"user","isReplay":true,"uuid":%q,"message":{"role":"user","content":"x"}}`, id))
		}
		return begin(lines...)
	case len(m.ended) > 0:
		m.run, m.ended = m.ended[0], m.ended[1:]
		return begin()
	case at < 0 && !m.idle:
		m.idle = true
		return []string{idleLine}
	}
	return nil
}

// TestBackgroundSchedules lets turns, tasks, requests, answers, messages, cancellations and time
// limits interleave, with a model of Claude Code. An exchange that succeeds has no task, turn or
// request left, its text is that of its last turn, and it lists each of its tasks. Each exchange
// ends once, and each request has one answer or was withdrawn.
func TestBackgroundSchedules(t *testing.T) {
	randtest.Run(t, "runtime/host/adapter", 10_000, func(seed uint64) string { return "" }, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newClaude(Config{Host: "H", Seed: "s"})
		m := &taskModel{r: r, open: map[string]string{}, answers: map[string]int{}, idle: true}
		var lines, log, waiting []string
		failf := func(format string, args ...any) {
			t.Helper()
			t.Fatalf(format+"\n%s", append(args, strings.Join(log, "\n"))...)
		}
		send := func(line string) {
			log = append(log, "> "+line)
			for _, l := range c.ToAgent([]byte(line)).Lines {
				lines = append(lines, m.receive(t, l)...)
			}
		}
		ended, fails := false, false
		read := func() {
			line := lines[0]
			lines = lines[1:]
			log = append(log, line)
			s := c.FromAgent([]byte(line))
			for _, l := range s.Lines {
				lines = append(lines, m.receive(t, l)...)
			}
			for _, text := range s.Messages {
				var x struct {
					Type, Text, ID, Message string
					Tasks                   []struct{ State string }
				}
				if err := json.Unmarshal(text, &x); err != nil {
					t.Fatal(err)
				}
				log = append(log, "  "+string(text))
				switch x.Type {
				case "approval":
					waiting = append(waiting, x.ID)
				case "withdraw":
					waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == x.ID })
				case "error":
					if !fails {
						failf("the exchange has failed: %s", x.Message)
					}
				case "result":
					switch {
					case c.BeginsTurn():
						return
					case len(m.tasks) > 0 || m.turn || len(m.ended) > 0 || slices.ContainsFunc(lines, func(l string) bool { return l != idleLine && !strings.Contains(l, "control_response") }):
						failf("the exchange has ended before its work: tasks %v, turn %v, lines %v", m.tasks, m.turn, lines)
					case len(m.open) > 0:
						failf("requests are open: %v", m.open)
					case x.Text != m.text && !fails:
						failf("the result is %q, want %q", x.Text, m.text)
					case len(x.Tasks) != m.started && !fails:
						failf("the result has %d tasks, want %d", len(x.Tasks), m.started)
					}
				}
				if x.Type == "error" || x.Type == "result" {
					if ended {
						failf("the exchange has ended twice")
					}
					ended = true
				}
			}
		}
		for range 4 {
			ended, fails, m.started = false, false, 0
			send(`{"type":"prompt","text":"x"}`)
			for n := 0; !ended; n++ {
				if n == 3000 {
					failf("the exchange does not end")
				}
				waits, _ := c.Settles()
				switch k := r.IntN(40); {
				case k < 16 && len(lines) > 0:
					read()
				case k < 28:
					lines = append(lines, m.step()...)
				case k < 34 && len(waiting) > 0:
					send(`{"type":"response","answer_to":"` + waiting[0] + `","value":"yes"}`)
					waiting = waiting[1:]
				case k == 34 && n < 300 && waits:
					send(`{"type":"steer","id":"t","text":"y"}`)
				case k == 35 && waits && !m.turn && len(m.ended)+len(m.queue) == 0: // it is silent
					send(`{"type":"poll"}`)
				case k == 36 && m.is(8) && waits:
					fails = true
					send(string(Stop("w")))
				case k == 37 && m.is(20):
					fails = true
					send(`{"type":"cancel","reason":"cancelled"}`)
				}
			}
			for len(lines) > 0 {
				read()
			}
			if len(c.Work().Tasks) > 0 || m.turn || len(m.ended) > 0 || len(m.queue) > 0 {
				break // the process is ended
			}
		}
		for id, n := range m.answers {
			if n > 1 {
				failf("request %s has %d answers", id, n)
			}
		}
	})
}
