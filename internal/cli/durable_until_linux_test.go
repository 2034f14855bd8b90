package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// TestNotBeforeItsTime checks that an effect of a process that may still be running is repeated
// only after its own time limit. If the process is known to have exited, there is no wait.
func TestNotBeforeItsTime(t *testing.T) {
	t.Parallel()
	dir := programs(t, map[string]string{"Concerto.toml": "[permissions]\nrun = [\"sh\"]\n[run.unknown]\ncommand = \"retry\"\n",
		"main.conc": "use std::tools::RunCommand;\nfn main() { println(RunCommand.run(\"sh\", [\"-c\", \"if [ ! -e once ]; then touch once; kill -9 $PPID; sleep 5; fi; date +%s%3N\"])?.stdout.trim()); }\n"})
	if out, err := command(dir, "run", "--journal", "job", "main.conc").CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	stored := journal.At(filepath.Join(dir, "job"))
	h, err := stored.Read()
	if err != nil {
		t.Fatal(err)
	}
	last := h.Last()
	if last.K != journal.KBegin || last.Until < last.T+1000 || h.Owner().Boot == "" || !h.Owner().HasExited() {
		t.Fatalf("the record of the effect is %+v, that of the owner %+v", last, h.Owner())
	}
	for name, boot := range map[string]string{"known": h.Owner().Boot, "unknown": "another"} {
		// On a busy machine the time may expire before the run is resumed. Then the time is
		// doubled.
		within := time.Second
		for !resumeIfWaiting(t, dir, name, boot, h, within) {
			within *= 2
		}
	}
}

// resumeIfWaiting resumes a run whose owner had another boot of the machine, or the same one, and
// whose effect may still be running within that time. It reports whether the run was resumed before
// the time expired.
func resumeIfWaiting(t *testing.T, dir, name, boot string, h *journal.History, within time.Duration) bool {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(dir, "job", journal.ProgramFile))
	if err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprint(name, within)
	owner := h.Owner()
	owner.Boot = boot
	w, err := journal.At(filepath.Join(dir, job)).Create(*h.Start(), program, journal.Options{Owner: owner})
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
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	waits := strings.Contains(string(out), "concerto: effect 1 (command) is repeated in ") && strings.Contains(string(out), " s, because the process that started it may still be running\n")
	var made int64
	lines := strings.Fields(string(out))
	if _, err := fmt.Sscan(lines[len(lines)-1], &made); err != nil {
		t.Fatalf("%s: %s", name, out)
	}
	unknown := name == "unknown"
	if !waits && made >= repeated.Until {
		return false
	}
	if waits != unknown || unknown && made < repeated.Until {
		t.Errorf("%s: made at %d, until %d: %s", name, made, repeated.Until, out)
	}
	return true
}
