package engine

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// unwatchedRun is a run in a directory that does not notice answers while it runs.
type unwatchedRun struct{ journal.Run }

// Watch implements journal.Run.
func (unwatchedRun) Watch(ctx context.Context, _ func()) { <-ctx.Done() }

// TestAnswerDuringContinue stores an answer immediately before a run continues as a new run. The
// new run asks the same question twice: the first one receives the answer, the second one waits.
func TestAnswerDuringContinue(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `use std::{app, run, time};
async fn asks() -> String { await emit<String>("ask", "on?").unwrap_or("refused") }
fn main() {
    let first = asks();
    time::sleep(1);
    if app::inputs().len() == 0 { emit("now"); run::continue_as_new({ "again": true }); }
    let second = asks();
    emit("answers", [first.await, second.await]);
}`})
	root := t.TempDir()
	dir := filepath.Join(root, "job")
	sharedRuns.Store(dir, journal.Run(unwatchedRun{rundir.At(dir)}))
	var answers string
	o := Options{Dir: root, Records: Records{Durable: &Durable{Dir: dir, Park: true}},
		OnEmit: func(channel string, payload json.RawMessage) {
			switch channel {
			case "now":
				if err := rundir.At(dir).PutAnswer("q1", journal.Answer{Value: json.RawMessage(`"in time"`), By: "ada", At: 5}); err != nil {
					t.Error(err)
				}
			case "answers":
				answers = string(payload)
			}
		},
		OnAwait: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return nil, tool.ErrNoApprover
		}}
	suspended, ok := errors.AsType[*Suspended](p.Run(t.Context(), o))
	if !ok || len(suspended.Waiting) != 1 || suspended.Dir != dir+".2" {
		t.Fatalf("suspended = %+v, want one open question of the successor", suspended)
	}
	if err := openRun(suspended.Dir).PutAnswer(suspended.Waiting[0].ID, journal.Answer{Value: json.RawMessage(`"later"`), By: "bob"}); err != nil {
		t.Fatal(err)
	}
	s, err := OpenNewest(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context(), o); err != nil || answers != `["in time","later"]` {
		t.Errorf("the answers are %s, error %v; want the one that was stored in time, and then the later one", answers, err)
	}
	h, err := openRun(s.Dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	by, at, answered := journal.WasAnswered(h, "q1")
	if by != "ada" || !answered || at == 0 {
		t.Errorf("the first question was answered by %q", by)
	}
}

// TestContinueMany continues a run many times. Each run begins after the end of the one before.
func TestContinueMany(t *testing.T) {
	p := compile(t, map[string]string{"main.conc": `use std::{app, run};
struct State { n: Int = 0 }
fn main() {
    let n: Int = app::inputs_as<State>()?.n;
    if n < 40 { run::continue_as_new(State { n: n + 1 }); }
    emit("end", n);
}`})
	dir := filepath.Join(t.TempDir(), "job")
	var end string
	err := p.Run(t.Context(), Options{Dir: t.TempDir(), Records: Records{Durable: &Durable{Dir: dir}}, OnEmit: func(_ string, payload json.RawMessage) { end = string(payload) }})
	if err != nil || end != "40" {
		t.Fatalf("the last run emits %q, error %v", end, err)
	}
	s, err := OpenNewest(dir)
	if err != nil || filepath.Base(s.Dir) != "job.41" || s.stored.Flags.Continues.N != 40 {
		t.Fatalf("the newest run is %+v, error %v; want job.41", s, err)
	}
}
