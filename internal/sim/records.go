package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// records is what the judge reads from the disk after the run.
type records struct {
	answers map[string]string // answers in the ledger, with the actor of each
	counts  map[string]int64  // entries of the hashmap
}

// readRecords reads and verifies the files of the ended run.
func (w *world) readRecords(ctx context.Context, p *process) (r records, err error) {
	run := filepath.Join(w.base, runName)
	if locked, err := p.view.IsLocked(filepath.Join(run, "lock")); locked || err != nil {
		return r, fmt.Errorf("J12: the directory of the ended run is locked: %t, error %v", locked, err)
	}
	for _, path := range w.disk.Paths() {
		// A keeper that was killed has no successor. A removal that fails does not fail the run.
		if simdisk.IsTemporary(path) && !strings.Contains(path, "/hosts/") && !w.hasFailingDisk() {
			return r, fmt.Errorf("J12: the ended run has left %s", path)
		}
	}
	if r.answers, err = w.readLedger(p); err != nil {
		return r, fmt.Errorf("J9: %w", err)
	}
	if r.counts, err = w.readCounts(ctx, p); err != nil {
		return r, fmt.Errorf("J4: %w", err)
	}
	return r, nil
}

// readLedger returns the answers in the ledger, which must be complete up to the record that the
// journal names.
func (w *world) readLedger(p *process) (map[string]string, error) {
	h, err := w.run(p, runName).Read()
	if err != nil {
		return nil, err
	}
	text, err := p.view.At(filepath.Join(w.base, runName)).Read(rundir.LedgerFile)
	if err != nil {
		return nil, err
	}
	s, err := audit.Verify(bytes.NewReader(text), "ledger", h.Last().Ledger)
	if err != nil {
		return nil, err
	}
	if s.Records > 0 && s.Head.Hash != h.Last().Ledger {
		return nil, fmt.Errorf("the last record of the ledger is %s, and the journal names %s", s.Head.Hash, h.Last().Ledger)
	}
	answers, decided := map[string]string{}, map[string]bool{}
	for line, err := range audit.Lines(bytes.NewReader(text), "ledger") {
		if err != nil {
			return nil, err
		}
		if line.Kind != ledger.KindAwait {
			continue
		}
		if subject := string(line.Subject); decided[subject] {
			return nil, fmt.Errorf("two decisions about %s", subject)
		} else {
			decided[subject] = true
		}
		var d ledger.Data
		if err := json.Unmarshal(line.Data, &d); err != nil {
			return nil, err
		}
		answers[strings.Trim(string(d.Answer), `"`)] = line.Actor.Name
	}
	return answers, nil
}

// readCounts returns the entries of the hashmap that programs use.
func (w *world) readCounts(ctx context.Context, p *process) (map[string]int64, error) {
	file := filepath.Join(w.base, "work", "counts.db")
	if !slices.Contains(w.disk.Paths(), file) {
		return nil, nil
	}
	stores := sqlitestore.New(sqlitestore.Options{Dir: filepath.Dir(file), Disk: p.view.At, VFS: p.view.VFS()})
	all, err := stores.Perform(ctx, &effect.StoreList{Store: effect.Store{Kind: "hashmap", Name: "counts", File: file}, Keys: true, Values: true})
	if err = errors.Join(err, stores.Close()); err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, e := range all.(*effect.StoreEntries).Entries {
		var n int64
		if err := json.Unmarshal(e.Value, &n); err != nil {
			return nil, err
		}
		counts[strings.Trim(string(e.Key), `"`)] = n
	}
	return counts, nil
}

// author returns the person who has sent an answer, or "" for one that several may send.
func author(answer string) string {
	if !strings.HasPrefix(answer, "answer ") {
		return ""
	}
	return answer[strings.LastIndexByte(answer, ' ')+1:]
}

// judgeRecords compares the records with the values of the blocks, and the actors with the people.
func (w *world) judgeRecords(r *records, values map[string]string) {
	for _, text := range slices.Sorted(maps.Keys(r.answers)) {
		id, sent := w.people.sent[text]
		if who := author(text); sent && who != "" && r.answers[text] != who {
			w.fail("J9", "the ledger names %s for the answer to %s by %s", r.answers[text], id, who)
		}
	}
	for _, b := range w.schedule.Work.blocks() {
		value := values[b.Name]
		if _, sent := w.people.sent[value]; sent && r.answers[value] == "" {
			w.fail("J9", "the ledger does not contain the answer %q, which %s received", value, b.Name)
		}
		if want := map[string]int64{"once": 1}[value]; b.Kind == "count" && r.counts[b.Name] != want {
			w.fail("J4", "the store contains %d for %s, whose value is %q", r.counts[b.Name], b.Name, value)
		}
	}
}
