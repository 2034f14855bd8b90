package durable

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Change replaces the result of an effect in a fork. At most one of Answer, Result and Error is
// set.
type Change struct {
	Effect int64
	Answer *string         // answer to an awaited emit, in the form that a person types
	Result json.RawMessage // JSON; nil if it is not set
	Error  *string         // message of an error
}

// NoEffect means that the journal contains no effect with this number.
type NoEffect struct {
	Effect, Last int64
	Damage       error // damage after the last readable record; nil if the journal is complete
}

func (e *NoEffect) Error() string {
	text := fmt.Sprintf("the journal has no effect %d; the last one is %d", e.Effect, e.Last)
	if e.Damage != nil {
		text += "; after it the journal is " + e.Damage.Error()
	}
	return text
}

// Forked returns the records of a fork: the records of the history up to the changed effect, with
// the result of that effect replaced. by is recorded as the author of the change, and id is that of
// the fork.
func Forked(h *journal.History, c Change, by, id string) ([]*journal.Record, error) {
	var out []*journal.Record
	var begin *journal.Record
	last := int64(0)
	for _, r := range h.Records {
		last = max(last, r.Effect)
		switch r.RecordKind {
		case journal.KBegin, journal.KDid, journal.KEnd, journal.KLines, journal.KPlace, journal.KSecret:
		default:
			continue
		}
		copied := *r
		if err := asWorker(&copied, id); err != nil {
			return nil, err
		}
		if r.Effect != c.Effect || r.RecordKind == journal.KPlace {
			out = append(out, &copied)
			continue
		}
		if r.RecordKind == journal.KBegin {
			begin = r
			out = append(out, &copied)
			continue
		}
		err := c.applyTo(&copied, begin)
		return append(out, &copied), err
	}
	if begin == nil {
		none := &NoEffect{Effect: c.Effect, Last: last}
		if h.Damage != nil {
			none.Damage = h.Damage
		}
		return nil, none
	}
	end := &journal.Record{RecordKind: journal.KEnd, Effect: c.Effect}
	if !c.isSet() {
		return out, nil // the change contains no result, so the effect is performed again
	}
	err := c.applyTo(end, begin)
	end.By = by
	return append(out, end), err
}

// asWorker replaces the id of the run in the record of a request that contains it, so that the fork
// makes the recorded request.
func asWorker(r *journal.Record, id string) error {
	var q effect.Request
	var worker *string
	switch claim, update := (&effect.QueueClaim{}), (&effect.QueueUpdate{}); {
	case r.Request == nil:
		return nil
	case r.Kind == string(claim.Kind()):
		q, worker = claim, &claim.Worker
	case r.Kind == string(update.Kind()):
		q, worker = update, &update.Worker
	default:
		return nil
	}
	if err := json.Unmarshal(r.Request, q); err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	if *worker != "" {
		*worker = id
	}
	text, err := tape.Request(q)
	if err != nil {
		return err
	}
	r.Request, r.Digest = text, digestOf(text)
	return nil
}

// Fork returns the description of the change for the start record of the fork.
func (c *Change) Fork(run string) *journal.Fork {
	f := &journal.Fork{Run: run, At: c.Effect, Flag: "--at"}
	switch {
	case c.Answer != nil:
		f.Flag, f.Answer = "--answer", quoteText(*c.Answer)
	case c.Error != nil:
		f.Flag, f.Answer = "--error", quoteText(*c.Error)
	case c.Result != nil:
		f.Flag, f.Answer = "--result", c.Result
	}
	return f
}

func quoteText(s string) json.RawMessage {
	b, _ := jsonwrite.Encode(s) // encoding a string does not fail
	return b
}

func (c *Change) isSet() bool { return c.Answer != nil || c.Result != nil || c.Error != nil }

// applyTo replaces the result in r, the record with the end of the effect. begin is the begin
// record of the effect; nil if there is none.
func (c *Change) applyTo(r, begin *journal.Record) error {
	if !c.isSet() {
		return nil
	}
	q := effect.Kind(r.Kind)
	if begin != nil {
		q = effect.Kind(begin.Kind)
	}
	if r.RecordKind == journal.KLines {
		q = effect.KindExchangeNext
	}
	switch {
	case c.Error != nil:
		text, err := json.Marshal(tape.FailureOf(effect.Errorf(errorKind(q), "%s", *c.Error)))
		if err != nil {
			return err
		}
		*r = journal.Record{RecordKind: r.RecordKind, Effect: r.Effect, Kind: r.Kind, Of: r.Of, RequestMembers: r.RequestMembers, Moment: r.Moment, ResultMembers: journal.ResultMembers{Outcome: "none", Err: text}}
		if q == effect.KindExchangeNext {
			r.RecordKind, r.Kind = journal.KDid, string(q)
		}
		return nil
	case c.Answer != nil && q != effect.KindAwaitEmit:
		return fmt.Errorf("effect %d is not an awaited emit, but %s: use --result or --error", r.Effect, q)
	case q == effect.KindExchangeNext:
		return fmt.Errorf("effect %d contains messages of a host: use --error, or fork at an answer to them", r.Effect)
	}
	v := c.Result
	if c.Answer != nil {
		question := questionOf(begin)
		value, err := question.Read(*c.Answer, false)
		if err != nil {
			return fmt.Errorf("effect %d is waiting for %s: %w", r.Effect, question.Type, err)
		}
		if v, err = json.Marshal(effect.Answer{Value: value, By: effect.ByCommandLine}); err != nil {
			return err
		}
	}
	entry := tape.Entry{Q: q, V: v}
	if _, _, err := entry.Outcome(r.Effect); err != nil {
		return fmt.Errorf("invalid result for effect %d (%s): %w", r.Effect, q, err)
	}
	r.ResultMembers = journal.ResultMembers{Outcome: r.Outcome, Result: v}
	if r.RecordKind == journal.KEnd {
		r.Outcome = "done"
	}
	return nil
}

// errorKind returns the type of the errors that effects of a kind return.
func errorKind(k effect.Kind) string {
	switch row := effect.Lookup(k); row.By {
	case effect.Output:
		return "EmitError"
	case effect.Models:
		return "AgentError"
	case effect.Hosts:
		return "HostError"
	case effect.Files:
		return "FsError"
	case effect.Web:
		return "HttpError"
	case effect.Servers, effect.Commands, effect.Applications:
		return "ToolError"
	case effect.Stores:
		if strings.HasPrefix(string(k), "queue.") {
			return "QueueError"
		}
		return "HashMapError"
	}
	return "RuntimeError"
}
