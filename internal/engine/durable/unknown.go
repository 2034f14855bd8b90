package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// applyDecision handles an effect whose outcome is unknown. If known is true, result and err are
// its outcome. If known is false, the effect is performed again.
func (w *world) applyDecision(ctx context.Context, f *inFlight, q effect.Request) (known bool, result effect.Result, err error) {
	x, result, err := w.decideUnknown(ctx, f, q)
	if x == nil || !x.isRetry() {
		f.resolved = x.journalForm(w.run)
		return true, result, err
	}
	err = w.announceRetry(ctx, f, q, x)
	return err != nil, nil, err
}

// announceRetry records that an effect is performed again, because of the decision x.
func (w *world) announceRetry(ctx context.Context, f *inFlight, q effect.Request, x *resolution) error {
	if err := w.awaitDeadline(ctx, f, q); err != nil { // the run's context ended during the wait
		return err
	}
	f.tries++
	f.resolved = x.journalForm(w.run)
	w.run.recordBegin(f, f.task, q)
	f.resolved = nil
	w.run.parking.markJournaled(f.e)
	text, err := tape.Request(q)
	if err == nil {
		err = w.run.recordResolution(f.e, q.Kind(), text, x)
	}
	if err == nil {
		err = w.flushBefore(ctx, q)
	}
	return err
}

// awaitDeadline waits until the latest deadline of the effect's earlier attempts. Until then, the
// previous process could still send the request. There is no wait if that process has certainly
// exited.
func (w *world) awaitDeadline(ctx context.Context, f *inFlight, q effect.Request) error {
	left := f.until - w.run.c.Writer.Time()
	if w.run.c.Alone || left <= 0 {
		return context.Cause(ctx)
	}
	w.run.c.Remark(fmt.Sprintf("effect %d (%s) is repeated in %d s, because the process that started it may still be running", f.e, q.Kind(), (left+999)/1000))
	over := time.NewTimer(time.Duration(left) * time.Millisecond)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.run.suspend:
		return vm.ErrSuspended
	}
}

// until returns the deadline in Unix milliseconds of an effect of effect.ClassOnce that begins now,
// or 0 for other effects and without a time limit.
func (r *Run) until(q effect.Request) int64 {
	if effect.ClassOf(q) != effect.ClassOnce {
		return 0
	}
	var ms int64
	switch q := q.(type) {
	case *effect.HTTP:
		ms = q.Timeout
	case *effect.Command:
		ms = q.Timeout
	case *effect.WorkRun:
		ms = q.Timeout
	case *effect.MCPOpen:
		if r.servers != nil {
			ms = r.servers.Within(q.Server).Milliseconds()
		}
	}
	if ms <= 0 {
		return 0
	}
	return r.c.Writer.Time() + ms
}

// resolution is the decision about an effect with an unknown outcome, and its author.
type resolution struct {
	answer string // retry, fail, done or done:JSON; "" without a decision
	why    string // reason why there is no decision, or why it is invalid; "" if it is valid
	by     string // effect.ByRules or another of these constants
	name   string
	ms     int64
}

func (x *resolution) isRetry() bool { return x.answer == policyRetry }

// done reports whether the decision is that the effect has happened.
func (x *resolution) done() bool {
	return x != nil && x.why == "" && journal.IsResolution(x.answer) && strings.HasPrefix(x.answer, "done")
}

// journalForm returns the resolution in the form of the journal.
func (x *resolution) journalForm(r *Run) *journal.Resolved {
	if x == nil {
		return nil
	}
	text := func(s string) json.RawMessage {
		if s == "" {
			return nil
		}
		b, _ := jsonwrite.Encode(s) // encoding a string does not fail
		return r.clean(b)
	}
	return &journal.Resolved{Answer: text(x.answer), Error: text(x.why), By: x.by, Name: x.name, MS: x.ms}
}

// resolutionOf converts the result of journalForm back to a resolution.
func (r *Run) resolutionOf(x *journal.Resolved) *resolution {
	text := func(b json.RawMessage) (s string) {
		if b != nil {
			_ = json.Unmarshal(secret.RestoreJSON(b, r.c.Secret), &s) // journalForm has encoded the text
		}
		return s
	}
	return &resolution{text(x.Answer), text(x.Error), x.By, x.Name, x.MS}
}

