package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// claudeModel is a simple model of Claude Code, of the version whose results have UUIDs: it works
// on one turn at a time, begins turns of its own, and answers to messages in any order.
type claudeModel struct {
	r      *rand.Rand
	queue  []string        // UUIDs of the messages that it has not read
	turn   []string        // UUIDs of the messages of the running turn; nil for none
	own    bool            // the running turn is one of its own
	texts  int             // number of turns so far
	open   map[string]bool // requests without an answer
	asked  int
	answer map[string]int // number of answers, by request
}

func (m *claudeModel) is(n int) bool { return m.r.IntN(n) == 0 }

// receive handles a line of Concerto.
func (m *claudeModel) receive(t *testing.T, line []byte) (out []string) {
	var x struct {
		Type, UUID string
		Request    struct {
			Subtype string
			Queued  bool `json:"cancel_queued"`
		}
		Response struct {
			ID string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(line, &x); err != nil {
		t.Fatal(err)
	}
	switch {
	case x.Type == "user":
		m.queue = append(m.queue, x.UUID)
		out = append(out, lifecycle(x.UUID, "queued"))
	case x.Type == "control_response":
		m.answer[x.Response.ID]++
		delete(m.open, x.Response.ID)
		if m.is(2) {
			out = append(out, fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q}}`, x.Response.ID))
		}
	case x.Request.Subtype == "interrupt":
		if x.Request.Queued {
			for _, id := range m.queue {
				out = append(out, lifecycle(id, "cancelled"))
			}
			m.queue = nil
		}
		if m.turn != nil || m.own {
			out = append(out, m.end("error_during_execution"))
		}
	}
	return out
}

func lifecycle(id, state string) string {
	return fmt.Sprintf(`{"type":"command_lifecycle","command_uuid":%q,"state":%q}`, id, state)
}

// end ends the running turn.
func (m *claudeModel) end(subtype string) string {
	members := `"origin":{"kind":"task-notification"}`
	if !m.own {
		ids, _ := json.Marshal(m.turn)
		members = `"user_message_uuids":` + string(ids)
	}
	text := strings.Join(m.turn, " ")
	if m.own {
		text = "own"
	}
	m.turn, m.own = nil, false
	clear(m.open)
	return fmt.Sprintf(`{"type":"result","subtype":%q,"result":%q,%s}`, subtype, text, members)
}

// step lets the model work.
func (m *claudeModel) step() []string {
	begins := `{"type":"system","subtype":"init","model":"M"}`
	working := m.own || m.turn != nil
	switch {
	case !working && m.is(3):
		m.own = true
		return []string{begins}
	case !working && len(m.queue) > 0:
		n := 1 + m.r.IntN(len(m.queue))
		m.turn, m.queue = m.queue[:n:n], m.queue[n:]
		out := []string{begins}
		for _, id := range m.turn {
			out = append(out, fmt.Sprintf(`{"type":"user","isReplay":true,"uuid":%q,"message":{"role":"user","content":"x"}}`, id), lifecycle(id, "started"))
		}
		return out
	case m.is(4) || !working:
		m.asked++
		id := fmt.Sprintf("q%d", m.asked)
		m.open[id] = true
		lines := []string{fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`, id)}
		if m.is(5) {
			lines = append(lines, lines[0])
		}
		return lines
	case len(m.open) > 0 && m.is(3):
		id := slices.Min(slices.Collect(maps.Keys(m.open)))
		delete(m.open, id)
		return []string{fmt.Sprintf(`{"type":"control_cancel_request","request_id":%q}`, id)}
	case m.is(2):
		text := "own"
		if !m.own {
			text = "mine"
		}
		m.texts++
		return []string{fmt.Sprintf(`{"type":"assistant","message":{"id":"m%d","content":[{"type":"text","text":%q}]}}`, m.texts, text)}
	}
	return []string{m.end("success")}
}

