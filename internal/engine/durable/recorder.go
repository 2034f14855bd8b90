package durable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/vm"
)

// begins reports whether a record is written before the effect. After a crash, that record shows
// that the effect had begun.
func begins(r effect.Request) bool {
	switch r.Kind() {
	case effect.KindExchangeOpen, effect.KindExchangeSteer, effect.KindExchangeContinue, effect.KindStreamOpen:
		return true
	}
	switch effect.ClassOf(r) {
	case effect.ClassSettled, effect.ClassRetry, effect.ClassOnce, effect.ClassWaits:
		return true
	}
	return false
}

// recorder implements vm.Journal for a Run.
type recorder struct{ *Run }

// Journal returns the VM's journal, which records in the run.
func (r *Run) Journal() vm.Journal { return recorder{r} }

// EffectBegan handles an effect that is about to be performed.
func (r recorder) EffectBegan(e int64, at vm.Scene, q effect.Request) {
	if !tape.Recorded(q.Kind()) {
		return
	}
	task := at.Task()
	f := &inFlight{e: e, task: task}
	if s, ok := q.(*effect.Sleep); ok && r.live {
		f.expires = r.c.Writer.Time() + max(s.Milliseconds, 0)
	}
	if !r.live {
		r.past.restoreInFlight(f)
		r.setFlight(q, f)
	}
	f.policy, f.rule = at.OnUnknown(q)
	r.parking.addEffect(f, q)
	if r.live {
		r.pin(q)
	}
	if r.live && begins(q) {
		r.recordBegin(f, task, q)
	}
	r.talks.recordOpening(f, q)
	if !r.live {
		return
	}
	r.flights.stores.begin(f, q)
	if f.expires > 0 || begins(q) || opens(q) || effect.ClassOf(q) == effect.ClassCut || effect.Lookup(q.Kind()).Keyed {
		r.setFlight(q, f)
	}
}

// pin makes the run stay on its machine if an effect uses something of the machine.
func (r *Run) pin(q effect.Request) {
	w, ok := r.c.Writer.(journal.Pinner)
	if !ok {
		return
	}
	if by := pinnedBy(q, r.c.SharedFiles); by != "" {
		w.Pin(by)
	}
}

// pinnedBy returns what an effect uses of the machine, or "": a host, or a file that only this
// machine has.
func pinnedBy(q effect.Request, sharedFiles bool) string {
	switch q := q.(type) {
	case *effect.ExchangeOpen:
		return "host " + q.Host
	case *effect.WorkList:
		return "workspaces"
	case *effect.MergeFind:
		return "" // only reads the manifest
	case interface{ Workspace() string }:
		return "workspace " + q.Workspace()
	}
	if sharedFiles {
		return ""
	}
	switch row := effect.Lookup(q.Kind()); {
	case row.By == effect.Stores:
		if s, ok := q.(interface{ At() *effect.Store }); ok && s.At().File != "" {
			return "store " + s.At().File
		}
	case row.By == effect.Files && row.Class == effect.ClassSettled:
		return "file " + changedFile(q)
	}
	return ""
}

// changedFile returns the path of the file that an effect changes.
func changedFile(q effect.Request) string {
	switch q := q.(type) {
	case *effect.WriteFile:
		return q.Path
	case *effect.RemoveFile:
		return q.Path
	case *effect.MakeDir:
		return q.Path
	case *effect.CopyFile:
		return q.Path
	case *effect.MoveFile:
		return q.Path
	}
	panic("durable: no path is known for " + string(q.Kind()))
}

// recordBegin appends the begin record of an effect.
func (r *Run) recordBegin(f *inFlight, task int64, q effect.Request) {
	x := &journal.Record{RecordKind: journal.KBegin, Effect: f.e, Task: task, Kind: string(q.Kind()), Class: r.class(q).String(), RequestMembers: journal.RequestMembers{Due: f.expires, Try: f.tries, Until: r.until(q), Policy: f.policy, Rule: f.rule}, RareMembers: journal.RareMembers{Resolved: f.resolved}}
	if f.tries == 0 {
		x.Mark = r.mark(q)
	}
	if effect.Lookup(q.Kind()).Keyed {
		x.Key = r.effectKey(f.e)
	}
	if a, ok := q.(*effect.AwaitEmit); ok {
		x.Type, x.Schema = a.Type, a.Schema
	}
	r.recordRequest(x, q)
	if f.begin == nil {
		f.begin = x
	}
	r.appendRecord(x)
}

