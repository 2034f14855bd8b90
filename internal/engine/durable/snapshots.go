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

// Snapshots configures when a run takes a snapshot of itself.
type Snapshots struct {
	Every  uint64 // number of records between snapshots
	Exact  bool   // regardless of the cost
	Verify bool   // replace the run by its snapshot, wherever it waits
	IR     string // the program's SHA-256
	Drop   bool   // drop the records before the older of the two stored snapshots
}

// A snapshot is also due after this many bytes of the journal. Unless they are Exact, snapshots
// take at most this part of the run's time.
const (
	snapshotBytes = 1 << 20
	snapshotPart  = 0.02
)

// snapshots is the state of the run's snapshots.
type snapshots struct {
	began time.Time // start of this process
	took  time.Duration
	last  journal.From // position of the last snapshot
	bytes int64        // size of the journal at that time
	tried uint64       // the last record after which one was scheduled
	soon  bool         // write one in any case: the program has changed
}

// init begins to count. A run whose program was changed since its suspension has no valid snapshot.
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

// Boundary is the run's vm.Config.Boundary.
func (r *Run) Boundary(m *vm.VM) {
	at, bytes := r.c.Writer.At()
	needed := r.needsSnapshot(at, bytes)
	if r.isCallingTool() || !needed && !r.c.Snapshots.Verify {
		return
	}
	began := time.Now()
	if needed {
		r.snaps.tried, r.snaps.bytes = at.S, bytes
		if !r.printedAll() { // unprinted output would be known only to the snapshot
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
		take = m.Verified // a difference ends the run
	}
	data, err := take(head)
	if err != nil || !needed {
		return // no snapshot is possible here
	}
	took := time.Since(began)
	if data, err = vm.Timed(data, float64(took.Microseconds())/1000); err == nil {
		err = r.c.Writer.Flush(journal.Written) // records precede the snapshot that depends on them
	}
	if err == nil {
		err = r.c.Dir.PutSnapshot(at.S, data)
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

// dropRecords drops the records that resuming from the older snapshot does not need. Afterwards the
// run cannot be replayed from its beginning, so what a snapshot depends on must be on the disk.
func (r *Run) dropRecords() error {
	all, err := r.c.Dir.Snapshots()
	if err != nil || len(all) < 2 || !r.c.Writer.CanDrop(all[1]) {
		return err
	}
	data, err := r.c.Dir.Snapshot(all[1])
	if err != nil {
		return err
	}
	if head, err := vm.ReadSnapshot(data); err != nil || head.Engine != tape.Engine || head.IR != r.c.Snapshots.IR {
		return nil // the run cannot be resumed from it
	}
	if err := r.flushJournal(journal.Synced); err != nil {
		return err
	}
	for _, l := range r.ledgers {
		if err := l.Sync(); err != nil {
			return err
		}
	}
	r.c.Writer.Drop(all[1], newTally())
	return nil
}

// printsAtOnce is how long a snapshot waits for the reader of the run's output.
const printsAtOnce = 20 * time.Millisecond

// printedAll reports whether all output is printed, after a short wait.
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

// needsSnapshot reports whether the run must write a snapshot after the journal's last record.
func (r *Run) needsSnapshot(at journal.From, bytes int64) bool {
	s := &r.snaps
	switch {
	case !r.live || at == s.last:
		return false
	case r.Err() != nil || s.soon:
		return true // it is being suspended
	case at.S-s.tried < r.c.Snapshots.Every && bytes-s.bytes < snapshotBytes:
		return false
	}
	return r.c.Snapshots.Exact || s.took.Seconds() <= time.Since(s.began).Seconds()*snapshotPart
}

// head returns the head of a snapshot after a record.
func (r *Run) head(at journal.From) (head vm.Snapshot, err error) {
	state, err := r.snapshotState()
	if err != nil {
		return head, err
	}
	text, err := jsonwrite.Encode(state)
	return vm.Snapshot{S: int64(at.S), H: at.H, Engine: tape.Engine, IR: r.c.Snapshots.IR, Runner: text}, err
}

// Hide returns a text in the form of a snapshot; Reveal reverses it.
func (r *Run) Hide(text string) string { return r.hide(text) }

// Reveal returns the original of a text in a snapshot.
func (r *Run) Reveal(text string) string { return secret.Restore(text, r.c.Secret) }
