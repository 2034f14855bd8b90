package enginemachine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/ingest"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// updateRequests opens requests for the new questions of a run, and closes those of questions that
// are not open any more. complete is false if the run has more questions than requests are allowed.
func (s *Source) updateRequests(ctx context.Context, r *run, row *postgres.Row) (complete bool, err error) {
	asked := map[string]bool{}
	for i := range row.Questions {
		asked[row.Questions[i].ID] = true
	}
	open := map[string]*protocol.PermissionRequested{}
	for _, q := range s.requests.Open(r.id) {
		if open[q.RequestID] = &q; asked[q.RequestID] {
			continue
		}
		if err := s.closeRequest(ctx, r, &q); err != nil {
			return false, err
		}
	}
	for i := range row.Questions {
		q := &row.Questions[i]
		if known := open[q.ID]; known != nil {
			s.requests.Attach(r.id, q.ID, s.request(r, *known, q.Schema)) // it may have been restored
			continue
		}
		if _, decided := s.requests.Outcome(r.id, q.ID); decided {
			continue
		}
		data := requestOf(q)
		s.redact.Request(&data)
		_, err := s.requests.Submit(ctx, r.id, s.request(r, data, q.Schema))
		var refused *approvals.Error
		if errors.As(err, &refused) && refused.Code == protocol.RateLimited {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// requestOf returns the request for a question.
func requestOf(q *journal.Question) protocol.PermissionRequested {
	since := time.UnixMilli(q.Since)
	if q.Channel == journal.UnknownChannel {
		return unknownRequest(q)
	}
	for _, m := range hostmsg.Messages() {
		if m.Role == hostmsg.Asks && m.Channel == q.Channel {
			return client.NewRequest(q.ID, &effect.AskHost{Asking: effect.Asking{Type: m.Type}, Message: q.Payload}, since)
		}
	}
	return client.NewRequest(q.ID, &effect.AwaitEmit{Channel: q.Channel, Payload: q.Payload, Schema: q.Schema, Type: q.Type}, since)
}

// unknownRequest returns the request for a question about the outcome of an effect.
func unknownRequest(q *journal.Question) protocol.PermissionRequested {
	all := protocol.Question{ID: protocol.WholeAnswer, Question: "outcome: " + q.Type, Kind: protocol.KindChoice, Required: true, AllowOther: true}
	for _, option := range []string{"retry", "fail", "done"} {
		all.Options = append(all.Options, protocol.Option{Value: json.RawMessage(`"` + option + `"`), Label: option})
	}
	return protocol.PermissionRequested{RequestID: q.ID, Reason: protocol.ReasonChoice, Prompt: "the outcome of an effect is unknown", OpArgs: client.Shorten(q.Payload),
		Questions: []protocol.Question{all}, From: &protocol.Origin{Kind: protocol.FromEmit, Channel: q.Channel}}
}

// request returns how a request is checked and decided. schema is that of the answer, or nil if it
// is unknown.
func (s *Source) request(r *run, q protocol.PermissionRequested, schema json.RawMessage) approvals.Request {
	return approvals.Request{Data: q, Persistent: true,
		Check: func(d approvals.Decision) error {
			_, err := answerOf(&q, schema, d)
			return err
		},
		Apply: func(ctx context.Context, d approvals.Decision) ([]approvals.Event, error) {
			a, err := answerOf(&q, schema, d)
			if err != nil {
				return nil, err
			}
			return nil, s.answer(ctx, r.Run, q.RequestID, a)
		}}
}

// answerOf returns the answer in the engine for a decision. The error is the reason why the answer
// does not have the type of the question.
func answerOf(q *protocol.PermissionRequested, schema json.RawMessage, d approvals.Decision) (a journal.Answer, err error) {
	m, err := ingest.EncodeAnswer(q, d)
	if err != nil {
		return a, err
	}
	a = journal.Answer{Value: m.Value, By: d.By}
	if a.By == "" {
		a.By = effect.ByRelay
	}
	if m.Value == nil {
		a.Refuse = &m.Error
		return a, nil
	}
	var text string
	if q.From.Channel == journal.UnknownChannel && (json.Unmarshal(m.Value, &text) != nil || !journal.IsResolution(text)) {
		return a, fmt.Errorf("%s: %s is not one of %s", protocol.WholeAnswer, m.Value, journal.Resolutions)
	}
	if q.From.Kind == protocol.FromApproval {
		return a, nil
	}
	return a, ingest.CheckSchema(protocol.Question{ID: protocol.WholeAnswer, Schema: schema}, m.Value)
}

// answer stores an answer in the engine.
func (s *Source) answer(ctx context.Context, run, id string, a journal.Answer) error {
	err := s.o.Engine.AnswerOpen(ctx, run, id, a)
	var first *journal.AnsweredError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &first):
		if first.By == a.By && s.isStored(run, id, a) { // by an earlier attempt, whose result was lost
			return nil
		}
		return approvals.Errorf(protocol.AlreadyDecided, "%s", journal.AnsweredText(id, first.By, first.At))
	case errors.Is(err, journal.ErrNoRun):
		return approvals.Errorf(protocol.UnknownRun, "run %s was removed from the engine", run)
	case errors.Is(err, postgres.ErrNotOpen):
		by, at, err := s.endOf(run, id)
		if err != nil {
			return approvals.Errorf(protocol.Internal, "%v", s.o.Engine.Explain(err, postgres.Client))
		}
		if by != "" {
			return approvals.Errorf(protocol.AlreadyDecided, "%s", journal.AnsweredText(id, by, at))
		}
		return approvals.Errorf(protocol.Expired, "%s no longer waits for an answer: the run has continued without one, or has ended", id)
	}
	return approvals.Errorf(protocol.Internal, "%v; try again", s.o.Engine.Explain(err, postgres.Client))
}

// isStored reports whether the engine contains an answer.
func (s *Source) isStored(run, id string, a journal.Answer) bool {
	stored, err := s.o.Engine.Run(run).Answer(id)
	return err == nil && stored != nil && bytes.Equal(stored.Value, a.Value) && (stored.Refuse == nil) == (a.Refuse == nil)
}

// endOf returns who answered a question that is not open any more, and when, in Unix milliseconds.
// by is "" if it was closed without an answer.
func (s *Source) endOf(run, id string) (by string, at int64, err error) {
	history, err := s.o.Engine.Run(run).ReadUndamaged()
	if errors.Is(err, journal.ErrNoRun) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	by, at, _ = journal.Over(history.Records, id)
	return by, at, nil
}

// closeRequest closes a request whose question is not open any more.
func (s *Source) closeRequest(ctx context.Context, r *run, q *protocol.PermissionRequested) error {
	by, at, err := s.endOf(r.Run, q.RequestID)
	if errors.As(s.o.Engine.Explain(err, postgres.Client), new(*postgres.UnreachableError)) {
		return err
	}
	if err != nil {
		s.o.Log.Warn("could not read who answered a question", "run", r.Run, "question", q.RequestID, "error", err)
	}
	if by == "" {
		return s.requests.Withdraw(ctx, r.id, q.RequestID, "the run does not wait for an answer any more")
	}
	d := approvals.Decision{Decision: approvals.Approve, Actor: "system", By: by, Text: journal.AnsweredText(q.RequestID, by, at)}
	if q.IsQuestion() {
		d.Decision = approvals.Answer
	}
	return s.requests.ResolveRestored(ctx, r.id, q.RequestID, &d, "")
}