// effectKey returns the key of an effect. All attempts of the effect have the same key, so the
// receiver can detect a repetition.
func (r *Run) effectKey(e int64) string { return fmt.Sprintf("%s-%d", r.c.ID, e) }

// opens reports whether the result of a request refers to an opened object by a number.
func opens(q effect.Request) bool {
	row := effect.Lookup(q.Kind())
	if row.Result == nil {
		return false
	}
	_, numbered := row.Result().(effect.Numbered)
	return numbered
}

// recordRequest sets the request in a record.
func (r *Run) recordRequest(x *journal.Record, q effect.Request) {
	if n, ok := q.(effect.Numbered); ok {
		x.Of = *n.Number()
	}
	text, err := r.recordedRequest(q)
	if err != nil {
		r.Suspend(&Unwritable{err})
		return
	}
	if string(text) != "{}" {
		x.Request, x.Digest = text, hexsum.SHA256(text)[:32]
	}
}

// recordedRequest returns a request as JSON, with secrets replaced by placeholders.
func (r *Run) recordedRequest(q effect.Request) (json.RawMessage, error) {
	text, err := tape.Request(q)
	if err != nil {
		return nil, err
	}
	return r.clean(text), nil
}

// appendRecord appends a record. Before it, a record is appended for each secret that the journal
// has not named before.
func (r *Run) appendRecord(x *journal.Record) {
	r.appendMu.Lock()
	defer r.appendMu.Unlock()
	for _, text := range [][]byte{x.Request, x.Result, x.Err} {
		r.recordSecrets(text)
	}
	if x.Resolved != nil {
		r.recordSecrets(x.Resolved.Answer)
		r.recordSecrets(x.Resolved.Error)
	}
	for _, line := range x.Lines {
		r.recordSecrets([]byte(line))
	}
	r.c.Writer.Append(x)
}

// recordSecrets appends a record for each secret in a text that the journal has not named before.
func (r *Run) recordSecrets(text []byte) {
	for _, name := range marks(text) {
		if r.named[name] {
			continue
		}
		r.named[name] = true
		value, _ := r.c.Secret(name) // the placeholder proves that the secret exists
		r.c.Writer.Append(&journal.Record{RecordKind: journal.KSecret, RareMembers: journal.RareMembers{Name: name, Check: secretCheck(r.c.Seed, value)}})
	}
}

// EffectEnded records the result of an effect.
func (r recorder) EffectEnded(e int64, q effect.Request, result effect.Result, err error, at *vm.Moment) {
	defer r.dropOpener(q, result, err)
	if !tape.Recorded(q.Kind()) {
		return
	}
	f := r.flightOf(q)
	r.setFlight(q, nil)
	r.parking.removeEffect(e, q, result, err)
	r.talks.recordEnd(r.Run, e, q, result, err)
	r.spend(q, f, result, err)
	if !r.live {
		if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
			noteSteered(r.Run, m, false)
		}
		if k := r.past.effects[e]; k != nil {
			r.storeOpener(q, k.requestRecord(&r.past), k.tries, result, err)
		}
	}
	if !r.live || r.endedBySuspension(err) {
		return
	}
	x, rerr := r.endRecord(e, q, result, err, at)
	if rerr != nil {
		r.Suspend(&Unwritable{rerr})
		return
	}
	if a, ok := result.(*effect.Answer); ok && err == nil {
		x.By = cmp.Or(a.Name, a.By)
	} else if e := programError(err); e != nil {
		x.By = cmp.Or(e.Name, e.By)
	}
	if f != nil && f.begin != nil {
		r.storeOpener(q, f.begin, f.tries, result, err)
	} else {
		r.storeOpener(q, x, 1, result, err)
	}
	r.appendEnd(x, f, q)
	delete(r.flights.stores, e)
	if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
		noteSteered(r.Run, m, true)
	}
	if r.Err() != nil {
		r.canContinue = true
	}
	if r.c.Every {
		_ = r.flushJournal(journal.Synced) // ignored because an error suspends the run
		return
	}
	if x.Blob != "" {
		_ = r.writeAppended(journal.Written) // does not retain large values in memory; an error suspends the run
	}
	if x.RecordKind == journal.KEnd && effect.ClassOf(q) == effect.ClassOnce {
		r.c.Writer.SyncLater()
	}
}

