// Package ledger records who decided what a run was asked: what hosts asked, calls of tools
// that were to be approved of, awaited emits (spec/27-ledger.md); its API promises nothing.
//
// The records have the form of package audit, and none of their own at a process's beginning and
// end: a run that is played again makes the same ones, and those that stand there already are
// compared, not written again.
package ledger

import (
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// What is what messages call a ledger.
const What = "ledger"

// Ledger is a ledger that is being written. Many runs may share one. Safe for concurrent use.
type Ledger struct{ log *audit.Log }

// Options are how a ledger is written. The zero value will do.
type Options struct {
	SyncEach bool                        // every record is on the disk before what follows from it happens
	Wrap     func(audit.File) audit.File // nil: the file as it is; tests have disks fill up
}

// Open takes a ledger over, or makes a new one. A last line that was torn is cut off. Its error
// is an *audit.LockedError, an *audit.BrokenError, or that of the file.
func Open(path string, o Options) (*Ledger, error) {
	log, err := audit.Open(path, audit.Options{What: What, Bare: true, SyncEach: o.SyncEach, Wrap: o.Wrap})
	if err != nil {
		return nil, err
	}
	return &Ledger{log}, nil
}

// Head is the last record.
func (l *Ledger) Head() audit.Head { return l.log.Head() }

// Torn is how many bytes of a line that was torn off were cut when the ledger was opened.
func (l *Ledger) Torn() int64 { return l.log.Torn() }

// Path is where the ledger is.
func (l *Ledger) Path() string { return l.log.Path() }

// Close gives the ledger free.
func (l *Ledger) Close() error { return l.log.Close() }

// RunOptions are what is to be known of a run.
type RunOptions struct {
	ID    string
	Clean func(text []byte) []byte // removes secrets from JSON; nil leaves it as it is
	// Resumed says that the run is played again from its beginning: what stands in the ledger
	// of it is compared.
	Resumed bool
	// Since is the last record of the ledger up to which the run was not played again: it is gone
	// on with from a snapshot. 0: from its beginning.
	Since int64
	// Before is called before a record is written, and its error is that of the record: what the
	// record follows from must be kept first. nil: nothing must.
	Before func() error
	Now    func() time.Time // nil: the clock
}

// Run records the decisions of one run. It is not safe for concurrent use.
type Run struct {
	l     *Ledger
	o     RunOptions
	seen  map[int64]int // how many records an effect has had
	stood standing      // of a resumed run
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
	if r.stood, err = l.standing(o.ID); err != nil {
		return nil, err
	}
	for at, x := range r.stood {
		if x.seq <= o.Since {
			x.seen = true
			r.seen[at.e] = max(r.seen[at.e], at.n+1)
		}
	}
	return r, nil
}

// Add records what effect e has decided, unless that stands there already. Records of one effect
// are told apart by their order. The error is a *ConflictError when something else stands there.
func (r *Run) Add(e int64, x audit.Record) error {
	n := r.seen[e]
	if r.stood.has(e, n) {
		if err := r.stood.compare(r.l.Path(), e, n, x); err != nil {
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

// Live says that the run has gone through its past: what stands in the ledger of it and was not
// decided again is what the past has lost, and is cut off, as it will be decided anew. It gives
// how many records that were. Those before which other runs have written stay.
func (r *Run) Live() (cut int, err error) {
	left := r.stood.left()
	if len(left) == 0 {
		return 0, nil
	}
	at, cut, err := r.l.tail(left)
	if err != nil || cut == 0 {
		return 0, err
	}
	r.stood = standing{}
	return cut, r.l.log.Cut(at)
}

// Head is the hash of the ledger's last record.
func (r *Run) Head() string { return r.l.Head().Hash }

// Seq is the number of the ledger's last record; 0 without one.
func (r *Run) Seq() int64 { return r.l.Head().Seq }

// Sync has the disk have all records.
func (r *Run) Sync() error { return audit.Sync(r.l.log) }

// Path is where the ledger is.
func (r *Run) Path() string { return r.l.Path() }

// IsBroken says whether an error is that of a ledger that was changed, or that says something else
// than its run.
func IsBroken(err error) bool {
	var broken *audit.BrokenError
	var conflict *ConflictError
	return errors.As(err, &broken) || errors.As(err, &conflict)
}
