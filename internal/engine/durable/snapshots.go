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

// Snapshots say when a run takes a snapshot of itself.
type Snapshots struct {
	Every  uint64 // after so many records
	Exact  bool   // whatever that costs
	Verify bool   // the run goes on from its snapshot, wherever it waits
	IR     string // the program's SHA-256
	Drop   bool   // what stands before the older of the two that are kept
}

// A snapshot is due after so many bytes of the journal, too; and, unless they are Exact, snapshots
// take no more than this part of the run's time.
const (
	snapshotBytes = 1 << 20
	snapshotPart  = 0.02
)

// snapshots are those that the run has taken.
type snapshots struct {
	began time.Time // of this process
	took  time.Duration
	last  journal.From // behind which the last one was taken
	bytes int64        // of the journal then
	tried uint64       // the record behind which one was due last
	soon  bool         // one is due whatever was since: the program is another one
}

// init begins to count; the program of a run that was changed since it was left has none yet.
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

// Boundary is the vm.Config.Boundary of the run.
func (r *Run) Boundary(m *vm.VM) {
	at, bytes := r.c.Writer.At()
	due := r.snapshotDue(at, bytes)
	if r.calls() || !due && !r.c.Snapshots.Verify {
		return
	}
	began := time.Now()
	if due {
		r.snaps.tried, r.snaps.bytes = at.S, bytes
		if !r.printedAll() { // what is not printed would be known to the snapshot alone
			r.snaps.took += time.Since(began)
			return
		}
		r.out.note(r)
		at, bytes = r.c.Writer.At()
	}
	head, err := r.head(at)
	if err != nil {
		r.Suspend(err)
		return
	}
	take := m.Snapshot
	if r.c.Snapshots.Verify {
		take = m.Verified // what is wrong ends the run
	}
	data, err := take(head)
	if err != nil || !due {
		return // none can be taken here
	}
	took := time.Since(began)
	if data, err = vm.Timed(data, float64(took.Microseconds())/1000); err == nil {
		err = r.c.Writer.Flush(journal.Written) // it stands behind what it follows from
	}
	if err == nil {
		err = r.c.Dir.PutSnapshot(at.S, data)
	}
	if err == nil && r.c.Snapshots.Drop {
		err = r.drop()
	}
	s := &r.snaps
	s.took += time.Since(began)
	s.last, s.bytes, s.soon = at, bytes, false
	if err != nil && r.Err() == nil {
		r.Suspend(&Unwritable{err})
	}
}

// drop has those records dropped that nobody needs who goes on from the older of the snapshots. From then on the run
// cannot be played from its beginning: what a snapshot follows from has to be on the disk.
func (r *Run) drop() error {
	all, err := r.c.Dir.Snapshots()
	if err != nil || len(all) < 2 || !r.c.Writer.Drops(all[1]) {
		return err
	}
	data, err := r.c.Dir.Snapshot(all[1])
	if err != nil {
		return err
	}
	if head, err := vm.ReadSnapshot(data); err != nil || head.Engine != tape.Engine || head.IR != r.c.Snapshots.IR {
		return nil // the run cannot go on from it
	}
	if err := r.flush(journal.Synced); err != nil {
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

// printsAtOnce is how long a snapshot waits for who reads the run's output.
const printsAtOnce = 20 * time.Millisecond

// printedAll says whether all that was put out is printed, or soon is.
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

// snapshotDue says whether a snapshot is to be taken behind the journal's last record.
func (r *Run) snapshotDue(at journal.From, bytes int64) bool {
	s := &r.snaps
	switch {
	case !r.live || at == s.last:
		return false
	case r.Err() != nil || s.soon:
		return true // it is being left
	case at.S-s.tried < r.c.Snapshots.Every && bytes-s.bytes < snapshotBytes:
		return false
	}
	return r.c.Snapshots.Exact || s.took.Seconds() <= time.Since(s.began).Seconds()*snapshotPart
}

// head is what a snapshot behind a record begins with.
func (r *Run) head(at journal.From) (head vm.Snapshot, err error) {
	state, err := r.state()
	if err != nil {
		return head, err
	}
	text, err := jsonwrite.Encode(state)
	return vm.Snapshot{S: int64(at.S), H: at.H, Engine: tape.Engine, IR: r.c.Snapshots.IR, Runner: text}, err
}

// Hide is how a text stands in a snapshot; Reveal gives what it was.
func (r *Run) Hide(text string) string { return r.hide(text) }

// Reveal is a text that stood in a snapshot.
func (r *Run) Reveal(text string) string { return secret.Restore(text, r.c.Secret) }
