package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/value"
)

// host is a mocked host: the steps of its conversations, one after the other,
// or one conversation that is the same each time.
type host struct {
	name    string
	fixed   []step
	steps   []step
	used    int
	timeout float64
	busy    *exchange // the one that its process is taken by
	replies []json.RawMessage
}

// step is one of a conversation's: a message, time that passes before the next
// one, or the end of the process.
type step struct {
	line   []byte // the message as the host would write it
	typ    string
	waitMS int64
	exit   *int64
	stderr string
}

func (s *step) terminal() bool { return s.exit != nil || s.typ == "result" || s.typ == "error" }

// exchange is an open exchange with a mocked host.
type exchange struct {
	w      *World
	host   *host
	steps  []step // of a host that says the same each time; else the host's
	opened int64  // by the test's clock
	done   bool   // the terminal message has been given
}

// defaultTimeout is a host's, in seconds.
const defaultTimeout = 120

// mockHost installs a mock from here on.
func (w *World) mockHost(r *effect.MockScript) error {
	what := "the mock of " + r.Name
	m, err := fields(what, r.Script, "messages", "response", "error", "responses")
	if err != nil {
		return err
	}
	h := &host{name: r.Name, timeout: w.options.Timeouts[r.Name]}
	if h.timeout <= 0 {
		h.timeout = defaultTimeout
	}
	switch {
	case m["messages"] != nil:
		h.steps, err = parseSteps(what, m["messages"])
	case m["response"] != nil:
		h.fixed, err = outcome(what+": its response", m["response"])
	case m["error"] != nil:
		h.fixed, err = outcome(what, json.RawMessage(`{"error":`+string(m["error"])+`}`))
	default:
		var turns []json.RawMessage
		if json.Unmarshal(m["responses"], &turns) != nil {
			return bad("%s: `responses` is not an array", what)
		}
		for i, t := range turns {
			s, err := outcome(fmt.Sprintf("%s: response %d", what, i+1), t)
			if err != nil {
				return err
			}
			h.steps = append(h.steps, s...)
		}
	}
	if err != nil {
		return err
	}
	if old := w.hosts[r.Name]; old != nil {
		w.left = append(w.left, old.leftovers()...)
		h.replies = old.replies
	}
	w.hosts[r.Name] = h
	return nil
}

// parseSteps reads `messages`.
func parseSteps(what string, raw json.RawMessage) ([]step, error) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, bad("%s: `messages` is not an array", what)
	}
	var steps []step
	for i, m := range list {
		s, err := parseStep(fmt.Sprintf("%s: message %d", what, i+1), m)
		if err != nil {
			return nil, err
		}
		steps = append(steps, *s)
	}
	return steps, nil
}

// parseStep reads a message: an object with a `type`, a String for a line of
// plain text, or `wait_ms` or `exit` instead of a message.
func parseStep(what string, raw json.RawMessage) (*step, error) {
	if s, ok := text(raw); ok {
		return &step{line: resultLine(s), typ: "result"}, nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, bad("%s is neither a Map nor a String: %s", what, raw)
	}
	if typ, ok := text(m["type"]); ok {
		return &step{line: raw, typ: typ}, nil
	}
	s := &step{}
	switch {
	case m["wait_ms"] != nil:
		if _, err := fields(what, raw, "wait_ms"); err != nil {
			return nil, err
		}
		if json.Unmarshal(m["wait_ms"], &s.waitMS) != nil || s.waitMS < 0 {
			return nil, bad("%s: `wait_ms` cannot be %s", what, m["wait_ms"])
		}
	case m["exit"] != nil:
		if _, err := fields(what, raw, "exit", "stderr"); err != nil {
			return nil, err
		}
		s.exit = new(int64)
		if json.Unmarshal(m["exit"], s.exit) != nil {
			return nil, bad("%s: `exit` cannot be %s", what, m["exit"])
		}
		s.stderr, _ = text(m["stderr"])
	default:
		return nil, bad("%s has no `type`: %s", what, raw)
	}
	return s, nil
}

func resultLine(s string) []byte {
	return append(value.AppendString([]byte(`{"type":"result","text":`), s), '}')
}

// outcome is the conversation of an exchange that has nothing but its end: a
// text, the members of a result, or an `error`.
func outcome(what string, raw json.RawMessage) ([]step, error) {
	if s, ok := text(raw); ok {
		return []step{{line: resultLine(s), typ: "result"}}, nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, bad("%s is neither a String nor a Map: %s", what, raw)
	}
	e, isError := m["error"]
	switch {
	case !isError:
		return []step{{line: typed("result", raw), typ: "result"}}, nil
	case len(m) > 1:
		return nil, bad("%s has an error and more", what)
	}
	if s, ok := text(e); ok {
		e = append(value.AppendString([]byte(`{"message":`), s), '}')
	} else if _, err := fields(what+": its error", e, "message", "code", "recoverable"); err != nil {
		return nil, err
	}
	return []step{{line: typed("error", e), typ: "error"}}, nil
}