// recordResolution appends the decision about effect e to the ledgers.
func (r *Run) recordResolution(e int64, kind effect.Kind, request json.RawMessage, x *resolution) error {
	asked, err := r.inquiry(e, kind, request)
	if err != nil {
		return err
	}
	d := &vm.Decision{Kind: vm.DecidedUnknown, Effect: e, ID: json.RawMessage(`"` + journal.UnknownID(e) + `"`), Asked: asked, Problem: x.why, By: x.by, Name: x.name, MS: x.ms}
	if x.answer != "" {
		if d.Answer, err = jsonwrite.Encode(x.answer); err != nil {
			return err
		}
	}
	return decider{r}.Decided(d)
}

// inquiry returns the question about the outcome of effect e, as JSON.
func (r *Run) inquiry(e int64, kind effect.Kind, request json.RawMessage) (json.RawMessage, error) {
	return jsonwrite.Encode(map[string]any{"effect": e, "kind": kind, "request": request, "key": r.effectKey(e)})
}

// resolvedBefore passes the decisions that earlier processes recorded in the journal to the
// ledgers.
func (r *Run) resolvedBefore() error {
	for _, x := range r.past.resolved {
		e := x.Effect
		if x.RecordKind == journal.KDid {
			e = x.Of // number of the effect that opened the call
		}
		k := r.past.effects[e]
		if k == nil || k.begin == nil {
			continue // the begin record of the effect is not in the stored history
		}
		request := json.RawMessage("{}")
		if k.begin.Request != nil {
			request = secret.RestoreJSON(k.begin.Request, r.c.Secret)
		}
		if err := r.recordResolution(e, effect.Kind(k.begin.Kind), request, r.resolutionOf(x.Resolved)); err != nil {
			return err
		}
	}
	return nil
}

// unknownSection is the section of the manifest with the policies for effects whose outcome is
// unknown.
const unknownSection = "[run.unknown]"

// decideUnknown decides about an effect with an unknown outcome. The decision comes from the
// program, the manifest or an answer. x is nil if the run is being suspended. result and err are
// the effect's outcome unless the decision is a retry.
func (w *world) decideUnknown(ctx context.Context, f *inFlight, q effect.Request) (x *resolution, result effect.Result, err error) {
	x = &resolution{answer: f.policy, by: effect.ByRules, name: f.rule}
	if x.answer == "" {
		text, err := w.run.recordedRequest(q)
		if err != nil {
			return nil, nil, err
		}
		x.answer, x.name = w.run.c.Policy(PolicyKind(string(q.Kind()), text)), unknownSection
	}
	if x.answer == "" {
		x = &resolution{answer: policyFail, by: effect.ByNone}
		if w.run.c.Asking.canWait() || journal.IsAnswered(w.run.c.Stored, journal.UnknownID(f.e)) {
			x.answer = PolicyAsk
		}
	}
	switch x.answer {
	case policyRetry:
		return x, nil, nil
	case policyFail:
		return x, nil, unknownError(f, q)
	}
	return w.inquire(ctx, f, q)
}

