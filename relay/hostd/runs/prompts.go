package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/prompt"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/ptyholder"
)

// scheduleScan schedules a scan of the terminal for a prompt. The scan runs when there has been no
// output for a while.
func (r *run) scheduleScan() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopScan != nil {
		r.stopScan()
	}
	if !r.ended {
		r.stopScan = r.m.o.After(prompt.Quiet, r.scanPrompt)
	}
}

// scanPrompt submits a request if the terminal displays a question.
func (r *run) scanPrompt() {
	if r.m.ctx.Err() != nil || !r.startWork() {
		return
	}
	defer r.busy.Done()
	r.promptMu.Lock()
	defer r.promptMu.Unlock()
	r.mu.Lock()
	off := r.off
	r.mu.Unlock()
	if r.client.Ahead(off + int64(len(r.partial))) {
		return // more output is arriving
	}
	data, ok := r.detectPrompt()
	if !ok {
		return
	}
	data.RequestID = requestID(r.id, off)
	data.From = &protocol.Origin{Kind: protocol.FromTerminal}
	r.m.o.Redact.Request(&data)
	request := r.newRequest(data)
	request.AwaitingInput = &protocol.AwaitingInput{Reason: data.Reason, Prompt: data.Prompt, RequestID: data.RequestID}
	_, err := r.m.o.Approvals.Submit(r.m.ctx, r.id, request)
	var why *approvals.Error
	switch {
	case errors.As(err, &why) && why.Code == protocol.InputConflict:
		return // the request was submitted before a restart of hostd
	case err != nil:
		r.m.o.Log.Warn("could not open a request for a prompt", "run", r.id, "error", err)
		return
	}
	r.mu.Lock()
	r.prompt, r.awaitingInput = data.RequestID, true
	r.mu.Unlock()
}

