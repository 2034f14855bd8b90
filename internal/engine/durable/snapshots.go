package durable

import (
	"context"
	"time"

	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// Snapshots configures when a run writes snapshots.
type Snapshots struct {
	Every  uint64 // number of records between snapshots
	Exact  bool   // write snapshots regardless of the time that they take
	Verify bool   // wherever the run waits, replace its state by a restored snapshot
	IR     string // SHA-256 of the program in hex
	Drop   bool   // drop the records that are older than both stored snapshots
}

// A run also writes a snapshot after snapshotBytes bytes of the journal. Unless Exact is set,
// snapshots use at most the fraction snapshotPart of the run's time.
const (
	snapshotBytes = 1 << 20
	snapshotPart  = 0.02
)

// snapshots contains the state from which the run decides when to write a snapshot.
type snapshots struct {
	began time.Time // start of this process
	took  time.Duration
	last  journal.From // position in the journal of the last snapshot
	bytes int64        // size of the journal at the last snapshot, in bytes
	tried uint64       // number of the last record at the last attempt to write a snapshot
	soon  bool         // write a snapshot at the next opportunity, because the program was changed
}

// init sets the start time. If the run's program was changed since its suspension, the existing
// snapshots are invalid, so a new one is written soon.
func (s *snapshots) init(h *journal.History) {
	s.began = time.Now()
	if h == nil {
		return
	}
	for _, x := range h.Records {
		switch x.K {
		case journal.KAdopt:
			s.soon = true
		case journal.KResume, journal.KSecret, journal.KOut:
		default:
			s.soon = false
		}
	}
}

// Boundary writes a snapshot if one is needed. It is the run's vm.Config.Boundary.
func (r *Run) Boundary(m *vm.VM) {
	at, bytes := r.c.Writer.At()
	needed := r.needsSnapshot(at, bytes)
	if r.isCallingTool() || !needed && !r.c.Snapshots.Verify {
		return
	}
	began := time.Now()
	if needed {
		r.snaps.tried, r.snaps.bytes = at.S, bytes
		if !r.printedAll() { // after a restore, nothing would print this output
			r.snaps.took += time.Since(began)
			return
		}
		r.out.recordPrinted(r)
		at, bytes = r.c.Writer.At()
	}
	head, err := r.head(at)
	if err != nil {
		r.Suspend(err)
		return
	}
	take := m.Snapshot
	if r.c.Snapshots.Verify {
		take = m.Verified // fails if the restored state differs
	}
	data, err := take(head)
	if err != nil || !needed {
		return // the VM cannot write a snapshot at this point
	}
	took := time.Since(began)
	if data, err = vm.Timed(data, float64(took.Microseconds())/1000); err == nil {
		err = r.c.Writer.Flush(journal.Written) // the snapshot depends on the records
	}
	if err == nil {
		err = r.c.Writer.PutSnapshot(at.S, data)
	}
	if err == nil && r.c.Snapshots.Drop {
		err = r.dropRecords()
	}
	s := &r.snaps
	s.took += time.Since(began)
	s.last, s.bytes, s.soon = at, bytes, false
	if err != nil && r.Err() == nil {
		r.Suspend(&Unwritable{err})
	}
}

// dropRecords drops the records that are older than both snapshots. The run can then no longer be
// replayed from its start, so the journal and the ledgers are synced first.
func (r *Run) dropRecords() error {
	w, ok := r.c.Writer.(journal.Dropper)
	if !ok {
		return nil // the store retains all records
	}
	all, err := r.c.Stored.Snapshots()
	if err != nil || len(all) < 2 || !w.CanDrop(all[1]) {
		return err
	}
	data, err := r.c.Stored.Snapshot(all[1])
	if err != nil {
		return err
	}
	if head, err := vm.ReadSnapshot(data); err != nil || head.Engine != tape.Engine || head.IR != r.c.Snapshots.IR {
		return nil // the older snapshot cannot be used to resume the run
	}
	if err := r.flushJournal(journal.Synced); err != nil {
		return err
	}
	for _, l := range r.ledgers {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	w.Drop(all[1], newTally())
	return nil
}

// printsAtOnce limits how long a snapshot waits until the run's output is printed.
const printsAtOnce = 20 * time.Millisecond

// printedAll waits for a short time and reports whether all output is printed.
func (r *Run) printedAll() bool {
	if r.c.World == nil {
		return true
	}
	within := printsAtOnce
	if r.Err() != nil {
		within = printWithin
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return r.c.World.FlushOutput(ctx) == nil
}

// needsSnapshot reports whether the run must write a snapshot now. at is the last record of the
// journal, and bytes is the journal's size.
func (r *Run) needsSnapshot(at journal.From, bytes int64) bool {
	s := &r.snaps
	switch {
	case !r.live || at == s.last:
		return false
	case r.Err() != nil || s.soon:
		return true // the run is being suspended, or its program was changed
	case at.S-s.tried < r.c.Snapshots.Every && bytes-s.bytes < snapshotBytes:
		return false
	}
	return r.c.Snapshots.Exact || s.took.Seconds() <= time.Since(s.began).Seconds()*snapshotPart
}

// head returns the header of a snapshot after record at.
func (r *Run) head(at journal.From) (head vm.Snapshot, err error) {
	state, err := r.snapshotState()
	if err != nil {
		return head, err
	}
	text, err := jsonwrite.Encode(state)
	return vm.Snapshot{S: int64(at.S), H: at.H, Engine: tape.Engine, IR: r.c.Snapshots.IR, Runner: text}, err
}

// Hide replaces secrets in a text of a snapshot by placeholders. Reveal restores them.
func (r *Run) Hide(text string) string { return r.hide(text) }

// Reveal replaces placeholders in a text of a snapshot by the secrets.
func (r *Run) Reveal(text string) string { return secret.Restore(text, r.c.Secret) }
