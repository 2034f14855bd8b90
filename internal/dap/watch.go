package dap

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// watched is what was heard of agents and hosts.
type watched struct {
	agents map[string]*heardAgent
	hosts  map[string]*heardHost
}

// heardAgent is an agent's last call, and what all have used.
type heardAgent struct {
	calls, in, out int64
	history        []effect.ChatMessage
}

// heardHost is a host's session.
type heardHost struct {
	session  string
	messages []string // the last of them
	pending  string   // the question that waits for an answer
}

// mostMessages is how many messages of a host are kept.
const mostMessages = 50

func (w *watched) agentOf(name string) *heardAgent {
	if w.agents == nil {
		w.agents = map[string]*heardAgent{}
	}
	if w.agents[name] == nil {
		w.agents[name] = &heardAgent{}
	}
	return w.agents[name]
}

func (w *watched) hostOf(name string) *heardHost {
	if w.hosts == nil {
		w.hosts = map[string]*heardHost{}
	}
	if w.hosts[name] == nil {
		w.hosts[name] = &heardHost{}
	}
	return w.hosts[name]
}

// agent are the children of an agent: history and usage.
func (w *watched) agent(name string) holder {
	a := w.agentOf(name)
	var history given
	for i, m := range a.history {
		history = append(history, child{name: "[" + strconv.Itoa(i) + "] " + m.Role, value: value.String(m.Content)})
	}
	usage := given{{name: "calls", value: value.Int(a.calls)}, {name: "input_tokens", value: value.Int(a.in)}, {name: "output_tokens", value: value.Int(a.out)}}
	return given{
		{name: "history", text: strconv.Itoa(len(history)) + " messages", inside: history},
		{name: "usage", text: strconv.FormatInt(a.calls, 10) + " calls", inside: usage},
	}
}

// host are the children of a host: session, the last messages and the pending question.
func (w *watched) host(name string) holder {
	h := w.hostOf(name)
	var messages given
	for i, m := range h.messages {
		messages = append(messages, child{name: "[" + strconv.Itoa(i) + "]", value: value.String(m)})
	}
	pending := value.Nil
	if h.pending != "" {
		pending = value.String(h.pending)
	}
	return given{
		{name: "session", value: value.String(h.session)},
		{name: "messages", text: strconv.Itoa(len(messages)) + " messages", inside: messages},
		{name: "pending", value: pending},
	}
}

// makes notes what is asked of an agent.
func (w *watched) makes(q effect.Request) {
	if q, is := q.(*effect.AgentCall); is {
		a := w.agentOf(q.Agent)
		a.calls++
		a.history = append([]effect.ChatMessage(nil), q.Messages...)
	}
}

// gave notes what an agent said.
func (w *watched) gave(q effect.Request, result effect.Result) {
	call, is := q.(*effect.AgentCall)
	reply, ok := result.(*effect.AgentReply)
	if !is || !ok {
		return
	}
	a := w.agentOf(call.Agent)
	a.in += reply.TokensIn
	a.out += reply.TokensOut
	a.history = append(a.history, effect.ChatMessage{Role: "assistant", Content: reply.Text})
}

// heard notes a message of a host that is handled.
func (w *watched) heard(host string, m *effect.HostMessage) {
	h := w.hostOf(host)
	text := m.Type + " " + value.Text(m.Payload)
	if h.messages = append(h.messages, text); len(h.messages) > mostMessages {
		h.messages = h.messages[1:]
	}
	if session := m.Session(); session != "" {
		h.session = session
	}
	if h.pending = ""; m.ID != "" {
		h.pending = text
	}
}