// inquire asks a question about the outcome of an effect and applies the answer.
func (w *world) inquire(ctx context.Context, f *inFlight, q effect.Request) (*resolution, effect.Result, error) {
	s, can := w.next.(effect.Starter)
	if !can {
		return &resolution{answer: policyFail, by: effect.ByNone}, nil, unknownError(f, q)
	}
	text, err := w.run.recordedRequest(q)
	if err != nil {
		return nil, nil, err
	}
	payload, err := w.run.inquiry(f.e, q.Kind(), text)
	if err != nil {
		return nil, nil, err
	}
	question := &openQuestion{Question: Question{E: f.e, ID: journal.UnknownID(f.e), Channel: journal.UnknownChannel, Payload: payload}}
	w.run.listQuestion(f.e, ShownQuestion{ID: question.ID, Channel: question.Channel, Payload: w.run.clean(payload), Type: journal.Resolutions}, nil)
	type answer struct {
		result effect.Result
		err    error
	}
	got := make(chan answer, 1)
	if effect.Inline(q.Kind()) {
		w.run.parking.waitForOutcome(f, q)
		defer w.run.parking.removeEffect(f.e, q, nil, nil)
	}
	since := w.run.c.Writer.Time()
	stop := w.startQuestion(ctx, question, func(result effect.Result, err error) { got <- answer{result, err} }, func(done func(effect.Result, error)) (func(), bool) {
		return s.Start(effect.WithSent(ctx), &effect.AwaitEmit{Channel: journal.UnknownChannel, Payload: payload, Format: journal.Resolutions}, done)
	})
	defer stop()
	select {
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	case <-w.run.suspend:
		if effect.Inline(q.Kind()) {
			return nil, nil, vm.ErrSuspended
		}
		return nil, nil, blocked(ctx)
	case a := <-got:
		x := &resolution{ms: w.run.c.Writer.Time() - since}
		if a.err != nil {
			x.setRefused(a.err)
			return x, nil, unknownError(f, q)
		}
		return w.answeredUnknown(f, q, a.result.(*effect.Answer), x)
	}
}

// setRefused sets the reason why there is no decision. The effect then counts as failed.
func (x *resolution) setRefused(err error) {
	x.why, x.by = err.Error(), effect.ByNone
	if e := programError(err); e != nil {
		switch {
		case e.By != "":
			x.by, x.name = e.By, e.Name
		case e.Fields["reason"] == "timeout":
			x.by = effect.ByTimeout
		}
	}
}

// answeredUnknown applies an answer to the question about an effect's outcome.
func (w *world) answeredUnknown(f *inFlight, q effect.Request, a *effect.Answer, x *resolution) (*resolution, effect.Result, error) {
	x.by, x.name = a.By, a.Name
	var text string
	if json.Unmarshal(a.Value, &text) != nil {
		text = string(a.Value)
	}
	x.answer = text
	switch {
	case !journal.IsResolution(text):
		x.why = "it must be one of " + journal.Resolutions
	case text != policyFail:
		result, err := resolvedResult(q.Kind(), text)
		if err == nil {
			return x, result, nil
		}
		x.why = err.Error()
	}
	return x, nil, unknownError(f, q)
}

// unknownError returns the error that the program receives for an effect whose outcome is unknown.
func unknownError(f *inFlight, q effect.Request) error {
	kind, what, reason := "FsError", "the change of a file", ""
	switch q := q.(type) {
	case *effect.HTTP:
		kind, what = "HttpError", q.Method+" "+q.URL
	case *effect.Command:
		kind, what, reason = "ToolError", "the command "+q.Command, "failed"
	case *effect.WorkOpen:
		kind, what = "GitError", "the creation of the workspace "+q.Name
	case *effect.WorkCommit:
		kind, what = "GitError", "the commit in the workspace "+q.Name
	case *effect.WorkRemove:
		kind, what = "GitError", "the removal of the workspace "+q.Name
	case *effect.MergeSubmit:
		kind, what = "GitError", "the submission of the workspace "+q.Name
	case *effect.MergeOpen:
		kind, what = "GitError", "the merge of "+q.Workspace()
	case *effect.WorkRun:
		kind, what = "GitError", "the command "+strings.Join(q.Command, " ")
	case *effect.MCPOpen:
		kind, what, reason = "ToolError", "the call of "+q.Server, "failed"
	case *effect.AppCall:
		kind, what, reason = "ToolError", "the call of "+q.Tool, "failed"
	case *effect.WriteFile:
		what = "the writing of " + q.Path
	case *effect.CopyFile:
		what = "the copying of " + q.From
	}
	e := effect.Errorf(kind, "it is not known whether %s was done: the run was interrupted while it was under way (effect %d)", what, f.e).With("unknown", true)
	if reason != "" {
		e.With("reason", reason)
	}
	e.Status = effect.Unknown
	return e
}

// canWait reports whether the run can wait for an answer.
func (a Asking) canWait() bool { return a.Park || a.Wait || a.Here }
