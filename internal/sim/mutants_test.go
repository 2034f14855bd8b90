package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a fault of the product that the tests of this package must find. It replaces a text
// that occurs once.
type mutant struct{ name, file, old, new string }

// mutants are faults that the world of one machine finds.
var mutants = []mutant{
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
	{"the journal is not synced", "internal/record/journal/rundir/writer.go", "	err := file.Sync()\n	if err == nil {", "	err := error(nil)\n	if _ = file; err == nil {"},
	{"the removal of answers is not synced", "internal/record/journal/rundir/writer.go", "!w.consumed.unsynced.Swap(false)", "w.consumed.unsynced.Swap(false) || true"},
	{"the directory of a new run is not synced", "internal/record/journal/rundir/directory.go", `errors.Join(w.Flush(journal.Synced), d.files.SyncDir("."))`, "w.Flush(journal.Synced)"},
	{"a run that cannot be created leaves its writer open", "internal/record/journal/rundir/directory.go", `d.files.SyncDir(".")); err != nil {` + "\n\t\treturn nil, errors.Join(err, w.Close())", `d.files.SyncDir(".")); err != nil {` + "\n\t\treturn nil, err"},
	{"answers that the journal contains are not removed", "internal/record/journal/rundir/directory.go", "if err := d.dropConsumed(h); err != nil {", "if err := error(nil); err != nil {"},
	{"a second answer replaces the first", "internal/record/journal/rundir/directory.go", "d.files.Make(journal.AnswerName(id)", "d.files.Put(journal.AnswerName(id)"},
	{"a request of class once may be repeated on another connection", "runtime/world/httpclient/web.go", "		forbidRepetition(request.Header)\n", ""},
	{"the answer to a question that has ended in another way remains", "internal/engine/durable/answers.go", "	i.asked[x.E], i.hasAsked = x.ID, true\n	i.mu.Unlock()\n	finish", "	i.hasAsked = true\n	i.mu.Unlock()\n	finish"},
	{"answers that nothing has read remain", "internal/engine/durable/run.go", "		if !journal.IsAboutSteering(id) {", "		if false {"},
	{"an effect in progress has a question", "internal/engine/durable/show.go", "return running && begin.Seq > first", "return begin.Seq > first && false"},
	{"an answer belongs to a millisecond", "internal/record/journal/question.go", "if a.Seen > 0 {", "if false {"},
	{"an answer that came too late stays", "internal/engine/runs/answer.go", "	return withdrawLate(s, id, &written)", "	return nil"},
	{"the kept number of printed lines is too high", "internal/engine/durable/output.go", "journal.Owner{By: by, N: o.printed}", "journal.Owner{By: by, N: o.printed + 1}"},
	{"lines of output that are not in the journal stay", "internal/engine/durable/output.go", "	if more <= 0 {\n		return nil\n	}\n	w, ok", "	if true {\n		return nil\n	}\n	w, ok"},
	{"a run parks although its answer is stored", "internal/engine/durable/wait.go", "err != nil || a != nil {\n			return false, err // if", "err != nil || a != nil && false {\n			return false, err // if"},
	{"a run parks although a task works", "internal/engine/durable/wait.go", "if x := i.questions[e]; x == nil || !x.waits {\n				return false, nil", "if x := i.questions[e]; x != nil && !x.waits {\n				return false, nil"},
	{"a large value is written after the record that names it", "internal/record/journal/rundir/writer.go", "for err == nil && len(blobs) > 0 {\n		if err = w.putBlob(blobs[0]); err == nil {\n			blobs = blobs[1:]\n		}\n	}\n	for err == nil && len(parts) > 0 {\n		if err = w.putPart(&parts[0]); err == nil {\n			parts = parts[1:]\n		}\n	}", "for err == nil && len(parts) > 0 {\n		if err = w.putPart(&parts[0]); err == nil {\n			parts = parts[1:]\n		}\n	}\n	for err == nil && len(blobs) > 0 {\n		if err = w.putBlob(blobs[0]); err == nil {\n			blobs = blobs[1:]\n		}\n	}"},
	{"an answer is removed before its record is on the disk", "internal/record/journal/rundir/writer.go", "	s := w.synced.Load()\n	if w.options", "	s := w.written.Load()\n	if w.options"},
	{"output is written before the records", "internal/record/journal/rundir/writer.go", "	for err == nil && len(blobs) > 0 {", "	if err = w.appendAll(w.outFile, &w.outSize, out); err == nil {\n		out = nil\n	}\n	for err == nil && len(blobs) > 0 {"},
	{"a file is renamed without a sync of its directory", "internal/process/disk/disk.go", "	return d.writeAtomically(name, text, d.system.Rename)", "	temporary, err := d.writeTemporary(name, text)\n	if err != nil {\n		return err\n	}\n	return d.system.Rename(temporary, d.Path(name))"},
	{"an answer is stored without a sync of its directory", "internal/process/disk/disk.go", "	return d.writeAtomically(name, text, func(temporary, path string) error {\n		return errors.Join(d.system.Link(temporary, path), d.removePath(temporary))\n	})", "	temporary, err := d.writeTemporary(name, text)\n	if err != nil {\n		return err\n	}\n	return errors.Join(d.system.Link(temporary, d.Path(name)), d.removePath(temporary))"},
	{"the decision to fail is taken as one to retry", "internal/engine/durable/unknown.go", "if x == nil || !x.isRetry() {", "if x == nil {"},
	{"the record that an effect is tried again is not written", "internal/engine/durable/unknown.go", "	w.run.recordBegin(f, f.task, q)\n	f.resolved = nil", "	f.resolved = nil"},
	{"a change of a store is not in the transaction of its record", "runtime/world/sqlitestore/done.go", "return f.runStatement(sqlAddDone, nil, run, number, string(text))", "_ = text\n\t\treturn nil"},
	{"the records of changes are removed too early", "runtime/world/sqlitestore/done.go", "nil, run, before); err", "nil, run, number); err"},
	{"answers are read before the question is stored", "internal/engine/durable/answers.go", "if w.run.flushJournal(journal.Synced) != nil || ", "if "},
	{"the process that continues an exchange does not know the messages to it", "runtime/host/kept.go", ", Steered: t.inbox.turns.steerNotes()}", "}"},
	{"a withdrawn request of a host is open", "internal/engine/durable/wait.go", "case x.Role == hostmsg.Withdraws && !m.IsMoved():", "case false:"},
	{"a process that does not reach the hosts records that they are lost", "internal/engine/durable/world.go", "if !there && w.run.Err() != nil {", "if false {"},
	{"a run that parks with a result is not resumed", "internal/engine/durable/show.go", "case last.RecordKind == journal.KPark, last.By == journal.ByParking:", "case last.RecordKind == journal.KPark:"},
	{"a prompt is sent before its record is synced", "internal/engine/durable/world.go", "return journal.Synced, true // after a power cut", "return journal.Written, true // after a power cut"},
	{"the directory of a host is not synced", "runtime/keeper/spool.go", "err = files.SyncDir(path.Dir(dir))", "err = nil"},
	{"a message is sent again to a lost host", "runtime/host/steer.go", "if !mayBeSent || !ex.wasLost {", "if true {"},
	{"a queued message is sent again to a lost host", "runtime/host/reassign.go", "if o.Over || t.steering == nil {", "if true {"},
	{"a prompt is sent again if the keeper is lost during a resume", "runtime/host/resume.go", "if !h.adoptProcess(&all[i], open) {", "if !h.adoptProcess(&all[i], open) && false {"},
	{"a host that was sent a prompt by an earlier process counts as not begun", "runtime/host/reply.go", "		return -1, true", "		return 0, true"},
	{"output is sent again from its beginning", "runtime/keeper/feed.go", "	if from == 0 {\n		from = h.acked.lines + 1\n	}", "	from = 1"},
}

// TestMutants plants each fault and runs the tests, of which one must fail. Without
// CONCERTO_SIM_MUTANTS it only checks that the faults can be planted.
func TestMutants(t *testing.T) {
	plant(t, mutants, "^Test(Replay|EveryFault|Seeds)$", "6000")
}

// plant plants each fault and runs tests with a number of seeds.
func plant(t *testing.T, all []mutant, tests, seeds string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
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
			out, err := exec.Command("go", "test", "-vet=off", "-timeout", "0", "-overlay", overlay, "-failfast", "-run", tests, ".", "-seeds", seeds, "-shrink=false").CombinedOutput()
			switch {
			case err == nil:
				t.Error("the tests have not found the fault")
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("the fault cannot be compiled:\n%s", out)
			case strings.Contains(string(out), "have two traces, want at most"):
				// On a busy machine, this also fails without a fault.
				t.Errorf("the tests have not found the fault, only that seeds have two traces:\n%s", out)
			}
		})
	}
}