// TestClaudeSchedules lets prompts, messages, interrupts, answers, requests and turns of the
// agent's own interleave. Each exchange must end once, by a turn with one of its messages or
// because it was interrupted; no text of another turn may be in it; and each request must have one
// answer unless its turn has ended.
func TestClaudeSchedules(t *testing.T) {
	randtest.Run(t, "runtime/host/adapter", 2000, func(seed uint64) string { return "" }, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		c := newClaude(Config{Host: "H", Seed: "s"})
		m := &claudeModel{r: r, open: map[string]bool{}, answer: map[string]int{}}
		var lines []string // that Claude Code has sent and Concerto has not read
		var log []string
		var waiting []string // requests that the program must answer
		mine, interrupted := map[string]bool{}, false
		failf := func(format string, args ...any) {
			t.Helper()
			t.Fatalf(format+"\n%s", append(args, strings.Join(log, "\n"))...)
		}
		ended := true
		send := func(line string) {
			log = append(log, "> "+line)
			for _, l := range c.ToAgent([]byte(line)).Lines {
				var x struct{ UUID string }
				if json.Unmarshal(l, &x) == nil && x.UUID != "" {
					mine[x.UUID] = true
				}
				lines = append(lines, m.receive(t, l)...)
			}
		}
		read := func() {
			line := lines[0]
			lines = lines[1:]
			log = append(log, line)
			s := c.FromAgent([]byte(line))
			for _, l := range s.Lines {
				lines = append(lines, m.receive(t, l)...)
			}
			for _, text := range s.Messages {
				var x struct{ Type, Text, ID string }
				if err := json.Unmarshal(text, &x); err != nil {
					t.Fatal(err)
				}
				switch {
				case x.Type == "approval":
					waiting = append(waiting, x.ID)
				case x.Type == "withdraw":
					waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == x.ID })
				case x.Type == "partial" && x.Text != "mine" && !ended:
					failf("a text of another turn: %s", text)
				case (x.Type == "error" || x.Type == "result") && ended && !interrupted:
					failf("the exchange has ended twice: %s", text)
				case x.Type == "error" && !interrupted:
					failf("the exchange has failed: %s", text)
				case x.Type == "result" && !slices.ContainsFunc(strings.Fields(x.Text), func(id string) bool { return mine[id] }):
					failf("the result of another turn: %s", text)
				}
				ended = ended || x.Type == "error" || x.Type == "result" && (interrupted || !c.BeginsTurn())
			}
		}
		for range 8 {
			mine, interrupted, ended = map[string]bool{}, false, false
			send(`{"type":"prompt","text":"x"}`)
			for n := 0; !ended; n++ {
				if n == 2000 && interrupted { // its messages were cancelled between two turns; after cancel_grace, the process is ended
					return
				}
				if n == 2000 {
					failf("the exchange does not end")
				}
				switch k := r.IntN(12); {
				case k < 5 && len(lines) > 0:
					read()
				case k < 9:
					lines = append(lines, m.step()...)
				case k == 9 && n < 200 && !interrupted:
					send(`{"type":"steer","id":"t","text":"y"}`)
				case k == 10 && len(waiting) > 0:
					send(`{"type":"response","answer_to":"` + waiting[0] + `","value":"yes"}`)
					waiting = waiting[1:]
				case k == 11 && !interrupted && m.is(10):
					interrupted = true
					send(`{"type":"cancel","reason":"cancelled"}`)
				}
			}
			for len(lines) > 0 {
				read()
			}
			if c.BeginsTurn() || interrupted && (m.own || m.turn != nil) {
				break // the process is ended
			}
		}
		for id := range m.open {
			if !slices.Contains(waiting, id) && len(lines) == 0 {
				failf("request %s has no answer", id)
			}
		}
		for id, n := range m.answer {
			if n > 1 {
				failf("request %s has %d answers", id, n)
			}
		}
	})
}
