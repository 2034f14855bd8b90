package mock

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// agent is a mocked agent. It has a list of answers, or one answer that is used for every call. If
// by is set, a closure of the test creates each answer just before its use.
type agent struct {
	name  string
	fixed *answer
	turns []*answer
	used  int
	by    bool
	// answers contains the answers of requests whose delay has not passed.
	answers map[*effect.AgentCall]*answer
}

// answer is a scripted answer of a model.
type answer struct {
	reply   effect.AgentReply
	err     *effect.Error // error with which the call fails; nil for none
	delayMS int64
	raw     json.RawMessage
}

// mockAgent installs the mock of an agent.
func (w *World) mockAgent(r *effect.MockScript) error {
	what := "the mock of " + r.Name
	m, err := parseObject(what, r.Script, "response", "error", "responses")
	if err != nil {
		return err
	}
	a := &agent{name: r.Name, by: r.By, answers: map[*effect.AgentCall]*answer{}}
	switch {
	case r.By:
	case m["response"] != nil:
		a.fixed, err = parseAnswer(what+": its response", m["response"])
	case m["error"] != nil:
		a.fixed, err = parseAnswer(what, json.RawMessage(`{"error":`+string(m["error"])+`}`))
	default:
		var turns []json.RawMessage
		if json.Unmarshal(m["responses"], &turns) != nil {
			return bad("%s: `responses` is not an array", what)
		}
		for i, t := range turns {
			turn, terr := parseAnswer(fmt.Sprintf("%s: response %d", what, i+1), t)
			if terr != nil {
				return terr
			}
			a.turns = append(a.turns, turn)
		}
	}
	if err != nil {
		return err
	}
	if old := w.agents[r.Name]; old != nil {
		w.left = append(w.left, old.leftovers()...)
	}
	w.agents[r.Name] = a
	return nil
}

// nextAnswer adds an answer that the mock's closure has created.
func (w *World) nextAnswer(r *effect.MockNext) error {
	a := w.agents[r.Party]
	if a == nil || !a.by {
		return nil // another mock has replaced the one that called the closure
	}
	turn, err := parseAnswer("the mock of "+r.Party+": its closure's response", r.Answer)
	if err != nil {
		return err
	}
	a.turns = append(a.turns, turn)
	return nil
}

// parseAnswer parses a response, which is a text or an object.
func parseAnswer(what string, raw json.RawMessage) (*answer, error) {
	a := &answer{raw: raw}
	a.reply.StopReason = "end"
	if s, ok := parseString(raw); ok {
		a.reply.Text = s
		return a, nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, bad("%s is neither a String nor a Map", what)
	}
	m, err := parseObject(what, raw, "text", "json", "tool_calls", "error", "delay_ms", "tokens_in", "tokens_out", "stop_reason")
	if err != nil {
		return nil, err
	}
	if e := m["error"]; e != nil {
		if a.err, err = parseFailure(what, e); err != nil {
			return nil, err
		}
	}
	for name, to := range map[string]any{"text": &a.reply.Text, "delay_ms": &a.delayMS, "tokens_in": &a.reply.TokensIn,
		"tokens_out": &a.reply.TokensOut, "stop_reason": &a.reply.StopReason} {
		if v := m[name]; v != nil && json.Unmarshal(v, to) != nil {
			return nil, bad("%s: `%s` cannot be %s", what, name, v)
		}
	}
	if m["json"] != nil {
		a.reply.Text = string(m["json"])
	}
	return a, a.parseTools(what, m)
}

