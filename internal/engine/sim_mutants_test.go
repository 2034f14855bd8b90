package engine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// simMutants are faults that TestCrashes or TestPairsOfCrashes must find. Each replaces a text that
// occurs once.
var simMutants = []struct{ name, file, old, new string }{
	{"no flush before an effect of class once", "internal/engine/durable/world.go", "case effect.ClassOnce:\n\t\treturn journal.Synced, true", "case effect.ClassOnce:\n\t\treturn journal.Written, false"},
	{"an effect of class once begins before its record is synced", "internal/engine/durable/world.go", "case effect.ClassOnce:\n\t\treturn journal.Synced, true", "case effect.ClassOnce:\n\t\treturn journal.Written, true"},
	{"a change of a file begins before its record is synced", "internal/engine/durable/world.go", "if w.run.c.Every && ", "if false && "},
	{"the key of an effect differs in each process", "internal/engine/durable/recorder.go", `return fmt.Sprintf("%s-%d", r.c.ID, e)`, `return fmt.Sprintf("%s-%d-%p", r.c.ID, e, r)`},
	{"an answer is not removed", "internal/engine/durable/answers.go", "i.run.c.Writer.ConsumeAnswer(id)", "_ = id"},
	{"stored output is not compared", "internal/engine/durable/output.go", "case held && o.have[at] == line:", "case false:"},
	{"a timer begins again with its whole time", "internal/engine/durable/past.go", "f.expires, f.tries, f.until, f.policy, f.rule = k.begin.Due, ", "f.expires, f.tries, f.until, f.policy, f.rule = 0, "},
	{"answers are removed before the records are written", "internal/record/journal/rundir/writer.go", "\tvar err error\n\tif !idle", "\terr := w.consumed.removeUpTo(s, w.dir.DropAnswer)\n\tif !idle"},
	{"the output is not synced before the end", "internal/record/journal/rundir/writer.go", "errors.Join(w.outFile.Sync(), w.syncRemovals())", "w.syncRemovals()"},
	{"nothing is synced before the end", "internal/engine/durable/run.go", "w, ok := r.c.Writer.(journal.EndPreparer); ok", "w, ok := r.c.Writer.(journal.EndPreparer); ok && false"},
	{"the ledger is not synced before the end", "internal/engine/durable/run.go", "if err := r.syncLedgers(); err != nil {", "if err := error(nil); err != nil {"},
	{"the name of a new run's directory is not synced", "internal/process/disk/disk.go", "if err == nil && sync {", "if err == nil && false {"},
	{"a change of a store is made again", "runtime/world/sqlitestore/done.go", "if err != nil || done {", "if err != nil || done && false {"},
	{"changes of stores are not synced", "runtime/world/sqlitestore/open.go", "synchronous = FULL", "synchronous = OFF"},
	{"the ledger is not compared during the replay", "internal/record/ledger/ledger.go", "if r.existing.has(e, n) {", "if false {"},
	{"the journal is not synced", "internal/record/journal/rundir/writer.go", "\t\terr = file.Sync()\n\t}\n\tif err != nil {\n\t\treturn fmt.Errorf(\"sync", "\t\t_ = file\n\t}\n\tif err != nil {\n\t\treturn fmt.Errorf(\"sync"},
	{"the removal of answers is not synced", "internal/record/journal/rundir/writer.go", "!w.consumed.unsynced.Swap(false)", "w.consumed.unsynced.Swap(false) || true"},
	{"the directory of a new run is not synced", "internal/record/journal/rundir/directory.go", `errors.Join(w.Flush(journal.Synced), d.files.SyncDir("."))`, "w.Flush(journal.Synced)"},
	{"a run that cannot be created leaves its writer open", "internal/record/journal/rundir/directory.go", `d.files.SyncDir(".")); err != nil {` + "\n\t\treturn nil, errors.Join(err, w.Close())", `d.files.SyncDir(".")); err != nil {` + "\n\t\treturn nil, err"},
	{"answers that the journal contains are not removed", "internal/record/journal/rundir/directory.go", "dropped, err := d.dropConsumed(h)", "dropped, err := false, error(nil)"},
	{"a second answer replaces the first", "internal/record/journal/rundir/directory.go", "d.files.Make(journal.AnswerName(id)", "d.files.Put(journal.AnswerName(id)"},
}

// TestSimMutants plants each fault and runs the tests, of which one must fail. Without
// CONCERTO_SIM_MUTANTS it only checks that the faults can be planted.
func TestSimMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range simMutants {
		t.Run(m.name, func(t *testing.T) {
			path := filepath.Join(root, m.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%s contains the replaced text %d times, want 1: adapt the mutant", m.file, n)
			}
			if os.Getenv("CONCERTO_SIM_MUTANTS") == "" {
				return
			}
			dir := t.TempDir()
			changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
			list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, list, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-run", "^Test(PairsOf)?Crashes$", ".").CombinedOutput()
			switch {
			case err == nil:
				t.Error("the tests have not found the fault")
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("the fault cannot be compiled:\n%s", out)
			}
		})
	}
}
