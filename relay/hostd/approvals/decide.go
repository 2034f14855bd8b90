package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Decide applies a decision to a request. It returns nil if the decision is applied, or was applied
// earlier. Otherwise it returns an *Error, and the request is unchanged.
func (d *Registry) Decide(ctx context.Context, run, id string, dec Decision) error {
	if dec.Decision == Answer {
		dec.Decision = Approve // asRecorded restores Answer for requests that are questions
	}
	t := d.lookup(run)
	if t == nil {
		t = newRunRequests() // empty requests, so that findOpen returns the error
	}
	t.mu.Lock()
	d.awaitAttach(ctx, t, id, dec)
	e, err := t.findOpen(run, id, dec)
	if e != nil {
		dec = e.asRecorded(dec)
		err = e.checkDecision(dec)
	}
	if e != nil && err == nil {
		err = d.record(run, e, &dec)
	}
	if e != nil && err == nil {
		err = d.storeAttempt(ctx, run, e, &dec)
	}
	if e == nil || err != nil {
		t.mu.Unlock()
		return err
	}
	e.applying = make(chan struct{})
	t.mu.Unlock()
	var also []Event
	if e.Apply != nil {
		also, err = e.Apply(ctx, dec)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	close(e.applying)
	e.applying = nil
	ctx = context.WithoutCancel(ctx) // what was applied is also recorded if hostd is asked to end
	if errors.Is(err, ErrIndeterminate) && t.open[id] == e {
		lost := d.resolve(ctx, t, run, e, Decision{Decision: Withdrawn, Tried: &dec}, nil, indeterminateReason)
		return &Error{protocol.Internal, err.Error(), errors.Join(err, lost)}
	}
	if err != nil {
		var why *Error
		if !errors.As(err, &why) {
			why = &Error{protocol.Internal, err.Error(), err}
		}
		return errors.Join(why, d.storeAttempt(ctx, run, e, nil))
	}
	if t.open[id] != e { // the request was closed while Apply was running
		return errorf(protocol.Expired, "request %s of run %s is already closed: %s", id, run, t.done[id].Decision)
	}
	if err := d.resolve(ctx, t, run, e, dec, also, dec.Text); err != nil {
		return errors.Join(err, ErrIndeterminate) // a restart may withdraw the request
	}
	return nil
}

// attachTimeout is the time that a decision waits after a restart of hostd until the requester
// attaches to the request. A decision that the previous process has perhaps applied waits until
// that is known.
const attachTimeout = 5 * time.Second

// awaitAttach waits until the requester of a restored request has attached. The caller holds t.mu,
// which awaitAttach releases while it waits.
func (d *Registry) awaitAttach(ctx context.Context, t *runRequests, id string, dec Decision) {
	e := t.open[id]
	if e == nil || e.detached == nil {
		return
	}
	away, late := e.detached, make(chan struct{})
	stop := func() bool { return true }
	if recorded := e.asRecorded(dec); e.attempted == nil || !e.attempted.isSame(&recorded) {
		stop = d.o.After(attachTimeout, func() { close(late) })
	}
	t.mu.Unlock()
	select {
	case <-away:
	case <-late:
	case <-ctx.Done():
	}
	stop()
	t.mu.Lock()
}

// storeAttempt stores the decision that is about to be applied. A nil decision deletes the stored
// one.
func (d *Registry) storeAttempt(ctx context.Context, run string, e *entry, dec *Decision) error {
	if !e.StoreAttempt {
		return nil
	}
	e.attempted = dec
	if err := d.o.Events.Commit(ctx, run, nil, e.rows(run, nil)); err != nil {
		return errorf(protocol.Internal, "could not store the decision of request %s of run %s: %v", e.Data.RequestID, run, err)
	}
	return nil
}

// record records a decision that is about to be applied.
func (d *Registry) record(run string, e *entry, dec *Decision) error {
	if err := d.o.Record(run, &e.Data, dec); err != nil {
		return errorf(protocol.Internal, "could not record the decision of request %s of run %s: %v", e.Data.RequestID, run, err)
	}
	return nil
}

// findOpen returns an open request. If the request is not open, it returns nil and no error if the
// same decision was already made, and otherwise an error that contains the state of the request.
func (t *runRequests) findOpen(run, id string, dec Decision) (*entry, error) {
	e := t.open[id]
	was, decided := t.done[id]
	switch {
	case dec.Decision != Approve && dec.Decision != Deny:
		return nil, errorf(protocol.BadMessage, "decision is %q; it must be approve, deny or answer", dec.Decision)
	case e != nil && e.applying != nil:
		return nil, errorf(protocol.AlreadyDecided, "request %s is being decided", id)
	case e != nil:
		return e, nil
	case decided && was.isSame(&dec):
		return nil, nil
	case decided && was.Tried != nil && was.Tried.isSame(&dec):
		return nil, ErrIndeterminate
	case decided && (was.Decision == Expired || was.Decision == Withdrawn):
		return nil, errorf(protocol.Expired, "request %s of run %s is already closed: %s", id, run, was.Decision)
	case decided:
		return nil, errorf(protocol.AlreadyDecided, "request %s was decided: %s%s", id, was.describe(), decidedBy(was))
	case t.ended:
		return nil, errorf(protocol.RunHasExited, "run %s has ended", run)
	}
	return nil, errorf(protocol.UnknownRequest, "run %s has no request %s", run, id)
}

// describe returns the decision with a short form of its value, for an error message.
func (d Decision) describe() string {
	if d.Decision != Answer || d.Value == nil {
		return d.Decision
	}
	return d.Decision + " " + string(protocol.ShortJSON(d.Value, protocol.MaxAnswer))
}

// asRecorded returns the form in which a decision is stored. A decision on a question becomes an
// answer with its value.
func (e *entry) asRecorded(dec Decision) Decision {
	dec.Sent = dec.Decision
	if dec.Decision, dec.Value = e.Data.Outcome(dec.Sent, dec.Answer, dec.Answers); dec.Decision != Answer {
		dec.Sent = ""
	}
	if e.Data.IsSecret() {
		dec.Value = nil // also without a hash, from which a password can be guessed
		return dec
	}
	for _, v := range []json.RawMessage{dec.Answer, dec.Answers, dec.Value} {
		if v != nil {
			dec.AnswerSHA256 = hashJSON(v)
		}
	}
	return dec
}

func decidedBy(d Decision) string {
	switch {
	case d.By != "":
		return " by " + d.By
	case d.Actor != "":
		return " by " + d.Actor
	}
	return ""
}

// checkDecision validates a decision on the request.
func (e *entry) checkDecision(dec Decision) error {
	if dec.ArgsSHA256 != "" && dec.ArgsSHA256 != e.Data.ArgsSHA256 {
		return errorf(protocol.ArgsChanged, "the arguments of request %s have changed since the decision: review the request again", e.Data.RequestID)
	}
	if dec.Decision == Deny || dec.Sent == Deny {
		return nil
	}
	if why := e.Data.Unseen(); why != "" {
		return errorf(protocol.Forbidden, "request %s cannot be approved here: %s", e.Data.RequestID, why)
	}
	if err := checkAnswers(e.Data.Questions, dec); err != nil {
		return errorf(protocol.InvalidAnswer, "%v", err)
	}
	if e.Check == nil {
		return nil
	}
	if err := e.Check(dec); err != nil {
		return errorf(protocol.InvalidAnswer, "%v", err)
	}
	return nil
}

// resolve commits the outcome of a request after the given events, and removes the request from the
// open ones.
func (d *Registry) resolve(ctx context.Context, t *runRequests, run string, e *entry, dec Decision, also []Event, why string) error {
	id := e.Data.RequestID
	resolved := protocol.PermissionResolved{RequestID: id, Decision: dec.Decision, Actor: dec.Actor, By: dec.By, AnswerSHA256: dec.AnswerSHA256, Reason: d.o.Redact(why), Unknown: dec.Tried != nil}
	if dec.Value != nil {
		resolved.Answer = protocol.ShortJSON(d.o.RedactJSON(dec.Value), protocol.MaxAnswer)
	}
	events := append(also, Event{protocol.RunPermissionResolved, resolved})
	if err := d.o.Events.Commit(ctx, run, events, e.rows(run, &dec)); err != nil {
		return errorf(protocol.Internal, "could not store the outcome of request %s of run %s: %v", id, run, err)
	}
	if e.stopTimer != nil {
		e.stopTimer()
	}
	if e.detached != nil {
		close(e.detached)
		e.detached = nil
	}
	delete(t.open, id)
	for i, other := range t.order {
		if other == e {
			t.order = append(t.order[:i:i], t.order[i+1:]...)
			break
		}
	}
	t.done[id] = dec
	if dec.Decision == Approve && dec.Scope == "session" && e.Data.ArgsSHA256 != "" {
		t.granted[grant{e.Data.OpTool, e.Data.ArgsSHA256}] = true
	}
	e.outcome <- dec
	return nil
}

// hashJSON returns the SHA-256 of the canonical form of a JSON value.
func hashJSON(v json.RawMessage) string {
	if canonical, err := jcs.Canonical(v); err == nil {
		v = canonical
	}
	return hexsum.SHA256(v)
}

// checkAnswers checks the answers of an approval against the questions. It accepts a decision
// without answers, because Request.Check decides whether answers are required.
func checkAnswers(questions []protocol.Question, dec Decision) error {
	if len(questions) == 0 || dec.Answers == nil && dec.Answer == nil {
		return nil
	}
	if dec.Answers == nil {
		if len(questions) > 1 {
			return fmt.Errorf("the request has %d questions: send answers, an object with their values by id", len(questions))
		}
		return checkAnswer(questions[0], dec.Answer)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(dec.Answers, &all); err != nil {
		return errors.New("answers must be an object with the values by question id")
	}
	ids := map[string]bool{}
	for _, q := range questions {
		ids[q.ID] = true
		v, there := all[q.ID]
		if !there {
			if q.Required {
				return fmt.Errorf("%s: missing answer", q.ID)
			}
			continue
		}
		if err := checkAnswer(q, v); err != nil {
			return err
		}
	}
	for id := range all {
		if !ids[id] {
			return fmt.Errorf("%s: no question has this id", id)
		}
	}
	return nil
}

func checkAnswer(q protocol.Question, v json.RawMessage) error {
	var text string
	var flag bool
	var list []json.RawMessage
	switch q.Kind {
	case protocol.KindText:
		if json.Unmarshal(v, &text) != nil || text == "" && string(v) != `""` {
			return fmt.Errorf("%s: must be a string", q.ID)
		}
	case protocol.KindConfirm:
		if json.Unmarshal(v, &flag) != nil || string(v) == "null" {
			return fmt.Errorf("%s: must be true or false", q.ID)
		}
	case protocol.KindChoice:
		return checkOption(q, v)
	case protocol.KindMulti:
		if json.Unmarshal(v, &list) != nil || list == nil {
			return fmt.Errorf("%s: must be an array", q.ID)
		}
		for _, one := range list {
			if err := checkOption(q, one); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOption(q protocol.Question, v json.RawMessage) error {
	if q.AllowOther {
		return nil
	}
	var have []string
	for _, o := range q.Options {
		if sameJSON(o.Value, v) {
			return nil
		}
		have = append(have, string(o.Value))
	}
	return fmt.Errorf("%s: must be one of %v", q.ID, have)
}

func sameJSON(a, b json.RawMessage) bool {
	x, errA := jcs.Canonical(a)
	y, errB := jcs.Canonical(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