// parseTools parses the tool calls of an answer.
func (a *answer) parseTools(what string, m map[string]json.RawMessage) error {
	if m["tool_calls"] == nil {
		return nil
	}
	var calls []json.RawMessage
	if json.Unmarshal(m["tool_calls"], &calls) != nil {
		return bad("%s: `tool_calls` is not an array", what)
	}
	for i, c := range calls {
		what := fmt.Sprintf("%s: tool call %d", what, i+1)
		f, err := parseObject(what, c, "name", "args", "id")
		if err != nil {
			return err
		}
		call := effect.ToolCall{ID: fmt.Sprintf("call_%d", i+1), Args: "{}"}
		var named bool
		if call.Name, named = parseString(f["name"]); !named {
			return bad("%s has no `name`", what)
		}
		if id, ok := parseString(f["id"]); ok {
			call.ID = id
		}
		if f["args"] != nil {
			call.Args = string(f["args"])
		}
		a.reply.ToolCalls = append(a.reply.ToolCalls, call)
	}
	if m["stop_reason"] == nil && len(calls) > 0 {
		a.reply.StopReason = "tool"
	}
	return nil
}

// parseFailure parses an error, which is a text or an object with the fields of an AgentError.
func parseFailure(what string, raw json.RawMessage) (*effect.Error, error) {
	if s, ok := parseString(raw); ok {
		return &effect.Error{Kind: "AgentError", Message: s, Status: effect.Done}, nil
	}
	m, err := parseObject(what+": its error", raw, "message", "status")
	if err != nil {
		return nil, bad("%s: its error is neither a String nor a Map of message and status", what)
	}
	e := &effect.Error{Kind: "AgentError", Status: effect.Done}
	if s, ok := parseString(m["message"]); ok {
		e.Message = s
	}
	if v := m["status"]; v != nil {
		var status int64
		if json.Unmarshal(v, &status) != nil {
			return nil, bad("%s: `status` cannot be %s", what, v)
		}
		e = e.With("status", status)
	}
	return e, nil
}

func missingAgent(name string) *Missing {
	return &Missing{What: "agent `" + name + "`", Mock: "mock " + name + ` { response: "…" }`}
}

// answerModel performs a model call with the mock of the agent.
func (w *World) answerModel(ctx context.Context, r *effect.AgentCall, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	a := w.agents[r.Agent]
	w.note(r)
	if a == nil {
		w.mu.Unlock()
		return w.performUnmocked(ctx, r, next, missingAgent(r.Agent))
	}
	turn := a.answerTo(r)
	delete(a.answers, r)
	w.mu.Unlock()
	if turn == nil {
		return nil, effect.Errorf("AgentError", "the mock of %s has no response left: it had %s", r.Agent, plural(len(a.turns), "response")).
			With("model", r.Model).With("provider", r.Connection)
	}
	if turn.delayMS > 0 && w.options.Live {
		if _, err := next.Perform(ctx, &effect.Sleep{Milliseconds: turn.delayMS}); err != nil {
			return nil, err
		}
	}
	if turn.err != nil {
		e := &effect.Error{Kind: turn.err.Kind, Message: turn.err.Message, Status: turn.err.Status}
		for k, v := range turn.err.Fields {
			e.With(k, v)
		}
		return nil, e.With("model", r.Model).With("provider", r.Connection)
	}
	reply := turn.reply
	reply.Model, reply.Provider, reply.LatencyMS = r.Model, r.Connection, turn.delayMS
	return &reply, nil
}

// answerTo returns the answer to a request, or nil if no answer is left. A repeated request
// receives the same answer.
func (a *agent) answerTo(r *effect.AgentCall) *answer {
	if t, ok := a.answers[r]; ok {
		return t
	}
	t := a.fixed
	if t == nil && a.used < len(a.turns) {
		t = a.turns[a.used]
		a.used++
	}
	a.answers[r] = t
	return t
}

// leftovers returns a sentence for each answer in the mock that was not used.
func (a *agent) leftovers() []string {
	if a.fixed != nil || a.used >= len(a.turns) {
		return nil
	}
	return []string{fmt.Sprintf("the mock of %s has %s left that no call used; the next is %s", a.name, plural(len(a.turns)-a.used, "response"), a.turns[a.used].raw)}
}
