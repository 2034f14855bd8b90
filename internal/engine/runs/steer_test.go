package runs

import (
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
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
		isDropped bool // the journal contains the message
		outcome   string
		problem   string
	}{
		"interrupted":                {problem: unconfirmed},
		"ended":                      {ends: true},
		"sent, ended":                {ends: true, reply: "queued", outcome: "queued"},
		"sent, ended, not confirmed": {ends: true, isDropped: true, problem: unconfirmed},
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
				if c.ends {
					w.Append(&journal.Record{K: journal.KFinish, Rest: journal.Rest{Code: &code}})
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
		})
	}
}