// appendEnd appends the record with an effect's result. If a decision about an unknown outcome
// determined the result, the ledgers receive that decision.
func (r recorder) appendEnd(x *journal.Record, f *inFlight, q effect.Request) {
	if f == nil || f.resolved == nil {
		r.appendRecord(x)
		r.parking.markJournaled(x.Effect)
		return
	}
	x.Resolved = f.resolved
	x.By = cmp.Or(x.Resolved.Name, x.Resolved.By)
	r.appendRecord(x)
	e, about := x.Effect, q
	if x.RecordKind == journal.KDid {
		e = x.Of
		about, _ = r.opener(q)
	}
	r.parking.markJournaled(e)
	text, err := tape.Request(about)
	if err == nil {
		err = r.recordResolution(e, about.Kind(), text, r.resolutionOf(f.resolved))
	}
	if err != nil {
		r.Suspend(err)
	}
}

// endedBySuspension reports whether err was caused by the suspension of the run.
func (r *Run) endedBySuspension(err error) bool {
	return err != nil && r.Err() != nil && !isProgram(err)
}

// endRecord returns the record with the result of an effect.
func (r *Run) endRecord(e int64, q effect.Request, result effect.Result, err error, at *vm.Moment) (*journal.Record, error) {
	entry, rerr := tape.EntryOf(e, q.Kind(), result, err, at)
	if rerr != nil {
		return nil, rerr
	}
	x := &journal.Record{RecordKind: journal.KDid, Effect: e, Moment: entry.W}
	switch {
	case begins(q):
		x.RecordKind, x.Outcome = journal.KEnd, status(err)
	case q.Kind() == effect.KindExchangeNext && err == nil:
		x.RecordKind = journal.KLines
		x.Of = q.(*effect.ExchangeNext).ID
	default:
		x.Kind = string(q.Kind())
		r.recordRequest(x, q)
	}
	if entry.V != nil {
		x.Result = r.clean(entry.V)
	}
	if f := entry.Err; f != nil {
		f.X = ""
		text, rerr := json.Marshal(f)
		if rerr != nil {
			return nil, rerr
		}
		x.Err, x.Outcome = r.clean(text), status(err)
	}
	if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
		r.recordLines(x, &entry, m)
	}
	return x, nil
}

// status returns the status of an ended effect in the form of the journal.
func status(err error) string {
	if err == nil {
		return "done"
	}
	if e := programError(err); e != nil {
		return [...]string{effect.None: "none", effect.Done: "done", effect.Unknown: "unknown"}[e.Status]
	}
	return "unknown"
}

// recordLines sets the lines of a host in a record.
func (r *Run) recordLines(x *journal.Record, entry *tape.Entry, m *effect.ExchangeMessages) {
	lines := make([]string, len(entry.Lines))
	for i, line := range entry.Lines {
		lines[i] = string(r.clean([]byte(line)))
	}
	x.Decided, x.Sizes = entry.Decided, entry.Sizes
	if m.Lines == nil {
		x.FirstLine, x.Lines = r.past.countLines(x.Of, len(lines)), lines
		return
	}
	x.Talk, x.Process = string(r.clean([]byte(m.Lines.Session))), m.Lines.Process
	x.FirstLine, x.Lines = m.Lines.First, make([]string, len(m.Lines.Text))
	split := r.talks.lines.of(x.Of)
	for i, line := range m.Lines.Text {
		x.Lines[i] = string(split.JSON([]byte(line)))
	}
	if !slices.Equal(x.Lines, lines) {
		x.ProtocolLines = lines
	}
}

// EffectDeferred records that an effect could not be performed at once, so the program waits.
func (r recorder) EffectDeferred(e int64, q effect.Request, at vm.Moment) {
	if r.live {
		r.appendRecord(&journal.Record{RecordKind: journal.KPlace, Place: tape.PlaceWaits, Effect: e, Kind: string(q.Kind()), Moment: tape.Written(&at)})
	}
}

// MemoryExceeded records that the run exceeded its memory limit at a moment.
func (r recorder) MemoryExceeded(at vm.Moment) {
	if r.live {
		r.appendRecord(&journal.Record{RecordKind: journal.KPlace, Place: tape.PlaceMemory, Moment: tape.Written(&at)})
	}
}

// ContextEnded records that the run's context has ended.
func (r recorder) ContextEnded(cause error, at *vm.Moment) {
	if !r.live {
		return
	}
	x := &journal.Record{RecordKind: journal.KPlace, Place: tape.PlaceOver, Moment: tape.Written(at)}
	text, err := json.Marshal(tape.FailureOf(cause))
	if err != nil {
		r.Suspend(&Unwritable{err})
		return
	}
	x.Err = r.clean(text)
	r.appendRecord(x)
}
