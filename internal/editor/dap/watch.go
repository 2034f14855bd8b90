package dap

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// conversationLog records the conversations with agents and hosts.
type conversationLog struct {
	agents    map[string]*agentLog
	hosts     map[string]*hostLog
	exchanges map[int64]string // host names of the open exchanges, by exchange id
}

// agentLog contains the messages of an agent's last call and the total usage of all its calls.
type agentLog struct {
	calls, in, out int64
	history        []effect.ChatMessage
}

// hostLog contains the session, the last messages and the pending question of a host.
type hostLog struct {
	session  string
	messages []string // the last maxMessages messages
	pending  string   // the question that waits for an answer, or ""
	id       string   // id of the pending question as JSON; "" if it has none
}

// clearPending records that the host waits for no answer.
func (h *hostLog) clearPending() { h.pending, h.id = "", "" }

// maxMessages is the maximum number of stored messages of a host.
const maxMessages = 50

func (w *conversationLog) agentOf(name string) *agentLog {
	if w.agents == nil {
		w.agents = map[string]*agentLog{}
	}
	if w.agents[name] == nil {
		w.agents[name] = &agentLog{}
	}
	return w.agents[name]
}

func (w *conversationLog) hostOf(name string) *hostLog {
	if w.hosts == nil {
		w.hosts = map[string]*hostLog{}
	}
	if w.hosts[name] == nil {
		w.hosts[name] = &hostLog{}
	}
	return w.hosts[name]
}

// agent returns a container with the message history and the usage of an agent.
func (w *conversationLog) agent(name string) container {
	a := w.agentOf(name)
	var history childList
	for i, m := range a.history {
		history = append(history, child{name: "[" + strconv.Itoa(i) + "] " + m.Role, value: value.String(m.Content)})
	}
	usage := childList{{name: "calls", value: value.Int(a.calls)}, {name: "input_tokens", value: value.Int(a.in)}, {name: "output_tokens", value: value.Int(a.out)}}
	return childList{
		{name: "history", text: countText(int64(len(history)), "message"), inside: history},
		{name: "usage", text: countText(a.calls, "call"), inside: usage},
	}
}

// host returns a container with the session, the last messages and the pending question of a host.
func (w *conversationLog) host(name string) container {
	h := w.hostOf(name)
	var messages childList
	for i, m := range h.messages {
		messages = append(messages, child{name: "[" + strconv.Itoa(i) + "]", value: value.String(m)})
	}
	pending := value.Nil
	if h.pending != "" {
		pending = value.String(h.pending)
	}
	return childList{
		{name: "session", value: value.String(h.session)},
		{name: "messages", text: countText(int64(len(messages)), "message"), inside: messages},
		{name: "pending", value: pending},
	}
}

// countText returns a number with a noun, in the singular or plural.
func countText(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}

// recordRequest records a request to an agent or an answer to a host.
func (w *conversationLog) recordRequest(q effect.Request) {
	switch q := q.(type) {
	case *effect.AgentCall:
		a := w.agentOf(q.Agent)
		a.calls++
		a.history = append([]effect.ChatMessage(nil), q.Messages...)
	case *effect.ExchangeReply:
		if h := w.hostOf(w.exchanges[q.ID]); h.id == q.AnswerTo {
			h.clearPending()
		}
	case *effect.ExchangeClose:
		w.hostOf(w.exchanges[q.ID]).clearPending()
		delete(w.exchanges, q.ID)
	}
}

// recordResult records the reply of an agent, or the host of a new exchange.
func (w *conversationLog) recordResult(q effect.Request, result effect.Result) {
	switch q := q.(type) {
	case *effect.AgentCall:
		if reply, ok := result.(*effect.AgentReply); ok {
			a := w.agentOf(q.Agent)
			a.in += reply.TokensIn
			a.out += reply.TokensOut
			a.history = append(a.history, effect.ChatMessage{Role: "assistant", Content: reply.Text})
		}
	case *effect.ExchangeOpen:
		if x, ok := result.(*effect.ExchangeOpened); ok {
			if w.exchanges == nil {
				w.exchanges = map[int64]string{}
			}
			w.exchanges[x.ID] = q.Host
			w.hostOf(q.Host).session = x.Session
		}
	}
}

// recordMessage records a message of a host that is being handled.
func (w *conversationLog) recordMessage(host string, m *effect.HostMessage) {
	h := w.hostOf(host)
	text := m.Type + " " + value.Text(m.Payload)
	if h.messages = append(h.messages, text); len(h.messages) > maxMessages {
		h.messages = h.messages[1:]
	}
	if session := m.Session(); session != "" {
		h.session = session
	}
	if hostmsg.Lookup(m.Type).Waits() {
		h.pending, h.id = text, m.ID
	}
}
