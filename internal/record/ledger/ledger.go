// Package ledger records the decisions about a run's requests: requests of hosts, tool calls that
// need approval, and awaited emits (spec/27-ledger.md); its API promises nothing.
//
// The records have the form of package audit, without records at the beginning and end of a
// process: a run that is replayed produces the same records, and existing ones are compared instead
// of written again.
package ledger

import (
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// Name is the word for a ledger in messages.
const Name = "ledger"

// Ledger is a ledger open for writing. Several runs may share it. It is safe for concurrent use.
type Ledger struct{ log *audit.Log }

// Options configures a ledger. The zero value is valid.
type Options struct {
	SyncEach bool                        // sync each record before its consequences
	Wrap     func(audit.File) audit.File // wraps the file; for tests
}

// Open opens or creates a ledger. It cuts off an incomplete last line. The error is an
// *audit.LockedError, an *audit.BrokenError, or that of the file.
func Open(path string, o Options) (*Ledger, error) {
	log, err := audit.Open(path, audit.Options{What: Name, Bare: true, SyncEach: o.SyncEach, Wrap: o.Wrap})
	if err != nil {
		return nil, err
	}
	return &Ledger{log}, nil
}

// Head returns the head of the ledger: its last record.
func (l *Ledger) Head() audit.Head { return l.log.Head() }

// Torn returns how many bytes of an incomplete line Open has cut off.
func (l *Ledger) Torn() int64 { return l.log.Torn() }

// Path returns the path of the ledger.
func (l *Ledger) Path() string { return l.log.Path() }

// Close unlocks the ledger.
func (l *Ledger) Close() error { return l.log.Close() }

// RunOptions describes a run.
type RunOptions struct {
	ID    string
	Clean func(text []byte) []byte // removes secrets from JSON; nil leaves it unchanged
	// Resumed means that the run is replayed from its beginning, and existing records of it are
	// compared.
	Resumed bool
	// Since is the last record before the snapshot from which the run continues; 0 means that it is
	// replayed from its beginning.
	Since int64
	// Before, if not nil, is called before a record is written, to store what the record depends
	// on. Its error becomes the record's.
	Before func() error
	Now    func() time.Time // nil means the clock
}

// Run records the decisions of one run. It is not safe for concurrent use.
type Run struct {
	l        *Ledger
	o        RunOptions
	seen     map[int64]int   // number of records of each effect
	existing existingRecords // of a resumed run
}

// Begin begins to record the decisions of a run.
func Begin(l *Ledger, o RunOptions) (*Run, error) {
	if o.Clean == nil {
		o.Clean = func(text []byte) []byte { return text }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Run{l: l, o: o, seen: map[int64]int{}}
	if !o.Resumed {
		return r, nil
	}
	var err error
	if r.existing, err = l.readExisting(o.ID); err != nil {
		return nil, err
	}
	for at, x := range r.existing {
		if x.seq <= o.Since {
			x.seen = true
			r.seen[at.e] = max(r.seen[at.e], at.n+1)
		}
	}
	return r, nil
}

// Add records a decision of effect e, unless the record exists. Records of one effect are
// distinguished by their order. The error is a *ConflictError if a different record exists.
func (r *Run) Add(e int64, x audit.Record) error {
	n := r.seen[e]
	if r.existing.has(e, n) {
		if err := r.existing.compare(r.l.Path(), e, n, x); err != nil {
			return err
		}
		r.seen[e]++
		return nil
	}
	if r.o.Before != nil {
		if err := r.o.Before(); err != nil {
			return err
		}
	}
	if x.At.IsZero() {
		x.At = r.o.Now()
	}
	x.Run = r.o.ID
	if _, err := r.l.log.Append(x); err != nil {
		return err
	}
	r.seen[e]++
	return nil
}

// EndReplay ends the replay. Existing records of the run that were not produced again belong to
// decisions that the run has lost; they are cut off, because the decisions will be made again. It
// returns their number. Records that are followed by those of other runs remain.
func (r *Run) EndReplay() (cut int, err error) {
	left := r.existing.notReproduced()
	if len(left) == 0 {
		return 0, nil
	}
	at, cut, err := r.l.tail(left)
	if err != nil || cut == 0 {
		return 0, err
	}
	r.existing = existingRecords{}
	return cut, r.l.log.Cut(at)
}

// Head returns the hash of the ledger's last record.
func (r *Run) Head() string { return r.l.Head().Hash }

// Seq returns the number of the ledger's last record, or 0.
func (r *Run) Seq() int64 { return r.l.Head().Seq }

// Sync writes all records to the disk.
func (r *Run) Sync() error { return audit.Sync(r.l.log) }

// Path returns the path of the ledger.
func (r *Run) Path() string { return r.l.Path() }

// IsBroken reports whether an error means that the ledger was changed, or contradicts its run.
func IsBroken(err error) bool {
	var broken *audit.BrokenError
	var conflict *ConflictError
	return errors.As(err, &broken) || errors.As(err, &conflict)
}
