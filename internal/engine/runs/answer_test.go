package runs

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/ir"
)

// asking returns the writer and the directory of a running run that waits for the answers q2 and
// q3.
func asking(t *testing.T) (journal.Writer, string) {
	t.Helper()
	program := ir.Encode(&ir.Program{Version: ir.Version})
	dir := filepath.Join(t.TempDir(), "job")
	w, err := rundir.At(dir).Create(journal.Start{Run: "r_1", IR: hexsum.SHA256(program), Args: []string{}, Inputs: json.RawMessage("{}"), Session: json.RawMessage("{}"), Seed: "1", Flags: json.RawMessage("{}")}, program, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for e := range int64(2) {
		w.Append(&journal.Record{RecordKind: journal.KBegin, Effect: e + 2, Task: 1, Kind: "emit.await", Class: "waits", RequestMembers: journal.RequestMembers{Request: json.RawMessage(`{"channel":"ask"}`)}})
	}
	return w, dir
}

// TestLateAnswer answers a question that ends at the same time, or whose run does. The answer must
// be removed and reported as late, unless the run has accepted it.
func TestLateAnswer(t *testing.T) {
	code := 0
	finish := &journal.Record{RecordKind: journal.KFinish, RareMembers: journal.RareMembers{Code: &code}}
	end := func(by string) *journal.Record {
		return &journal.Record{RecordKind: journal.KEnd, Effect: 2, ResultMembers: journal.ResultMembers{Outcome: "done", Result: json.RawMessage(`{"value":"x"}`)}, Owner: journal.Owner{By: by}}
	}
	for name, x := range map[string]struct {
		concurrent []*journal.Record
		want       string // start of the error message; "" for no error
		left       bool   // the answer must still be stored
	}{
		"it waits":                 {nil, "", true},
		"another one ends":         {[]*journal.Record{{RecordKind: journal.KEnd, Effect: 3, ResultMembers: journal.ResultMembers{Outcome: "unknown"}}}, "", true},
		"it is withdrawn":          {[]*journal.Record{end("")}, "q2 no longer waits for an answer", false},
		"the run ends":             {[]*journal.Record{finish}, "q2 no longer waits for an answer", false},
		"somebody else answers":    {[]*journal.Record{end("Bob")}, "q2 was answered by Bob at 20", false},
		"it is taken":              {[]*journal.Record{end("Ada")}, "", true},
		"it is taken, and the end": {[]*journal.Record{end("Ada"), finish}, "", true},
	} {
		w, dir := asking(t)
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
		before, err := durable.Open(rundir.At(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range x.concurrent {
			w.Append(r)
		}
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
		err = answerStored(before, "q2", Response{Text: "yes", By: "Ada"})
		problem, _ := errors.AsType[*Problem](err)
		switch {
		case x.want == "" && err != nil, x.want != "" && (problem == nil || !strings.HasPrefix(problem.Message, x.want)):
			t.Errorf("%s: error = %v, want %q", name, err, x.want)
		case strings.HasPrefix(x.want, "q2 waits") && problem.Hint != "concerto runs fork "+dir+" --at 2 --answer VALUE continues from there with an answer":
			t.Errorf("%s: hint = %q, want the command that forks the run", name, problem.Hint)
		}
		if a, err := before.Run.Answer("q2"); (a != nil) != x.left || err != nil {
			t.Errorf("%s: stored answer = %+v, error %v; want an answer: %v", name, a, err, x.left)
		}
	}
}

// TestAnswerWhileContinuing answers a question of a run that continues at the same time. The answer
// stays for a successor that has not asked the question again; one that has receives it at once.
func TestAnswerWhileContinuing(t *testing.T) {
	code := 0
	question := effect.CarriedQuestion{ID: "q2", Channel: "ask", Payload: json.RawMessage("null"), Since: 20}
	taken, err := json.Marshal(effect.Continued{Questions: []effect.CarriedQuestion{question}})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		begins, asks bool   // what the successor does
		by           string // who has answered its question; "" if it is open
		want         string // start of the error message; "" for no error
	}{
		"it has not begun":     {},
		"it has not asked":     {begins: true},
		"it has asked":         {begins: true, asks: true},
		"it has taken it over": {begins: true, asks: true, by: "Ada"},
		"somebody else":        {begins: true, asks: true, by: "Bob", want: "q7 was answered by Bob at "},
	} {
		w, dir := asking(t)
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
		before, err := durable.Open(rundir.At(dir))
		if err != nil {
			t.Fatal(err)
		}
		w.Append(&journal.Record{RecordKind: journal.KDid, Effect: 4, Kind: string(effect.KindContinue), RequestMembers: journal.RequestMembers{Request: json.RawMessage(`{"inputs":{}}`)}, ResultMembers: journal.ResultMembers{Result: taken}})
		w.Append(&journal.Record{RecordKind: journal.KEnd, Effect: 2, ResultMembers: journal.ResultMembers{Outcome: "unknown"}})
		w.Append(&journal.Record{RecordKind: journal.KFinish, ResultMembers: journal.ResultMembers{Outcome: journal.HasContinued}, RareMembers: journal.RareMembers{Code: &code}})
		if err := w.Flush(journal.Written); err != nil {
			t.Fatal(err)
		}
		next := before.Run.Sibling("job.2")
		if x.begins {
			start := *before.Start
			start.Run, start.Flags = "r_1.2", json.RawMessage(`{"continues":{"run":"r_1","name":"job","n":1,"questions":[{"id":"q2","channel":"ask","payload":null,"since":20}]}}`)
			w, err := next.Create(start, before.Program, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if x.asks {
				w.Append(&journal.Record{RecordKind: journal.KBegin, Effect: 7, Task: 1, Kind: "emit.await", Class: "waits", RequestMembers: journal.RequestMembers{Request: json.RawMessage(`{"channel":"ask"}`)}})
			}
			if err := errors.Join(w.Flush(journal.Written), w.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if x.by != "" {
			if err := next.PutAnswer("q7", journal.Answer{Value: json.RawMessage(`"yes"`), By: x.by}); err != nil {
				t.Fatal(err)
			}
		}
		err = answerStored(before, "q2", Response{Text: "yes", By: "Ada"})
		if problem, _ := errors.AsType[*Problem](err); x.want == "" && err != nil || x.want != "" && (problem == nil || !strings.HasPrefix(problem.Message, x.want)) {
			t.Errorf("%s: error = %v, want %q", name, err, x.want)
		}
		if a, err := before.Run.Answer("q2"); a == nil || err != nil {
			t.Errorf("%s: the answer is not stored for a successor that asks later (error %v)", name, err)
		}
		if a, err := next.Answer("q7"); (a != nil) != x.asks || err != nil {
			t.Errorf("%s: answer of the successor = %+v, error %v; want an answer: %v", name, a, err, x.asks)
		}
	}
}
