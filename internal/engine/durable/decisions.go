package durable

import (
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/vm"
)

// Ledger is where the run's decisions are recorded. It compares those that stand there already.
type Ledger interface {
	vm.Decisions
	// Live says that the run's past is over, and gives how many records were cut off that the
	// past does not account for.
	Live() (cut int, err error)
	Path() string
	Sync() error // has the disk have all of it
	// Head is the hash of the last record, and Seq its number.
	Head() string
	Seq() int64
}

// decisions are where they are recorded.
type decisions struct {
	deciding sync.Mutex
	ledgers  []Ledger // the directory's first
}

// Decisions has the run's decisions recorded: in its directory, and where else. An error of a
// ledger suspends the run.
func (r *Run) Decisions(all ...Ledger) vm.Decisions {
	r.ledgers = all
	return decider{r}
}

// Written has the journal written as far as it goes: what follows from it may be then.
func (r *Run) Written() error { return r.flush(journal.Written) }

type decider struct{ *Run }

// Now is the run's time; in its past, that of what it was given last.
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

// Decided records a decision. A trial writes nothing.
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

// ledgersLive tells the ledgers that the past is over.
func (r *Run) ledgersLive() error {
	for _, l := range r.ledgers {
		cut, err := l.Live()
		if err != nil {
			return err
		}
		if cut > 0 {
			r.c.Remark(fmt.Sprintf("%s was cut back by %d records that the journal does not account for: they are decided again", l.Path(), cut))
		}
	}
	return nil
}

// ledgerHead is the hash of the last record in the run's directory; "" without a ledger.
func (r *Run) ledgerHead() string {
	if len(r.ledgers) == 0 {
		return ""
	}
	return r.ledgers[0].Head()
}
