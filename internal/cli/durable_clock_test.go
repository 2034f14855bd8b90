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
)

// TestClockSetBack sets the machine's clock back by an hour between two processes of a run. An
// expired timer stays expired, another one waits as long as before, and the program never reads a
// time before one that it has read, even after a snapshot.
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
		c := command(dir, "runs", "resume", "--snapshot-every", "1", "job")
		out, err := c.Output()
		if c.ProcessState.ExitCode() != code || string(out) != want {
			t.Fatalf("exit code %d (%v), want %d; output\n%s\nwant\n%s", c.ProcessState.ExitCode(), err, code, out, want)
		}
	}
	first := command(dir, "run", "--journal", "before", "--park", "main.conc")
	if out, _ := first.CombinedOutput(); first.ProcessState.ExitCode() != console.ExitWaiting {
		t.Fatalf("it does not wait: %s", out)
	}
	stored := journal.At(filepath.Join(dir, "before"))
	h, err := stored.Read()
	if err != nil {
		t.Fatal(err)
	}
	program, err := stored.Program(journal.ProgramFile, h.Start().IR)
	if err != nil {
		t.Fatal(err)
	}
	var at int64
	w, err := journal.At(filepath.Join(dir, "job")).Create(*h.Start(), program, journal.Options{Now: func() int64 { return at }})
	if err != nil {
		t.Fatal(err)
	}
	var deadlines []int64
	for _, r := range h.Records[1:] { // the first has no time of its own
		at = r.T + by.Milliseconds()
		if r.Due > 0 {
			r.Due += by.Milliseconds()
			deadlines = append(deadlines, r.Due)
		}
		if r.Q == string(effect.KindClock) {
			var now effect.Time
			if err := json.Unmarshal(r.V, &now); err != nil {
				t.Fatal(err)
			}
			now.Unix += by.Milliseconds()
			if r.V, err = json.Marshal(now); err != nil {
				t.Fatal(err)
			}
		}
		if r.K != journal.KPark {
			w.Append(r)
		}
	}
	if len(deadlines) != 2 || deadlines[1] <= deadlines[0] {
		t.Fatalf("the timers are due at %v", deadlines)
	}
	at = deadlines[0] // a second process was there when it was
	w.Append(&journal.Record{K: journal.KResume, Owner: journal.Owner{N: 2}})
	w.Out([]byte(`{"n":1,"channel":"first"}`))
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
			t.Fatalf("%s, %v", out, err)
		}
		return id
	}
	if out, err := command(dir, "runs", "answer", "job", pending("first"), "x").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	resume("[early] 60000\n[forward] true\n[second]\n", console.ExitWaiting)
	if out, err := command(dir, "runs", "answer", "job", pending("second"), "x").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	resume("[still] true\n", console.ExitWaiting)
	if h, err = journal.At(filepath.Join(dir, "job")).Read(); err != nil {
		t.Fatal(err)
	}
	for i, r := range h.Records[1:] {
		if r.T < h.Records[i].T {
			t.Errorf("record %d was written at %d, and the one before at %d", r.S, r.T, h.Records[i].T)
		}
	}
	if waits := h.Last().Waits; len(waits) != 1 || waits[0].Due != deadlines[1] {
		t.Errorf("it waits for %+v", waits)
	}
}
