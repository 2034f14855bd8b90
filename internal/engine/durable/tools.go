package durable

import (
	"context"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// toolCalls contains the run's tool calls in earlier processes. A resumed run restores them in the
// performer, which stores them only in memory.
type toolCalls struct {
	byKey    map[string]*toolCall // by the key of the call
	sessions []string             // keys of the calls that were approved for the whole session
	allowed  bool                 // the approvals were restored in the performer
}

// scopeSession is the scope of an approval for the whole session.
const scopeSession = "session"

// toolCall is a prepared call.
type toolCall struct {
	e       int64 // number of the effect that prepared the call
	prepare *effect.AppPrepare
	decide  *effect.AppDecide // nil if there was no decision
	here    bool              // the call was restored in the performer
}

// readJournal sets the calls from the records of earlier processes.
func (t *toolCalls) readJournal(r *Run) {
	t.byKey = map[string]*toolCall{}
	if r.c.History == nil {
		return
	}
	for _, x := range r.c.History.Records {
		if x.RecordKind != journal.KDid || x.Err != nil {
			continue
		}
		switch effect.Kind(x.Kind) {
		case effect.KindAppPrepare:
			q := &effect.AppPrepare{}
			if json.Unmarshal(secret.RestoreJSON(x.Request, r.c.Secret), q) == nil {
				t.byKey[q.CallID] = &toolCall{e: x.Effect, prepare: q}
			}
		case effect.KindAppDecide:
			q := &effect.AppDecide{}
			if json.Unmarshal(secret.RestoreJSON(x.Request, r.c.Secret), q) == nil {
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
	if json.Unmarshal(x.Result, &v) == nil && v.Decided != nil && v.Decided.Scope == scopeSession {
		t.sessions = append(t.sessions, q.CallID)
	}
}

// restorePrepared restores the call that q refers to in the performer. The first time, it also
// restores the approvals for the whole session.
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

// prepare prepares a call in the performer again. If decide is set, it also repeats the earlier
// decision about the call.
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

// preparedAs returns the key of the call that a record prepared, or "" for other records.
func preparedAs(x *journal.Record) string {
	var prepare effect.AppPrepare
	if x.Kind != string(effect.KindAppPrepare) || json.Unmarshal(x.Request, &prepare) != nil {
		return ""
	}
	return prepare.CallID
}