// typed puts a `type` before an object's members.
func typed(typ string, object json.RawMessage) []byte {
	line := []byte(`{"type":"` + typ + `"`)
	if len(object) > 2 {
		line = append(line, ',')
	}
	return append(line, object[1:]...)
}

// open starts an exchange.
func (w *World) open(ctx context.Context, r *effect.ExchangeOpen, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[r.Host]
	if h == nil && !w.options.Live {
		return nil, &Missing{What: "host `" + r.Host + "`", Mock: "mock " + r.Host + ` { messages: [{ type: "result", text: "…" }] }`}
	}
	w.prompts[r.Host] = append(w.prompts[r.Host], r.Prompt)
	if h == nil {
		w.mu.Unlock()
		defer w.mu.Lock()
		return next.Perform(ctx, r)
	}
	switch {
	case h.busy != nil && !w.options.Live:
		return nil, effect.Errorf("HostError", "host '%s' is taken by an exchange that waits for this one", h.name).With("host", h.name)
	case h.fixed == nil && h.used == len(h.steps):
		return nil, effect.Errorf("HostError", "the mock of %s has no messages left: it had %s", h.name, plural(len(h.steps), "message")).With("host", h.name)
	}
	x := &exchange{w: w, host: h, steps: h.fixed, opened: w.clock.monotonic}
	h.busy = x
	// Exchanges of a live run that are not mocked have the runtime's numbers,
	// which are positive.
	id := -1 - int64(len(w.exchanges))
	w.exchanges[id] = x
	return &effect.ExchangeOpened{ID: id}, nil
}

func (w *World) exchange(id int64) *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exchanges[id]
}

// peek gives the step that comes next, nil at the end of the script.
func (x *exchange) peek() *step {
	switch {
	case x.host.fixed != nil && len(x.steps) > 0:
		return &x.steps[0]
	case x.host.fixed == nil && x.host.used < len(x.host.steps):
		return &x.host.steps[x.host.used]
	}
	return nil
}

func (x *exchange) step() {
	if x.host.fixed != nil {
		x.steps = x.steps[1:]
		return
	}
	x.host.used++
}

// next gives the next message.
func (x *exchange) next(ctx context.Context) (effect.Result, error) {
	w := x.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		s := x.peek()
		if limit := x.opened + int64(x.host.timeout*1000); w.clock.monotonic >= limit {
			x.drain()
			return nil, x.fail("host '%s' timed out after %s seconds", x.host.name, strconv.FormatFloat(x.host.timeout, 'f', -1, 64)).With("code", "timeout")
		}
		switch {
		case s == nil:
			return nil, x.fail("host exited without result")
		case s.exit != nil:
			x.step()
			e := x.fail("host exited without result").With("exit_code", *s.exit)
			if s.stderr != "" {
				e.With("stderr", s.stderr)
			}
			return nil, e
		case s.typ == "":
			x.step() // the time has passed: the clock waited for it
			continue
		}
		x.step()
		typ, id, payload, err := value.ParseMessage(s.line)
		if err != nil {
			return nil, x.fail("host '%s' sent a message that cannot be read: %v", x.host.name, err)
		}
		x.done = s.terminal()
		return &effect.ExchangeMessages{Messages: []effect.HostMessage{{Type: typ, ID: string(id), Payload: payload, Text: s.line}}}, nil
	}
}

func (x *exchange) fail(format string, args ...any) *effect.Error {
	x.done = true
	return effect.Errorf("HostError", format, args...).With("host", x.host.name)
}

// reply notes what a message was answered with.
func (x *exchange) reply(r *effect.ExchangeReply) error {
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

// close ends an exchange. Cancelled before its terminal message, the host says
// the rest of the conversation to nobody.
func (x *exchange) close() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	x.drain()
	if x.host.busy == x {
		x.host.busy = nil
	}
}

// drain passes over what is left of the conversation.
func (x *exchange) drain() {
	for !x.done {
		s := x.peek()
		if s == nil {
			break
		}
		x.step()
		x.done = s.terminal()
	}
	x.done = true
}

// leftovers says what was scripted and not used.
func (h *host) leftovers() []string {
	if h.used >= len(h.steps) {
		return nil
	}
	next := &h.steps[h.used]
	shown := string(next.line)
	if next.line == nil {
		shown = "a pause or exit"
	}
	return []string{fmt.Sprintf("the mock of %s has %s left that nobody took; the next is %s", h.name, plural(len(h.steps)-h.used, "message"), shown)}
}
