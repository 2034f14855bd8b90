package durable

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime/host"
)

// steered answers all messages to hosts with an outcome, or refuses them because no host is
// running.
type steered string

func (s steered) Steer(context.Context, host.Message) (name, outcome string, err error) {
	if s == "" {
		return "", "", &host.SelectError{}
	}
	return "W", string(s), nil
}

func (s steered) SetDelivered(*effect.SteeredNote) {}

// replyingRun is a run that reports the reply to a message, and whether the message is stored at
// that moment. drop is the error of removing a message.
type replyingRun struct {
	journal.Run
	id      string
	drop    error
	replies chan journal.SteerReply
	stored  chan bool
}

func (r *replyingRun) PutAnswer(id string, a journal.Answer) error {
	message, err := r.Answer(r.id)
	var reply journal.SteerReply
	if err := errors.Join(err, json.Unmarshal(a.Value, &reply)); err != nil {
		return err
	}
	r.replies <- reply
	r.stored <- message != nil
	return nil
}

func (r *replyingRun) DropAnswer(id string) error {
	if r.drop != nil {
		return r.drop
	}
	return r.Run.DropAnswer(id)
}

// TestSteerReply checks that a refused message is no longer stored when its sender is notified,
// because another process would send it, and that a received one still is, until the journal
// contains it.
func TestSteerReply(t *testing.T) {
	for name, c := range map[string]struct {
		outcome, problem string
		drop             error
		isStored         bool
	}{
		"refused":     {},
		"not removed": {drop: errors.New("the disk is read-only"), isStored: true, problem: "the message was not sent, but it cannot be removed, so that it may be sent later: the disk is read-only"},
		"received":    {outcome: effect.SteerQueued, isStored: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := rundir.At(filepath.Join(t.TempDir(), "job"))
			w := createRun(t, d)
			defer w.Close()
			id := journal.NewSteerID()
			if err := journal.PutSteer(d, id, journal.SteerRequest{Text: "stop"}, "Ada"); err != nil {
				t.Fatal(err)
			}
			stored := &replyingRun{Run: d, id: id, drop: c.drop, replies: make(chan journal.SteerReply), stored: make(chan bool)}
			r := New(Config{ID: "r_1", Stored: stored, Writer: w, Remark: func(text string) { t.Error(text) }})
			SetSteerer(r, steered(c.outcome))
			ApplySteers(r)
			if reply := <-stored.replies; reply.Outcome != c.outcome || reply.Error != c.problem {
				t.Errorf("the reply is %+v, want the outcome %q and the error %q", reply, c.outcome, c.problem)
			}
			if isStored := <-stored.stored; isStored != c.isStored {
				t.Errorf("when the sender is notified, the message is stored: %v, want %v", isStored, c.isStored)
			}
		})
	}
}

// createRun creates a run in a directory.
func createRun(t *testing.T, d *rundir.Directory) journal.Writer {
	t.Helper()
	program := []byte("program")
	start := journal.Start{Run: "r_1", IR: hexsum.SHA256(program), Args: []string{}, Inputs: json.RawMessage("{}"), Session: json.RawMessage("{}"), Seed: "1", Flags: json.RawMessage("{}")}
	w, err := d.Create(start, program, journal.Options{Sync: journal.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return w
}
