package runs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// Problem is the error for a question that cannot be answered, or a run that cannot be stopped or
// removed.
type Problem struct{ Message, Hint string }

func (e *Problem) Error() string { return e.Message }

// Response is the answer to a pending question. It is either a refusal, or a text. The text is JSON
// if JSON is set, and otherwise in the form of the expected type.
type Response struct {
	Text   string
	JSON   bool
	Refuse *string
	By     string
	// Note, if not nil, receives a remark about how the text was read.
	Note func(string)
}

// Answer answers a pending question of a run. The error is a *Problem or an error of durable.Open.
func Answer(run journal.Run, id string, a Response) error {
	s, err := durable.Open(run)
	if err != nil {
		return err
	}
	return answerStored(s, id, a)
}

// AnswerChannel answers the oldest open question of a run on a channel. The errors are those of
// Answer.
func AnswerChannel(run journal.Run, channel string, a Response) error {
	s, err := durable.Newest(run)
	if err != nil {
		return err
	}
	run = s.Run
	running, err := s.Run.IsRunning()
	if err != nil {
		return err
	}
	shown, err := showStored(s, running)
	if err != nil {
		return err
	}
	answered := ""
	for _, q := range shown.Pending {
		if q.Channel != channel {
			continue
		}
		if !journal.IsAnswered(run, q.ID) {
			return answerStored(s, q.ID, a)
		}
		answered = q.ID
	}
	if answered != "" { // the run has not received the answer yet
		return answerStored(s, answered, a)
	}
	return &Problem{Message: fmt.Sprintf("no question waits on channel %s%s", channel, others(shown))}
}

// answerSuccessor answers the question of a run's successor that repeats a question of the run.
func answerSuccessor(s *durable.Stored, id string, a Response) error {
	next, again, err := repeated(s, id)
	if err != nil {
		return err
	}
	if next == nil {
		return &Problem{fmt.Sprintf("run %s has continued as %s, which has not asked %s again", s.Start.Run, s.Next.Run, id), "`concerto runs show " + s.Next.Run + "` lists its questions"}
	}
	if a.Note != nil {
		a.Note(fmt.Sprintf("run %s has continued as %s, where this is question %s", s.Start.Run, s.Next.Run, again))
	}
	return answerStored(next, again, a)
}

// repeated returns the successor of a run and the id of the question that repeats a question of the
// run. next is nil if the successor has not asked it.
func repeated(s *durable.Stored, id string) (next *durable.Stored, again string, err error) {
	next, err = s.OpenNext()
	if errors.Is(err, journal.ErrNoRun) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	again, ok := next.CarriedAs(id)
	if !ok {
		return nil, "", nil
	}
	return next, again, nil
}

// passesOn reports whether a run has continued and its successor may ask a question of the run
// again.
func passesOn(s *durable.Stored, id string) bool {
	return s.Next != nil && slices.ContainsFunc(s.Next.Continues.Questions, func(q effect.CarriedQuestion) bool { return q.ID == id })
}

// answerStored answers a question of a run that was read before.
func answerStored(s *durable.Stored, id string, a Response) error {
	if passesOn(s, id) {
		return answerSuccessor(s, id, a)
	}
	running, err := s.Run.IsRunning()
	if err != nil {
		return err
	}
	shown, err := showStored(s, running)
	if err != nil {
		return err
	}
	if by, at, ok := journal.WasAnswered(s.History, id); ok {
		return answeredBy(id, by, at)
	}
	q := shown.Question(id)
	if q == nil {
		if durable.WasAsked(s.History, id) {
			return withdrawn(s, id)
		}
		return notWaiting(shown, id)
	}
	written := journal.Answer{Refuse: a.Refuse, By: a.By, Synced: s.History.Synced(), Seen: s.History.N}
	if a.Refuse == nil {
		if !a.JSON && a.Note != nil && q.ReadsObject(a.Text) {
			a.Note("the answer to " + q.ID + " is read as a JSON object, because it decides a request for approval")
		}
		if written.Value, err = q.Read(a.Text, a.JSON); err != nil {
			return &Problem{fmt.Sprintf("invalid answer for %s, which waits for %s: %v", id, q.Type, err), "the question stays"}
		}
	}
	err = s.Run.PutAnswer(id, written)
	if first, ok := errors.AsType[*journal.AnsweredError](err); ok {
		if *first == (journal.AnsweredError{}) {
			return &Problem{Message: id + " was answered already"}
		}
		return answeredBy(id, first.By, first.At)
	}
	if err != nil {
		return err
	}
	return withdrawLate(s, id, &written)
}

