package durable

import (
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/vm"
)

// Ledger records the run's decisions. It compares existing records.
type Ledger interface {
	vm.Decisions
	// Live ends the replay, and returns how many records were cut off that the past does not
	// contain.
	Live() (cut int, err error)
	Path() string
	Sync() error // writes everything to the disk
	// Head returns the hash of the last record, and Seq its number.
	Head() string
	Seq() int64
}

// decisions contains the ledgers.
type decisions struct {
	deciding sync.Mutex
	ledgers  []Ledger // the directory's ledger is the first
}

// Decisions makes the run record its decisions in its directory's ledger and others. An error of a
// ledger suspends the run.
func (r *Run) Decisions(all ...Ledger) vm.Decisions {
	r.ledgers = all
	return decider{r}
}

// Written writes the journal to its file, so that dependent records may follow.
func (r *Run) Written() error { return r.flushJournal(journal.Written) }

type decider struct{ *Run }

// Now returns the run's time; during the replay, the last recorded one.
func (r decider) Now() int64 {
	switch n := r.past.cursor; {
	case r.live:
	case n > 0:
		return r.past.all[n-1].record.T
	default:
		return r.c.History.Records[0].T
	}
	return r.c.Writer.Time()
}

// Decided records a decision. A trial records nothing.
func (r decider) Decided(d *vm.Decision) error {
	if r.c.Trial {
		return nil
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	for _, l := range r.ledgers {
		if err := l.Decided(d); err != nil {
			r.Suspend(err)
			return vm.ErrSuspended
		}
	}
	return nil
}

// ledgersLive ends the replay of the ledgers.
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

// ledgerHead returns the hash of the last record in the directory's ledger, or "" without one.
func (r *Run) ledgerHead() string {
	if len(r.ledgers) == 0 {
		return ""
	}
	return r.ledgers[0].Head()
}
