package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// host is a mocked host. It has a list of conversations, or one conversation that is used for every
// exchange. If by is set, a closure of the test creates each conversation just before its use.
type host struct {
	name    string
	fixed   []step
	talks   []*talk // conversations that have not begun
	count   int     // number of messages in all conversations so far
	by      bool
	timeout float64
	room    int         // number of processes that can run at the same time
	busy    []*exchange // exchanges that use a process
	replies []json.RawMessage
}

// Host describes a host that the program declares.
type Host struct {
	Timeout   float64 // timeout in seconds; 0 means 120
	Instances int     // number of processes; 0 means 1
	Recorded  bool    // the host plays a recording and needs no mock
}

// exchange is an open exchange with a mocked host.
type exchange struct {
	w      *World
	host   *host
	steps  []step // remaining steps
	opened int64  // time of the opening on the test's clock
	talk   string // session that the host named last
	done   bool   // the terminal message was returned
	broken bool   // the program has interrupted the exchange
}

// defaultTimeout is the default timeout of a host in seconds.
const defaultTimeout = 120

// mockHost installs the mock of a host.
func (w *World) mockHost(r *effect.MockScript) error {
	what := "the mock of " + r.Name
	m, err := parseObject(what, r.Script, "messages", "response", "error", "responses")
	if err != nil {
		return err
	}
	o := w.options.Hosts[r.Name]
	h := &host{name: r.Name, by: r.By, timeout: o.Timeout, room: max(o.Instances, 1)}
	if h.timeout <= 0 {
		h.timeout = defaultTimeout
	}
	switch {
	case r.By:
	case m["messages"] != nil:
		var steps []step
		steps, err = parseSteps(what, m["messages"])
		h.talks = talks(steps)
	case m["response"] != nil:
		h.fixed, err = parseTerminal(what+": its response", m["response"])
	case m["error"] != nil:
		h.fixed, err = parseTerminal(what, json.RawMessage(`{"error":`+string(m["error"])+`}`))
	default:
		h.talks, err = parseOutcomes(what, m["responses"])
	}
	if err != nil {
		return err
	}
	h.count = h.countMessages()
	if old := w.hosts[r.Name]; old != nil {
		w.left = append(w.left, old.leftovers()...)
		h.replies = old.replies
	}
	w.hosts[r.Name] = h
	return nil
}

// countMessages returns the number of messages in conversations that have not begun.
func (h *host) countMessages() int {
	n := 0
	for _, t := range h.talks {
		n += len(t.steps)
	}
	return n
}

// nextTalk adds a conversation that the mock's closure has created for a prompt. The closure
// returns a list of messages, or any value that `response` may have.
func (w *World) nextTalk(r *effect.MockNext) error {
	h := w.hosts[r.Party]
	if h == nil || !h.by {
		return nil // another mock has replaced the one that called the closure
	}
	what := "the mock of " + r.Party + ": its closure's conversation"
	t := &talk{prompt: r.Prompt}
	var err error
	if len(r.Answer) > 0 && r.Answer[0] == '[' {
		t.steps, err = parseSteps(what, r.Answer)
	} else {
		t.steps, err = parseTerminal(what, r.Answer)
	}
	if err == nil {
		h.talks = append(h.talks, t)
	}
	return err
}

// openExchange opens an exchange with a mocked host.
func (w *World) openExchange(ctx context.Context, r *effect.ExchangeOpen, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[r.Host]
	w.note(r)
	if h == nil {
		w.mu.Unlock()
		defer w.mu.Lock()
		if w.options.Hosts[r.Host].Recorded {
			return next.Perform(ctx, r)
		}
		return w.performUnmocked(ctx, r, next, &Missing{What: "host `" + r.Host + "`", Mock: "mock " + r.Host + ` { messages: [{ type: "result", text: "…" }] }`})
	}
	steps, ok := h.beginConversation(r.Prompt)
	if !ok {
		return nil, effect.Errorf("HostError", "the mock of %s has no messages left: it had %s", h.name, plural(h.count, "message")).With("host", h.name)
	}
	x := &exchange{w: w, host: h, steps: steps, opened: w.clock.monotonic, talk: r.Session}
	if len(h.busy) >= h.room && !w.options.Live {
		h.busy[0].expire() // the clock has advanced to the timeout of this exchange
	}
	h.busy = append(h.busy, x)
	// The IDs of mocked exchanges are negative. In a live run, the runtime assigns positive IDs to
	// the other exchanges.
	id := -1 - int64(len(w.exchanges))
	w.exchanges[id] = x
	return &effect.ExchangeOpened{ID: id}, nil
}

// beginConversation removes the next conversation and returns its steps. If by is set, it uses the
// conversation for this prompt. It returns false if there is no conversation.
func (h *host) beginConversation(prompt string) ([]step, bool) {
	if h.fixed != nil {
		return h.fixed, true
	}
	for i, t := range h.talks {
		if !h.by || t.prompt == prompt {
			h.talks = slices.Delete(h.talks, i, i+1)
			return t.steps, true
		}
	}
	return nil, false
}

// free returns the time at which a process of the host becomes free, or 0 if one is free now.
func (h *host) free() int64 {
	if len(h.busy) < h.room {
		return 0
	}
	return h.busy[0].deadline()
}

