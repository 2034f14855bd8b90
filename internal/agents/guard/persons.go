package guard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Persons asks persons about calls.
type Persons interface {
	// Ask returns the answer of a person. It is nil if there is none when ctx ends, or if the
	// question is withdrawn before. The error is the reason why no person can be asked.
	Ask(ctx context.Context, q *Question) (*Answer, error)
	// Withdraw withdraws the questions of a session about arguments with a hash; "" means all.
	Withdraw(session, hash string)
}

// Question is what a person decides: a call, or a question of the agent. It contains no secrets.
type Question struct {
	Agent   string          `json:"agent"`
	Session string          `json:"session"`
	Dir     string          `json:"dir"`     // in which the agent was started, if that is known
	ID      string          `json:"id"`      // of the call
	Hash    string          `json:"hash"`    // of the arguments
	Type    string          `json:"type"`    // "approval" or "question", as the messages of hosts
	Message json.RawMessage `json:"message"` // the message of that type
	WaitMS  int64           `json:"wait_ms"` // how long the call waits
}

// Answer is the answer of a person. Value is the answer to a question, and nil for a call.
type Answer struct {
	Allow  bool            `json:"allow"`
	Reason string          `json:"reason,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	By     string          `json:"by"` // effect.ByRelay or effect.ByAnswer
	Name   string          `json:"name"`
}

// byUnattended is the name of the actor of decisions about calls for which no person has answered.
const byUnattended = "unattended"

// dialogModes are the modes in which Claude Code shows a dialog if the hook requires one.
var dialogModes = []string{"default", "acceptEdits", "bypassPermissions"}

// resolve returns the decision about a call for which a person must decide. If the agent shows a
// dialog, a hook waits for a person on another device at the same time, and leaves the decision to
// the dialog if there is no answer.
func (h *Hook) resolve(c *contract, in *input, d Decision, policies []*Policy) Decision {
	hasDialog := c.asks && slices.Contains(dialogModes, in.mode) && h.CanAsk()
	isQuestion := in.at == beforeAsk && in.call.Tool == adapter.ClaudeAsks && d.Verdict == hostpolicy.Pass
	switch {
	case d.Verdict != hostpolicy.Ask && !isQuestion,
		in.at == beforeCall && hasDialog: // the hook of the dialog waits
		return d
	case in.at == beforeAsk && !c.asks:
		return h.repeat(c, in, d, policies)
	}
	a, why := h.ask(in, &d, policies)
	switch {
	case a != nil:
		return d.answered(in, a)
	case in.at == beforeAsk:
		return d
	}
	d.Verdict = cmp.Or(d.unattended, hostpolicy.Deny)
	d.Reason += fmt.Sprintf("; %s, and `unattended` is %q", why, d.Verdict)
	by := d.actor()
	by.Name = byUnattended
	d.by = &by
	return d
}

// repeat returns the decision that was made about a call before the agent asks a person about it.
// If there is none, the agent's dialog decides, which appears when the hook has ended.
func (h *Hook) repeat(c *contract, in *input, d Decision, policies []*Policy) Decision {
	was := h.decided(in, policies)
	switch {
	case was != nil && was.Decision != string(hostpolicy.Ask):
		d.Verdict = hostpolicy.Verdict(was.Decision)
		d.Reason += "; as decided before the call"
	case c.again:
		return deny("%s; it was not decided before the call", d.Reason)
	}
	return d
}

// ask waits for the answer of a person. If there is none, why is the reason.
func (h *Hook) ask(in *input, d *Decision, policies []*Policy) (a *Answer, why string) {
	wait := time.Duration(d.wait) * time.Second
	if h.Persons == nil || wait == 0 {
		return nil, "no person can be asked"
	}
	if _, stopped, err := find(h.ledger(in.session), "", "", ""); err == nil && stopped != "" {
		return nil, "the session is stopped"
	}
	clean, err := h.cleaner(policies)
	if err != nil {
		return nil, err.Error()
	}
	q, err := newQuestion(in, d, clean)
	if err != nil {
		return nil, err.Error()
	}
	q.WaitMS = wait.Milliseconds()
	h.extend(wait)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if a, err = h.Persons.Ask(ctx, q); err != nil {
		return nil, err.Error()
	}
	return a, fmt.Sprintf("no person has answered within %d s", d.wait)
}

// newQuestion returns the question about a call. clean replaces secrets in JSON.
func newQuestion(in *input, d *Decision, clean func([]byte) []byte) (q *Question, err error) {
	args := json.RawMessage(clean(slices.Clone(in.call.Args)))
	q = &Question{Agent: in.call.Agent, Session: in.session, Dir: cmp.Or(in.call.Project, in.call.Dir), ID: in.id, Hash: decision.Hash(judged(in.call.Tool, args))}
	if in.call.Tool == adapter.ClaudeAsks {
		q.Type, q.Message = "question", adapter.ClaudeQuestion(args)
		return q, nil
	}
	kind, reason := in.call.Kind, d.Reason
	switch kind {
	case "mcp":
		kind = "" // a tool with a name of its own
	case "execute":
		var all map[string]json.RawMessage
		var text string
		if err = json.Unmarshal(args, &all); err != nil {
			return nil, err
		}
		if json.Unmarshal(all["description"], &text) == nil && text != "" {
			reason = text + "\n" + reason
		}
		if all["cwd"] == nil {
			all["cwd"] = jsonwrite.Text(nil, in.call.Dir)
		}
		if args, err = jsonwrite.Encode(all); err != nil {
			return nil, err
		}
	}
	q.Type = "approval"
	q.Message, err = jsonwrite.Encode(map[string]any{"tool": in.call.Tool, "kind": kind, "args": args, "reason": reason})
	return q, err
}

// answered returns the decision of a person.
func (d Decision) answered(in *input, a *Answer) Decision {
	verb, isQuestion := "denied", in.call.Tool == adapter.ClaudeAsks
	if d.Verdict = hostpolicy.Deny; a.Allow {
		d.Verdict, verb = hostpolicy.Allow, "allowed"
	}
	if a.Allow && isQuestion {
		verb = "answered"
	}
	who := effect.ActorOf(a.By, a.Name)
	d.Reason += fmt.Sprintf("; %s by %s", verb, cmp.Or(who.Name, "a person"))
	if a.Reason != "" {
		d.Reason += ": " + a.Reason
	}
	d.by = &audit.Actor{Type: who.Type, Name: who.Name, At: a.By}
	if a.Allow && isQuestion {
		d.answer = a.Value
		if d.input = adapter.ClaudeAnswered(in.call.Args, a.Value); d.input == nil {
			return deny("%s; the answer does not fit the questions", d.Reason)
		}
	}
	return d
}

// withdraw withdraws the questions of a session about arguments with a hash; "" means all.
func (h *Hook) withdraw(session, hash string) {
	if h.Persons != nil {
		h.Persons.Withdraw(session, hash)
	}
}

// judged returns the arguments of a call without what a person adds to them.
func judged(tool string, args json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if tool != adapter.ClaudeAsks || json.Unmarshal(args, &all) != nil {
		return args
	}
	delete(all, "answers")
	delete(all, "annotations")
	text, err := jsonwrite.Encode(all)
	if err != nil {
		return args
	}
	return text
}