// withdrawLate removes the answer that was just written if the question had already ended in
// another way, because the run then ignores the answer. If the run has continued, its successor
// receives the answer.
func withdrawLate(s *durable.Stored, id string, written *journal.Answer) error {
	now, err := durable.Open(s.Run)
	if err != nil {
		return err
	}
	if passesOn(now, id) {
		return passOn(now, id, written)
	}
	h := now.History
	by, at, over := journal.Over(h.Records[min(len(h.Records), len(s.History.Records)):], id)
	if !over && h.Last().RecordKind != journal.KFinish || over && by == cmp.Or(written.By, effect.ByAnswer) {
		return nil // the run will accept the answer, or has accepted it
	}
	if err := s.Run.DropAnswer(id); err != nil {
		return err
	}
	if by != "" {
		return answeredBy(id, by, at)
	}
	return withdrawn(s, id)
}

// passOn passes an answer that a run has not read to its successor. If the successor has not asked
// the question again, it finds the answer when it does.
func passOn(s *durable.Stored, id string, written *journal.Answer) error {
	next, again, err := repeated(s, id)
	if err != nil || next == nil {
		return err
	}
	written.Seen = 0
	err = next.Run.PutAnswer(again, *written)
	if first, ok := errors.AsType[*journal.AnsweredError](err); ok && first.By != written.By {
		return answeredBy(again, first.By, first.At)
	} else if err != nil && !ok {
		return err
	}
	return withdrawLate(next, again, written)
}

// withdrawn returns the error for a question that has ended without an answer.
func withdrawn(s *durable.Stored, id string) error {
	p := &Problem{Message: id + " no longer waits for an answer: the run has continued without one, or has ended"}
	if e, ok := strings.CutPrefix(id, "q"); ok {
		p.Hint = fmt.Sprintf("concerto runs fork %s --at %s --answer VALUE continues from there with an answer", s.Run.Name(), e)
	}
	return p
}

func answeredBy(id, by string, at int64) error {
	return &Problem{Message: journal.AnsweredText(id, by, at)}
}

// notWaiting returns the error for an unknown question id. It lists the open questions.
func notWaiting(s *durable.Shown, id string) error {
	if s.Exit != nil {
		return &Problem{Message: fmt.Sprintf("there is no question %s: the run has ended", id)}
	}
	return &Problem{Message: fmt.Sprintf("there is no question %s%s", id, others(s))}
}

// others returns the end of a message that lists the open questions.
func others(s *durable.Shown) string {
	ids := make([]string, 0, len(s.Pending)+len(s.Unknown))
	for _, q := range s.Pending {
		ids = append(ids, q.ID+" "+q.Channel)
	}
	for _, u := range s.Unknown {
		ids = append(ids, u.ID+" run:unknown")
	}
	if len(ids) == 0 {
		return ": the run waits for no answer"
	}
	return "; these wait: " + strings.Join(ids, ", ")
}

// IsReady reports whether a waiting run in a directory could continue, because an answer or
// another result has arrived, or a timer has expired. s is its state.
func IsReady(run *rundir.Directory, s *durable.Shown, now time.Time) bool {
	if s.Next != nil { // its process may have been killed before it created the successor
		return !run.HadSuccessor() && !rundir.At(run.Sibling(s.Next.Name).Name()).Begun()
	}
	return s.State == durable.Waiting && (s.CanContinue || slices.ContainsFunc(s.Pending, func(q durable.ShownQuestion) bool { return journal.IsAnswered(run, q.ID) }) ||
		slices.ContainsFunc(s.Unknown, func(u durable.ShownUnknown) bool { return journal.IsAnswered(run, u.ID) }) ||
		slices.ContainsFunc(s.Timers, func(t durable.ShownTimer) bool {
			expiry, err := time.Parse(time.RFC3339, t.Due)
			return err == nil && !expiry.After(now)
		}))
}
