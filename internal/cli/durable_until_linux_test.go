package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestNotBeforeItsTime kills a run during an effect. If the process that performs the effect may
// still be running, the resumed run repeats the effect only after the effect's time limit. If that
// process is known to have exited, the run does not wait.
func TestNotBeforeItsTime(t *testing.T) {
	randtest.RacedElsewhere(t)
	t.Parallel()
	dir := programs(t, map[string]string{"Concerto.toml": "[permissions]\nrun = [\"sh\"]\n[run.unknown]\ncommand = \"retry\"\n",
		"main.conc": "use std::tools::RunCommand;\nfn main() { println(RunCommand.run(\"sh\", [\"-c\", \"if [ ! -e once ]; then touch once; kill -9 $PPID; sleep 5; fi; date +%s%3N\"])?.stdout.trim()); }\n"})
	if out, err := command(dir, "run", "--journal", "job", "main.conc").CombinedOutput(); err == nil {
		t.Fatalf("the command did not kill the run: %s", out)
	}
	stored := rundir.At(filepath.Join(dir, "job"))
	h, err := stored.Read()
	if err != nil {
		t.Fatal(err)
	}
	last := h.Last()
	if last.RecordKind != journal.KBegin || last.Until < last.Time+1000 || h.Owner().Boot == "" || !localowner.HasExited(h.Owner()) {
		t.Fatalf("record of the effect = %+v, owner = %+v; want a started effect with a time limit, and an owner that has exited", last, h.Owner())
	}
	for name, boot := range map[string]string{"known": h.Owner().Boot, "unknown": "another"} {
		// On a busy machine the time limit may expire before the run is resumed. Then the attempt
		// is repeated with twice the limit.
		within := time.Second
		for !resumeIfWaiting(t, dir, name, boot, h, within) {
			within *= 2
		}
	}
}

// resumeIfWaiting resumes a run whose effect has the time limit within. boot is the boot id of the
// run's owner: with the machine's own id it is known that the owner has exited, with another id it
// is not. It returns false if the time limit expired before the run was resumed.
func resumeIfWaiting(t *testing.T, dir, name, boot string, h *journal.History, within time.Duration) bool {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(dir, "job", journal.ProgramFile))
	if err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprint(name, within)
	owner := h.Owner()
	owner.Boot = boot
	w, err := rundir.At(filepath.Join(dir, job)).Create(*h.Start(), program, journal.Options{Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	repeated := *h.Last()
	repeated.Until = time.Now().Add(within).UnixMilli()
	w.Append(&repeated)
	if err := w.Flush(journal.Synced); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := command(dir, "runs", "resume", job).CombinedOutput()
	if err != nil {
		t.Fatalf("resume with %s boot id: %v: %s", name, err, out)
	}
	waits := strings.Contains(string(out), "concerto: effect 1 (command) is repeated in ") && strings.Contains(string(out), " s, because the process that started it may still be running\n")
	var made int64
	lines := strings.Fields(string(out))
	if _, err := fmt.Sscan(lines[len(lines)-1], &made); err != nil {
		t.Fatalf("resume with %s boot id prints no time: %s", name, out)
	}
	unknown := name == "unknown"
	if !waits && made >= repeated.Until {
		return false
	}
	if waits != unknown || unknown && made < repeated.Until {
		t.Errorf("resume with %s boot id: repeated at %d, time limit %d; output: %s", name, made, repeated.Until, out)
	}
	return true
}