func (w *World) findExchange(id int64) *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exchanges[id]
}

// deadline returns the time at which the exchange times out.
func (x *exchange) deadline() int64 { return x.opened + int64(x.host.timeout*1000) }

// peekStep returns the next step, or nil at the end of the conversation.
func (x *exchange) peekStep() *step {
	if len(x.steps) == 0 {
		return nil
	}
	return &x.steps[0]
}

// nextMessage returns the next message or failure of the conversation.
func (x *exchange) nextMessage() (effect.Result, error) {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		s := x.peekStep()
		if w.clock.monotonic >= x.deadline() {
			x.expire()
			return nil, x.failExchange("host '%s' timed out after %s", x.host.name, effect.Seconds(x.host.timeout)).With("code", "timeout")
		}
		if x.broken {
			x.expire()
			return nil, x.failExchange("host '%s' was interrupted", x.host.name).With("code", "interrupted")
		}
		if s == nil {
			return nil, x.fail(effect.HostEnded(x.host.name, "", ""))
		}
		x.steps = x.steps[1:]
		switch {
		case s.exit != nil:
			return nil, x.fail(effect.HostExited(x.host.name, *s.exit, s.stderr))
		case s.typ == "":
			continue // the clock has already advanced by this delay
		}
		typ, id, payload, err := value.ParseMessage(s.line)
		if err != nil {
			return nil, x.failExchange("host '%s' sent an invalid message: %v", x.host.name, err)
		}
		x.done = s.terminal()
		m := effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: s.line}
		if now := m.Session(); now != "" {
			x.talk = now
		}
		if x.done && x.talk != "" {
			m.SetSession(x.talk)
		}
		return &effect.ExchangeMessages{Messages: []effect.HostMessage{m}}, nil
	}
}

func (x *exchange) failExchange(format string, args ...any) *effect.Error {
	return x.fail(effect.Errorf("HostError", format, args...).With("host", x.host.name))
}

func (x *exchange) fail(e *effect.Error) *effect.Error {
	x.done = true
	if x.talk != "" {
		e.With("session", x.talk)
	}
	return e
}

// steerOrEnd handles a message to the host, or ends the exchange.
func (x *exchange) steerOrEnd(r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.ExchangeSteer:
		return x.steer(r)
	case *effect.ExchangeContinue:
		return x.continueTurn(r)
	}
	x.endExchange()
	return nil, nil
}

// steer records a message to the host as one of its prompts. The conversation of the mock
// continues, unless the message interrupts it without a new prompt.
func (x *exchange) steer(r *effect.ExchangeSteer) (effect.Result, error) {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	if x.done || x.broken {
		return nil, effect.Errorf("HostError", "host '%s' is idle: the exchange has ended", x.host.name).With("host", x.host.name).With("code", "idle")
	}
	if r.Interrupt && r.Text == "" {
		x.broken = true
		return &effect.ExchangeSteered{Outcome: effect.SteerInterrupted}, nil
	}
	x.w.prompts[x.host.name] = append(x.w.prompts[x.host.name], r.Text)
	if r.Interrupt {
		return &effect.ExchangeSteered{Outcome: effect.SteerInterrupted}, nil
	}
	return &effect.ExchangeSteered{Outcome: effect.SteerReceived}, nil
}

// continueTurn begins a further turn with the mock's next conversation.
func (x *exchange) continueTurn(r *effect.ExchangeContinue) (effect.Result, error) {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	steps, ok := x.host.beginConversation(r.Prompt)
	if !ok {
		return nil, effect.Errorf("HostError", "the mock of %s has no messages left: it had %s", x.host.name, plural(x.host.count, "message")).With("host", x.host.name)
	}
	x.w.prompts[x.host.name] = append(x.w.prompts[x.host.name], r.Prompt)
	x.steps, x.done = steps, false
	return &effect.ExchangeSteered{Outcome: effect.SteerQueued}, nil
}

// recordReply records the program's reply to a message.
func (x *exchange) recordReply(r *effect.ExchangeReply) error {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	v := r.Value
	if r.Error != "" {
		v = append(value.AppendString([]byte(`{"error":`), r.Error), '}')
	} else if v == nil {
		v = json.RawMessage("null")
	}
	x.host.replies = append(x.host.replies, v)
	return nil
}

// endExchange ends an exchange. If the terminal message was not returned, it drops the rest of the
// conversation.
func (x *exchange) endExchange() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.expire()
}

// expire ends an exchange and frees its process.
func (x *exchange) expire() {
	x.steps, x.done = nil, true
	if i := slices.Index(x.host.busy, x); i >= 0 {
		x.host.busy = slices.Delete(x.host.busy, i, i+1)
	}
}

// leftovers returns a sentence for each conversation in the mock that was not used.
func (h *host) leftovers() []string {
	if h.by || len(h.talks) == 0 {
		return nil
	}
	next := &h.talks[0].steps[0]
	shown := string(next.line)
	if next.line == nil {
		shown = "a pause or exit"
	}
	return []string{fmt.Sprintf("the mock of %s has %s left that no listen read; the next is %s", h.name, plural(h.countMessages(), "message"), shown)}
}
