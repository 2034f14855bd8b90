package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
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
	return &lateWriter{Writer: w, run: r}, err
}

// lateWriter answers the question when the run records that it waits.
type lateWriter struct {
	journal.Writer
	run *lateRun
	err error
}

// Append implements journal.Writer.
func (w *lateWriter) Append(r *journal.Record) uint64 {
	if r.RecordKind == journal.KPark {
		w.err = w.run.PutAnswer("q1", journal.Answer{Value: json.RawMessage(`"yes"`), By: "ada", At: 1})
		(<-w.run.watched)()
	}
	return w.Writer.Append(r)
}

// Flush implements journal.Writer.
func (w *lateWriter) Flush(level journal.Level) error {
	return errors.Join(w.err, w.Writer.Flush(level))
}

// TestAnswerDuringPark checks that a run which receives its answer while it parks does not lose it:
// it waits beside the stored answer, with which it is resumed.
func TestAnswerDuringPark(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `fn main() { println(await emit<String>("ask", "continue?")?); }`})
	dir := t.TempDir()
	run := new(memory.Store).Run("late")
	late := &lateRun{Run: run, watched: make(chan func(), 1)}
	sharedRuns.Store(dir, journal.Run(late))
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
	if h.Last().RecordKind != journal.KPark || !journal.IsAnswered(run, "q1") {
		t.Errorf("last record %s, answer stored %v; want a run that waits beside its answer", h.Last().RecordKind, journal.IsAnswered(run, "q1"))
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

// unsteadyRun is a run whose store is not available for the first reads of answers. It reports no
// changes: a read after a change would suspend the run if it failed.
type unsteadyRun struct {
	journal.Run
	failures atomic.Int32 // to come
}

// Watch implements journal.Run.
func (r *unsteadyRun) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

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
	if h, err := run.Read(); err != nil || h.Last().RecordKind != journal.KPark {
		t.Errorf("last record %v, error %v; want that the run is parked", h.Last(), err)
	}
	if left := run.failures.Load(); left >= 0 {
		t.Errorf("%d reads were still to fail: the test shows nothing", left+1)
	}
}

// heldRun is a run whose writer can hold an effect: the first sync after held is set stores its
// records, reports that, and returns when the test lets it.
type heldRun struct {
	journal.Run
	held         atomic.Bool
	stored, free chan struct{}
}

// Create implements journal.Run.
func (r *heldRun) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	w, err := r.Run.Create(start, program, o)
	return &heldWriter{w, r}, err
}

type heldWriter struct {
	journal.Writer
	run *heldRun
}

// Flush implements journal.Writer.
func (w *heldWriter) Flush(level journal.Level) error {
	err := w.Writer.Flush(level)
	if level == journal.Synced && w.run.held.CompareAndSwap(true, false) {
		close(w.run.stored)
		<-w.run.free
	}
	return err
}

// TestEndBesideFlush checks that the end of an effect is stored when the program waits for another
// effect, whose flush has begun before the end existed.
func TestEndBesideFlush(t *testing.T) {
	run := &heldRun{Run: new(memory.Store).Run("held"), stored: make(chan struct{}), free: make(chan struct{})}
	quick, ready := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/quick":
			close(ready)
			<-quick
		case "/ready":
			<-ready
			run.held.Store(true)
		}
	}))
	defer s.Close()
	p := compile(t, map[string]string{"main.conc": strings.ReplaceAll(`use std::http;
async fn quick() { http::post("URL/quick", ""); }
async fn slow() { http::get("URL/ready"); http::post("URL/slow", ""); }
fn main() { let _ = await (quick(), slow()); }`, "URL", s.URL)})
	dir := t.TempDir()
	sharedRuns.Store(dir, journal.Run(run))
	o := Options{Dir: dir, Records: Records{Durable: &Durable{Dir: dir}}}
	o.Session.SessionID = "held"
	ended := make(chan error)
	go func() { ended <- p.Run(t.Context(), o) }()
	<-run.stored
	close(quick)
	for isStored := false; !isStored; runtime.Gosched() {
		h, err := run.Read()
		if err != nil {
			t.Fatal(err)
		}
		isStored = slices.ContainsFunc(h.Records, func(r *journal.Record) bool { return r.RecordKind == journal.KEnd && r.Effect == 1 })
	}
	close(run.free)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
