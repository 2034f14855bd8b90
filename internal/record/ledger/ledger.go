// Package ledger records the decisions of a run: answers to requests of hosts, approvals of tool
// calls, and answers to awaited emits (spec/27-ledger.md).
//
// Records have the form of package audit, but there are no records `open` and `close`. A run that
// is replayed produces the same records again. They are compared with the existing ones and not
// written again.
package ledger

import (
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// Name is the name of a ledger in messages.
const Name = "ledger"

// Ledger is a ledger that is open for writing. Several runs may share it. It is safe for concurrent
// use.
type Ledger struct{ log *audit.Log }

// Options configures a ledger. The zero value is valid.
type Options struct {
	SyncEach bool                        // sync each record before the run continues
	Verify   int64                       // see audit.Options
	Wrap     func(audit.File) audit.File // replaces the file; used by tests
	Disk     disk.Disk                   // the disk with the file; nil means the real one
	Owned    bool                        // see audit.Options
	Store    func() (audit.File, error)  // see audit.Options
}

// Open opens or creates a ledger. It removes an incomplete last line. The error is an
// *audit.LockedError, an *audit.BrokenError, or an error of the file.
func Open(path string, o Options) (*Ledger, error) {
	log, err := audit.Open(path, audit.Options{What: Name, Bare: true, SyncEach: o.SyncEach, Verify: o.Verify, Wrap: o.Wrap, Disk: o.Disk, Owned: o.Owned, Store: o.Store})
	if err != nil {
		return nil, err
	}
	return &Ledger{log}, nil
}

// Head returns the hash and the number of the last record.
func (l *Ledger) Head() audit.Head { return l.log.Head() }

// Torn returns the number of bytes of the incomplete line that Open removed.
func (l *Ledger) Torn() int64 { return l.log.Torn() }

// Path returns the path of the ledger.
func (l *Ledger) Path() string { return l.log.Path() }

// Close releases the lock of the ledger and closes it.
func (l *Ledger) Close() error { return l.log.Close() }

// RunOptions describes a run.
type RunOptions struct {
	ID    string
	Clean func(text []byte) []byte // replaces secrets in JSON; nil leaves it unchanged
	// Resumed means that the run is replayed from its start. Its decisions are compared with the
	// existing records.
	Resumed bool
	// Before, if not nil, is called before a record is written, to store the effects on which the
	// record depends. Its error becomes the error of the decision.
	Before func() error
	Now    func() time.Time // returns the current time; nil means time.Now
}

// Run records the decisions of one run in a ledger. It is safe for concurrent use.
type Run struct {
	l *Ledger
	o RunOptions

	mu       sync.Mutex
	seen     map[int64]int            // number of records by effect
	existing existingRecords          // existing records of a resumed run
	outside  map[string]outsideAnswer // of the decisions outside of exchanges; see OutsideSubject.key
	answered map[string]int64         // number of the last record about a request; see answerKey
}

// Begin starts to record the decisions of a run.
func Begin(l *Ledger, o RunOptions) (*Run, error) {
	if o.Clean == nil {
		o.Clean = func(text []byte) []byte { return text }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Run{l: l, o: o, seen: map[int64]int{}, outside: map[string]outsideAnswer{}, answered: map[string]int64{}}
	if !o.Resumed {
		return r, nil
	}
	if err := r.readExisting(); err != nil {
		return nil, err
	}
	return r, nil
}

// add records a decision of effect e, unless the ledger already contains the record, and returns
// the number of the record. Records of the same effect are identified by their order. The error is
// a *ConflictError if the existing record differs.
func (r *Run) add(e int64, x audit.Record) (int64, error) {
	n := r.seen[e]
	if r.existing.has(e, n) {
		if err := r.existing.compare(r.l.Path(), e, n, x); err != nil {
			return 0, err
		}
		r.seen[e]++
		return r.existing[place{e, n}].seq, nil
	}
	if r.o.Before != nil {
		if err := r.o.Before(); err != nil {
			return 0, err
		}
	}
	if x.At.IsZero() {
		x.At = r.o.Now()
	}
	x.Run = r.o.ID
	line, err := r.l.log.Append(x)
	if err != nil {
		return 0, err
	}
	r.seen[e]++
	return line.Seq, nil
}

// EndReplay ends the replay and returns the number of records that it removed. It removes existing
// records that the replay did not produce again, because the run will make these decisions again.
// Such records remain if records of other runs follow them. Decisions outside of exchanges that
// follow them are written again.
func (r *Run) EndReplay() (cut int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.existing.notReproduced()
	if len(left) == 0 {
		return 0, nil
	}
	at, cut, outside, err := r.l.tail(r.o.ID, left)
	if err != nil || cut == 0 {
		return 0, err
	}
	r.existing = existingRecords{}
	if err := r.l.log.Cut(at); err != nil {
		return 0, err
	}
	for _, x := range outside {
		if _, err := r.l.log.Append(x); err != nil {
			return 0, err
		}
	}
	return cut, nil
}

// Head returns the hash of the ledger's last record.
func (r *Run) Head() string { return r.l.Head().Hash }

// Seq returns the number of the ledger's last record, or 0 if there is none.
func (r *Run) Seq() int64 { return r.l.Head().Seq }

// Sync writes all records to the disk.
func (r *Run) Sync() error { return audit.Sync(r.l.log) }

// Path returns the path of the ledger.
func (r *Run) Path() string { return r.l.Path() }
