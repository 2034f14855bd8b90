package rundir

import (
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// TestPowerCuts kills the process of a run before it removes a consumed answer, and cuts the power
// when the next process has prepared the end of the run. The answer must stay removed, and the
// output must be complete. Before that, it cuts the power after the creation of the run.
func TestPowerCuts(t *testing.T) {
	d := simdisk.New(simdisk.Options{})
	d.MkdirAll("/home")
	start := func() (*Directory, *simdisk.OnlyProcess) {
		p := new(simdisk.OnlyProcess)
		return On(d.View(p).At, "/home/runs/job"), p
	}
	run, _ := start()
	w, err := run.Create(testStart(), []byte("{}"), journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	d.Cut(simdisk.PowerNone)
	_ = w.Close() // the process is dead
	run, p := start()
	w, _, err = run.Open(nil, journal.Options{Now: testClock()})
	if err != nil {
		t.Fatalf("after a power cut, the created run cannot be opened: %v", err)
	}
	if err := run.PutAnswer("q7", journal.Answer{Value: []byte(`"yes"`), By: "Ada", At: 5}); err != nil {
		t.Fatal(err)
	}
	w.Append(&journal.Record{RecordKind: journal.KBegin, Effect: 7, Kind: "await"})
	w.Append(&journal.Record{RecordKind: journal.KEnd, Effect: 7, ResultMembers: journal.ResultMembers{Result: []byte(`1`)}})
	if err := w.Flush(journal.Synced); err != nil {
		t.Fatal(err)
	}
	p.Crash()
	_ = w.Close() // the process is dead
	run, _ = start()
	w, _, err = run.Open(nil, journal.Options{Now: testClock()})
	if err != nil {
		t.Fatal(err)
	}
	w.Out(`{"n":1}`)
	if err := w.(journal.EndPreparer).PrepareEnd(); err != nil {
		t.Fatal(err)
	}
	d.Cut(simdisk.PowerNone)
	_ = w.Close() // the process is dead
	run, _ = start()
	answers, err := run.Answers()
	out, _, oerr := run.Out()
	if err := errors.Join(err, oerr); err != nil || len(answers) > 0 || len(out) != 1 {
		t.Errorf("at its end the run has the answers %v and the output %q, error %v, want no answer and one line", answers, out, err)
	}
}
