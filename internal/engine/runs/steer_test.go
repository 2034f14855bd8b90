package runs

import (
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/tape"
)

// resumedRun is a run that another process resumes before its history is read.
type resumedRun struct {
	journal.Run
	resume func() error
}

// Read resumes the run and returns its history.
func (r *resumedRun) Read() (*journal.History, error) {
	if err := r.resume(); err != nil {
		return nil, err
	}
	return r.Run.Read()
}

// TestAbandonedSteer checks what the sender of a message learns whose run has no process any more,
// also if another process resumes the run at the same time. Only a message that no host has
// received is refused.
func TestAbandonedSteer(t *testing.T) {
	code := 0
	const unconfirmed = "job stopped before it confirmed the message"
	for name, c := range map[string]struct {
		ends      bool // the run ends
		reply     string
		isDropped bool // the message is not stored any more
		received  bool // the journal contains the message
		outcome   string
		problem   string
	}{
		"interrupted":                       {problem: unconfirmed},
		"ended":                             {ends: true},
		"sent, ended":                       {ends: true, reply: "queued", outcome: "queued"},
		"sent, ended, not confirmed":        {ends: true, isDropped: true, problem: unconfirmed},
		"sent, killed while it was removed": {received: true, outcome: "queued"},
		"sent, ended, killed while it was removed": {ends: true, received: true, outcome: "queued"},
		"sent, removed": {isDropped: true, received: true, outcome: "queued"},
	} {
		t.Run(name, func(t *testing.T) {
			w, dir := asking(t)
			run, id := rundir.At(dir), journal.NewSteerID()
			if err := journal.PutSteer(run, id, journal.SteerRequest{Text: "stop"}, "Ada"); err != nil {
				t.Fatal(err)
			}
			resumed := &resumedRun{run, func() error {
				var err error
				if c.reply != "" {
					err = journal.PutSteerReply(run, id, &journal.SteerReply{Host: "W", Outcome: c.reply})
				}
				if c.isDropped {
					err = run.DropAnswer(id)
				}
				if c.received {
					w.Append(linesWith(t, id))
				}
				if c.ends {
					w.Append(&journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: &code}})
				}
				return errors.Join(err, w.Flush(journal.Written))
			}}
			reply, err := abandonSteer(resumed, "job", "concerto runs resume job", id, nil)
			if p, failed := errors.AsType[*Problem](err); failed != (c.problem != "") || failed && !strings.Contains(p.Message, c.problem) {
				t.Fatalf("the error is %v, want %q", err, c.problem)
			}
			if c.problem == "" && reply.Outcome != c.outcome {
				t.Errorf("the outcome is %q, want %q", reply.Outcome, c.outcome)
			}
			if c.received {
				if a, err := run.Answer(id); a != nil || err != nil || reply.Host != "W" {
					t.Errorf("after a reply of host %q, the message is stored: %v, error %v", reply.Host, a != nil, err)
				}
			}
		})
	}
}

// linesWith returns a record of a host's messages, the second of which is the message with an id
// that the host has received.
func linesWith(t *testing.T, id string) *journal.Record {
	t.Helper()
	entry, err := tape.EntryOf(5, effect.KindExchangeNext, &effect.ExchangeMessages{Messages: []effect.HostMessage{
		effect.NewSteered(&effect.SteeredNote{Key: "steer-0", Host: "V", Outcome: "received", By: effect.ByAnswer}),
		effect.NewSteered(&effect.SteeredNote{Key: id, Host: "W", Text: "stop", Outcome: "queued", By: effect.ByAnswer, Name: "Ada"}),
	}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &journal.Record{RecordKind: journal.KLines, Effect: entry.E, Of: 4, ResultMembers: journal.ResultMembers{FirstLine: 1, Lines: entry.Lines, Decided: entry.Decided}}
}
