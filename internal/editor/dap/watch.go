package dap

import (
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// watched records the conversations with agents and hosts.
type watched struct {
	agents    map[string]*heardAgent
	hosts     map[string]*heardHost
	exchanges map[int64]string // hosts of the open exchanges
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
	id       string   // its id, as JSON; "" for one without
}

// answered records that the host no longer waits.
func (h *heardHost) answered() { h.pending, h.id = "", "" }

// mostMessages limits the stored messages of a host.
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

// agent returns the children of an agent: history and usage.
func (w *watched) agent(name string) holder {
	a := w.agentOf(name)
	var history given
	for i, m := range a.history {
		history = append(history, child{name: "[" + strconv.Itoa(i) + "] " + m.Role, value: value.String(m.Content)})
	}
	usage := given{{name: "calls", value: value.Int(a.calls)}, {name: "input_tokens", value: value.Int(a.in)}, {name: "output_tokens", value: value.Int(a.out)}}
	return given{
		{name: "history", text: counted(int64(len(history)), "message"), inside: history},
		{name: "usage", text: counted(a.calls, "call"), inside: usage},
	}
}

// host returns the children of a host: session, the last messages and the pending question.
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
		{name: "messages", text: counted(int64(len(messages)), "message"), inside: messages},
		{name: "pending", value: pending},
	}
}

// counted returns a number of things.
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.FormatInt(n, 10) + " " + what
}

// makes records requests to agents and answers to hosts.
func (w *watched) makes(q effect.Request) {
	switch q := q.(type) {
	case *effect.AgentCall:
		a := w.agentOf(q.Agent)
		a.calls++
		a.history = append([]effect.ChatMessage(nil), q.Messages...)
	case *effect.ExchangeReply:
		if h := w.hostOf(w.exchanges[q.ID]); h.id == q.AnswerTo {
			h.answered()
		}
	case *effect.ExchangeClose:
		w.hostOf(w.exchanges[q.ID]).answered()
		delete(w.exchanges, q.ID)
	}
}

// gave notes what an agent said, and which host an exchange is with.
func (w *watched) gave(q effect.Request, result effect.Result) {
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

// heard records a message of a host that is being handled.
func (w *watched) heard(host string, m *effect.HostMessage) {
	h := w.hostOf(host)
	text := m.Type + " " + value.Text(m.Payload)
	if h.messages = append(h.messages, text); len(h.messages) > mostMessages {
		h.messages = h.messages[1:]
	}
	if session := m.Session(); session != "" {
		h.session = session
	}
	if hostmsg.Of(m.Type).Waits() {
		h.pending, h.id = text, m.ID
	}
}