// requestID derives the id of a request from its run and the offset in the output. The id is
// therefore the same after a restart.
func requestID(run string, off int64) string {
	h := hexsum.SHA256(run + " " + strconv.FormatInt(off, 10))[:32]
	return fmt.Sprintf("%s-%s-8%s-8%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}

// detectPrompt returns the question that the terminal displays. If the program reads a line without
// echo, the question is a password prompt. Otherwise the first matching rule determines the
// question.
func (r *run) detectPrompt() (protocol.PermissionRequested, bool) {
	shown := prompt.Render(r.tail)
	if _, secret, err := r.client.Modes(r.m.ctx); err == nil && secret {
		text := prompt.Short(lastLine(shown))
		if text == "" {
			text = "a line that is not shown"
		}
		return protocol.PermissionRequested{Reason: protocol.ReasonPrompt, Prompt: text, DenyText: "\x03",
			Questions: []protocol.Question{{ID: protocol.WholeAnswer, Question: text, Kind: protocol.KindText, Required: true, Secret: true}}}, true
	}
	rule, text := r.m.o.Rules.Find(r.Started.Tool, shown)
	if rule == nil {
		return protocol.PermissionRequested{}, false
	}
	data := protocol.PermissionRequested{Reason: rule.Reason, Prompt: text, ApproveText: rule.Approve, DenyText: rule.Deny}
	if rule.Reason == protocol.ReasonChoice {
		addMenu(&data, prompt.Menu(shown), rule, prompt.Short(lastLine(shown)))
	}
	return data, true
}

func lastLine(text string) string {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '\n' {
			return text[i+1:]
		}
	}
	return text
}

// newRequest returns the request for a question on the terminal.
func (r *run) newRequest(data protocol.PermissionRequested) approvals.Request {
	secret := len(data.Questions) > 0
	return approvals.Request{Data: data, Persistent: true,
		Check: func(d approvals.Decision) error {
			if _, ok := answerText(data, d); secret && !ok {
				return errors.New("answer: a text is required")
			}
			return nil
		},
		Apply: func(ctx context.Context, d approvals.Decision) ([]approvals.Event, error) {
			text := data.DenyText
			if d.Decision != approvals.Deny {
				text = data.ApproveText
				if answer, ok := answerText(data, d); ok {
					text = answer + answerSuffix(data)
				}
			}
			return nil, r.applyDecision(ctx, data.RequestID, text, d)
		}}
}

// addMenu adds the choices of a menu to a request. The question's answer is the key of a choice.
func addMenu(data *protocol.PermissionRequested, menu []prompt.Choice, rule *prompt.Rule, question string) {
	if menu == nil {
		return
	}
	q := protocol.Question{ID: protocol.WholeAnswer, Question: question, Kind: protocol.KindChoice, Required: true}
	data.ApproveText = rule.KeySuffix()
	for _, c := range menu {
		value, err := json.Marshal(c.Key)
		if err != nil {
			panic("runs: a key is no JSON: " + err.Error())
		}
		q.Options = append(q.Options, protocol.Option{Value: value, Label: c.Key + ". " + c.Label, Description: "types " + strings.ReplaceAll(strings.ReplaceAll(c.Key+data.ApproveText, "\n", "⏎"), "\r", "⏎")})
	}
	data.Questions = []protocol.Question{q}
}

// answerSuffix returns the keys that must be typed after an answer.
func answerSuffix(data protocol.PermissionRequested) string {
	if data.Questions[0].Secret {
		return "\n"
	}
	return data.ApproveText
}

// answerText returns the text that must be typed for a decision. ok is false if the decision
// contains no valid answer.
func answerText(data protocol.PermissionRequested, d approvals.Decision) (text string, ok bool) {
	if len(data.Questions) == 0 {
		return "", false
	}
	v := d.Answer
	if d.Answers != nil {
		var all map[string]json.RawMessage
		if json.Unmarshal(d.Answers, &all) != nil {
			return "", false
		}
		v = all[data.Questions[0].ID]
	}
	return text, v != nil && json.Unmarshal(v, &text) == nil
}

func (r *run) applyDecision(ctx context.Context, id, text string, d approvals.Decision) error {
	actor := d.Actor
	if actor == "local" || actor == "" {
		actor = "cli"
	}
	state, err := r.writeInput(ctx, Input{ID: id, Text: text, Actor: actor, By: d.By, Deny: d.Decision == approvals.Deny})
	if err == nil && state == string(ptyholder.Indeterminate) {
		return approvals.ErrIndeterminate
	}
	return err
}

// withdrawPrompt withdraws the open prompt because the terminal displays something else. The caller
// holds promptMu.
func (r *run) withdrawPrompt(why string) {
	r.mu.Lock()
	id := r.prompt
	r.prompt, r.awaitingInput = "", false
	r.mu.Unlock()
	if id == "" {
		return
	}
	if err := r.m.o.Approvals.Withdraw(r.m.ctx, r.id, id, why); err != nil {
		r.logError(err)
	}
}

// restorePrompts attaches to the requests that were open before a restart of hostd. If a decision
// was written to the terminal but not committed, restorePrompts commits it.
func (r *run) restorePrompts(ctx context.Context) {
	for _, data := range r.m.o.Approvals.Open(r.id) {
		if data.From == nil || data.From.Kind != protocol.FromTerminal {
			continue
		}
		r.m.o.Approvals.Attach(r.id, data.RequestID, r.newRequest(data))
		r.mu.Lock()
		r.prompt, r.awaitingInput = data.RequestID, true
		r.mu.Unlock()
		if d := r.writtenDecision(ctx, data); d != nil {
			if err := r.m.o.Approvals.ResolveRestored(ctx, r.id, data.RequestID, d, ""); err != nil {
				r.logError(err)
			}
		}
	}
}

// writtenDecision returns the decision whose text was at least partly written to the terminal, or
// nil if there is none.
func (r *run) writtenDecision(ctx context.Context, data protocol.PermissionRequested) *approvals.Decision {
	n, err := r.loadInput(ctx, data.RequestID)
	switch {
	case err != nil || n == nil || n.State == "":
		return nil
	case n.State != string(ptyholder.Applied):
		return &approvals.Decision{Decision: approvals.Withdrawn, Text: "it was decided, and " + approvals.ErrIndeterminate.Error()}
	}
	d := approvals.Decision{Decision: approvals.Approve, Actor: n.Actor, By: n.By}
	if n.Deny {
		d.Decision = approvals.Deny
	} else if data.IsQuestion() {
		d.Decision = approvals.Answer
	}
	return &d
}
