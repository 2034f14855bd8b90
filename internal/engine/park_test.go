package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/memory"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// lateRun is a run whose question is answered while the run is being suspended: after the decision
// to park, and before the run has left its process.
type lateRun struct {
	journal.Run
	watched chan func()
}

// Watch implements journal.Run.
func (r *lateRun) Watch(ctx context.Context, changed func()) {
	r.watched <- changed
	<-ctx.Done()
}

// Create implements journal.Run.
func (r *lateRun) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	w, err := r.Run.Create(start, program, o)
	return &lateWriter{w, r}, err
}

// lateWriter answers the question when the suspended run stores its snapshot.
type lateWriter struct {
	journal.Writer
	run *lateRun
}

// PutSnapshot implements journal.Writer.
func (w *lateWriter) PutSnapshot(s uint64, data []byte) error {
	err := w.Writer.PutSnapshot(s, data)
	changed := <-w.run.watched
	defer changed()
	return errors.Join(err, w.run.PutAnswer("q1", journal.Answer{Value: json.RawMessage(`"yes"`), By: "ada", At: 1}))
}

// TestAnswerDuringPark checks that a run which receives its answer while it parks does not wait any
// more: no worker would claim a run that waits for nothing.
func TestAnswerDuringPark(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `fn main() { println(await emit<String>("ask", "continue?")?); }`})
	dir := t.TempDir()
	run := new(memory.Store).Run("late")
	sharedRuns.Store(dir, journal.Run(&lateRun{run, make(chan func(), 1)}))
	o := Options{Dir: dir, Records: Records{Durable: &Durable{Dir: dir, Park: true}},
		OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, tool.ErrNoApprover
		}}
	o.Session.SessionID = "late"
	if err := p.Run(t.Context(), o); !errors.As(err, new(*Suspended)) {
		t.Fatalf("error %v, want that the run is suspended", err)
	}
	h, err := run.Read()
	if err != nil {
		t.Fatal(err)
	}
	answered := false
	for _, r := range h.Records {
		answered = answered || r.K == journal.KEnd && r.E == 1
	}
	if last := h.Last().K; !answered || last == journal.KPark {
		t.Errorf("answered %v, last record %s; want the answer, and no record that the run waits", answered, last)
	}
	sharedRuns.Store(dir, run)
	s, err := OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if out, _, err := run.Out(); err != nil || len(out) != 2 {
		t.Errorf("output %q, error %v; want two lines", out, err)
	}
}

// unsteadyRun is a run whose store is not available for the first reads of answers.
type unsteadyRun struct {
	journal.Run
	failures atomic.Int32 // to come
}

// Answer implements journal.Run.
func (r *unsteadyRun) Answer(id string) (*journal.Answer, error) {
	if r.failures.Add(-1) >= 0 {
		return nil, errors.New("the connection was closed")
	}
	return r.Run.Answer(id)
}

// TestParkAfterError checks that a run which waits for an answer parks also if the store was not
// available when it began to wait.
func TestParkAfterError(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `fn main() { println(await emit<String>("ask", "continue?")?); }`})
	dir := t.TempDir()
	run := &unsteadyRun{Run: new(memory.Store).Run("unsteady")}
	run.failures.Store(3)
	sharedRuns.Store(dir, journal.Run(run))
	o := Options{Dir: dir, Records: Records{Durable: &Durable{Dir: dir, Park: true}},
		OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, tool.ErrNoApprover
		}}
	o.Session.SessionID = "unsteady"
	if err := p.Run(t.Context(), o); !errors.As(err, new(*Suspended)) {
		t.Fatalf("error %v, want that the run is suspended", err)
	}
	if h, err := run.Read(); err != nil || h.Last().K != journal.KPark {
		t.Errorf("last record %v, error %v; want that the run is parked", h.Last(), err)
	}
	if left := run.failures.Load(); left >= 0 {
		t.Errorf("%d reads were still to fail: the test shows nothing", left+1)
	}
}
