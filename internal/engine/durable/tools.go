package durable

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// toolCalls contains what earlier processes knew about the run's tool calls, which the performer
// stores only in memory.
type toolCalls struct {
	byKey    map[string]*toolCall // by the call's key
	sessions []string             // calls whose approval is valid for the session
	allowed  bool                 // the approvals were restored
}

// scopeSession is the scope of an approval that is valid for the session.
const scopeSession = "session"

// toolCall is a prepared call.
type toolCall struct {
	e       int64 // the effect that prepared it
	prepare *effect.AppPrepare
	decide  *effect.AppDecide // nil before a decision
	here    bool              // the performer knows it
}

// readJournal reads them from the journal.
func (t *toolCalls) readJournal(r *Run) {
	t.byKey = map[string]*toolCall{}
	if r.c.History == nil {
		return
	}
	before := []*journal.Record{}
	if s := r.c.Restored; s != nil {
		before = s.Approved
	}
	for _, x := range slices.Concat(before, r.c.History.Records) {
		if x.K != journal.KDid || x.Err != nil {
			continue
		}
		switch effect.Kind(x.Q) {
		case effect.KindAppPrepare:
			q := &effect.AppPrepare{}
			if json.Unmarshal(secret.RestoreJSON(x.R, r.c.Secret), q) == nil {
				t.byKey[q.CallID] = &toolCall{e: x.E, prepare: q}
			}
		case effect.KindAppDecide:
			q := &effect.AppDecide{}
			if json.Unmarshal(secret.RestoreJSON(x.R, r.c.Secret), q) == nil {
				t.recordDecision(q, x)
			}
		}
	}
}

func (t *toolCalls) recordDecision(q *effect.AppDecide, x *journal.Record) {
	c := t.byKey[q.CallID]
	if c == nil {
		return
	}
	c.decide = q
	var v effect.AppVerdict
	if json.Unmarshal(x.V, &v) == nil && v.Decided != nil && v.Decided.Scope == scopeSession {
		t.sessions = append(t.sessions, q.CallID)
	}
}

// restorePrepared restores in the performer the call that a request refers to, and the approvals
// for the session.
func (w *world) restorePrepared(ctx context.Context, q effect.Request) error {
	t := &w.run.tools
	if w.run.c.History == nil {
		return nil
	}
	call := ""
	switch q := q.(type) {
	case *effect.AppPrepare:
		call = q.CallID
	case *effect.AppDecide:
		call = q.CallID
	case *effect.AppCall:
		call = q.CallID
	case *effect.AuditCall:
		call = q.CallID
	default:
		return nil
	}
	w.run.preparing.Lock()
	defer w.run.preparing.Unlock()
	if t.byKey == nil {
		t.readJournal(w.run)
	}
	if !t.allowed {
		t.allowed = true
		for _, id := range t.sessions {
			if err := w.prepare(ctx, t.byKey[id], true); err != nil {
				return err
			}
		}
	}
	_, deciding := q.(*effect.AppDecide)
	if c := t.byKey[call]; c != nil && q.Kind() != effect.KindAppPrepare {
		return w.prepare(ctx, c, !deciding)
	}
	return nil
}

// prepare prepares a call again, and applies the earlier decision.
func (w *world) prepare(ctx context.Context, c *toolCall, decide bool) error {
	if c.here {
		return nil
	}
	c.here = true
	result, err := w.next.Perform(ctx, c.prepare)
	if err == nil {
		_, err = w.mapResult(c.prepare, &inFlight{e: c.e}, result, nil)
	}
	if err == nil && decide && c.decide != nil {
		_, err = w.next.Perform(ctx, c.decide)
	}
	return err
}

// approves stores the records of an approval that is valid for the session.
func (r *Run) approves(q effect.Request, result effect.Result, x *journal.Record) {
	decide, ok := q.(*effect.AppDecide)
	if v, gave := result.(*effect.AppVerdict); !ok || !gave || x == nil || v.Decided == nil || v.Decided.Scope != scopeSession {
		return
	}
	for _, o := range r.openers {
		if preparedAs(o.Record) == decide.CallID {
			r.approved = append(r.approved, o.Record, x)
		}
	}
}

// preparedAs returns the key of the call that a record prepared, or "".
func preparedAs(x *journal.Record) string {
	var prepare effect.AppPrepare
	if x.Q != string(effect.KindAppPrepare) || json.Unmarshal(x.R, &prepare) != nil {
		return ""
	}
	return prepare.CallID
}

// isCallingTool reports whether a tool call is running: no snapshot contains the performer's state.
func (r *Run) isCallingTool() bool {
	for of := range r.openers {
		if of.family != effect.KindMCPOpen.Family() {
			return true
		}
	}
	return false
}
