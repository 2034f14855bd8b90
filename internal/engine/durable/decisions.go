package durable

import (
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/vm"
)

// Ledger records the decisions of the run. During the replay it compares repeated decisions with
// its existing records.
type Ledger interface {
	vm.Decisions
	// Live ends the replay. It removes the existing records that the replay has not repeated, and
	// returns their number.
	Live() (cut int, err error)
	Path() string
	Sync() error // syncs all records to the disk
	// Head returns the hash of the last record. Seq returns the number of the last record.
	Head() string
	Seq() int64
}

// decisions contains the run's ledgers.
type decisions struct {
	// deciding contains a value while a decision is recorded, which may wait for the store. It is
	// no mutex: the virtual time of a test does not advance while a goroutine waits for one.
	deciding chan struct{}
	ledgers  []Ledger // the first is the ledger in the run's directory
}

// RecordDecisions sets the ledgers in which the run records its decisions. The first is the ledger
// in the run's directory. An error of a ledger suspends the run.
func (r *Run) RecordDecisions(all ...Ledger) vm.Decisions {
	r.ledgers, r.deciding = all, make(chan struct{}, 1)
	return decider{r}
}

// Flush writes the journal. Records in other files may then refer to it.
func (r *Run) Flush() error { return r.flushJournal(journal.Written) }

type decider struct{ *Run }

// IsReplaying reports whether a run repeats what its journal contains.
func IsReplaying(r *Run) bool { return !r.live }

// Time returns a run's time. During the replay this is the time of the last returned record.
func Time(r *Run) time.Time { return time.UnixMilli(decider{r}.Now()) }

// Now returns the run's time in milliseconds since 1970.
func (r decider) Now() int64 {
	switch n := r.past.cursor; {
	case r.live:
	case n > 0:
		return r.past.all[n-1].record.Time
	default:
		return r.c.History.Records[0].Time
	}
	return r.c.Writer.Time()
}

// Decided appends a decision to all ledgers. In a trial it does nothing.
func (r decider) Decided(d *vm.Decision) error {
	if r.c.Trial {
		return nil
	}
	r.deciding <- struct{}{}
	defer func() { <-r.deciding }()
	for _, l := range r.ledgers {
		if err := l.Decided(d); err != nil {
			r.Suspend(err)
			return vm.ErrSuspended
		}
	}
	return nil
}

// ledgersLive ends the replay in all ledgers.
func (r *Run) ledgersLive() error {
	for _, l := range r.ledgers {
		cut, err := l.Live()
		if err != nil {
			return err
		}
		if cut > 0 {
			r.c.Remark(fmt.Sprintf("removed %[2]d records that are not in the journal from %[1]s: these decisions are made again", l.Path(), cut))
		}
	}
	return nil
}

// syncLedgers syncs all ledgers. The error is an *Unwritable.
func (r *Run) syncLedgers() error {
	for _, l := range r.ledgers {
		if err := l.Sync(); err != nil {
			return &Unwritable{err}
		}
	}
	return nil
}

// ledgerHead returns the hash of the last record of the ledger in the run's directory, or "" if
// there is no ledger.
func (r *Run) ledgerHead() string {
	if len(r.ledgers) == 0 {
		return ""
	}
	return r.ledgers[0].Head()
}
