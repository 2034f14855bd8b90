package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// TestClockSetBack sets the machine's clock back by an hour between two processes of a run. A timer
// that has expired stays expired. The remaining time of the other timer does not change. The
// program never reads an earlier time than it has read before.
func TestClockSetBack(t *testing.T) {
	const by = time.Hour
	dir := programs(t, map[string]string{"main.conc": `use std::time;
async fn timer(ms: Int) -> Int { time::sleep(ms); ms }
fn main() {
    let (now, begun) = (time::now_ms(), time::monotonic_ms());
    let (early, late) = (timer(60000), timer(90000));
    let _a = await emit("first")?;
    emit("early", early.await);
    emit("forward", time::now_ms() >= now && time::monotonic_ms() >= begun);
    let _b = await emit("second")?;
    emit("still", time::now_ms() >= now && time::monotonic_ms() >= begun);
    emit("late", late.await);
}
`})
	resume := func(want string, code int) {
		t.Helper()
		c := command(dir, "runs", "resume", "job")
		out, err := c.Output()
		if c.ProcessState.ExitCode() != code || string(out) != want {
			t.Fatalf("resume: exit code %d (error %v), want %d; output\n%s\nwant\n%s", c.ProcessState.ExitCode(), err, code, out, want)
		}
	}
	first := command(dir, "run", "--journal", "before", "--park", "main.conc")
	if out, _ := first.CombinedOutput(); first.ProcessState.ExitCode() != console.ExitWaiting {
		t.Fatalf("the run did not park; output: %s", out)
	}
	stored := rundir.At(filepath.Join(dir, "before"))
	h, err := stored.Read()
	if err != nil {
		t.Fatal(err)
	}
	program, err := stored.Program(journal.ProgramFile, h.Start().IR)
	if err != nil {
		t.Fatal(err)
	}
	var at int64
	w, err := rundir.At(filepath.Join(dir, "job")).Create(*h.Start(), program, journal.Options{Now: func() int64 { return at }})
	if err != nil {
		t.Fatal(err)
	}
	var deadlines []int64
	for _, r := range h.Records[1:] { // the start record contains no time that must be shifted
		at = r.Time + by.Milliseconds()
		if r.Due > 0 {
			r.Due += by.Milliseconds()
			deadlines = append(deadlines, r.Due)
		}
		if r.Kind == string(effect.KindClock) {
			var now effect.Time
			if err := json.Unmarshal(r.Result, &now); err != nil {
				t.Fatal(err)
			}
			now.Unix += by.Milliseconds()
			if r.Result, err = json.Marshal(now); err != nil {
				t.Fatal(err)
			}
		}
		if r.RecordKind != journal.KPark {
			w.Append(r)
		}
	}
	if len(deadlines) != 2 || deadlines[1] <= deadlines[0] {
		t.Fatalf("timer deadlines = %v, want 2 in increasing order", deadlines)
	}
	at = deadlines[0] // the run's second process started when the first timer expired
	w.Append(&journal.Record{RecordKind: journal.KResume, Owner: journal.Owner{N: 2}})
	w.Out(`{"n":1,"channel":"first"}`)
	if err := w.Flush(journal.Synced); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	pending := func(channel string) string {
		t.Helper()
		out, err := command(dir, "runs", "show", "job").Output()
		_, rest, _ := strings.Cut(string(out), "\nwaits    ")
		id, rest, found := strings.Cut(rest, " ")
		if !found || !strings.HasPrefix(rest, channel+" ") {
			t.Fatalf("concerto runs show prints %s (error %v), want a pending question", out, err)
		}
		return id
	}
	if out, err := command(dir, "runs", "answer", "job", pending("first"), "x").CombinedOutput(); err != nil {
		t.Fatalf("answer the first question: %v: %s", err, out)
	}
	resume("[early] 60000\n[forward] true\n[second]\n", console.ExitWaiting)
	if out, err := command(dir, "runs", "answer", "job", pending("second"), "x").CombinedOutput(); err != nil {
		t.Fatalf("answer the second question: %v: %s", err, out)
	}
	resume("[still] true\n", console.ExitWaiting)
	if h, err = rundir.At(filepath.Join(dir, "job")).Read(); err != nil {
		t.Fatal(err)
	}
	for i, r := range h.Records[1:] {
		if r.Time < h.Records[i].Time {
			t.Errorf("record %d has time %d, which is before the previous record's time %d", r.Seq, r.Time, h.Records[i].Time)
		}
	}
	if waits := h.Last().Waits; len(waits) != 1 || waits[0].Due != deadlines[1] {
		t.Errorf("the last record's waits = %+v, want only the later timer", waits)
	}
}
