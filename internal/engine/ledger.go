package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/vm"
)

// decisions returns what records the run's decisions in Records.Ledger, or nil. A durable run also
// records them in the ledger of its directory.
func (r *run) decisions() (vm.Decisions, error) {
	o, d := r.options, r.durable
	how := ledger.RunOptions{ID: r.world.ID(), Clean: r.world.Recorded().JSON, Resumed: o.own.durable != nil}
	if d == nil {
		if o.Records.Ledger == nil {
			r.outside.begin(nil)
			return nil, nil
		}
		run, err := ledger.Begin(o.Records.Ledger, how)
		if err != nil {
			return nil, err
		}
		r.outside.begin(nil, run)
		return run, nil
	}
	var err error
	options := ledger.Options{Disk: o.disk(), Owned: true}
	var store func() error
	if w, ok := d.writer.(journal.LedgerWriter); ok {
		options.Store = func() (audit.File, error) { return openLedgerFile(w) }
		store = func() error { return d.writer.Flush(journal.Written) }
	}
	if d.ledger, err = ledger.Open(filepath.Join(d.dir, rundir.LedgerFile), options); err != nil {
		return nil, d.failBegin(ledgerError(err))
	}
	how.Before = d.run.Flush
	var all []durable.Ledger
	var runs []*ledger.Run
	for _, l := range []*ledger.Ledger{d.ledger, o.Records.Ledger} {
		if l == nil {
			continue
		}
		run, err := ledger.Begin(l, how)
		if s := o.own.durable; err == nil && s != nil {
			err = forked(run, s.stored.Start.Fork)
		}
		if err != nil {
			return nil, d.failBegin(ledgerError(err))
		}
		all, runs = append(all, durableLedger{run}), append(runs, run)
	}
	r.outside.begin(store, runs...)
	return d.run.RecordDecisions(all...), nil
}

// forked adds a record to a ledger if the run is a fork.
func forked(l *ledger.Run, f *journal.Fork) error {
	if f == nil {
		return nil
	}
	asked, err := json.Marshal(map[string]any{"run": f.Run, "at": f.At})
	if err != nil {
		return err
	}
	data := &ledger.Data{Asked: asked, Answer: f.Answer}
	return l.Record(ledger.KindFork, audit.Actor{Type: effect.ActorFlag, Name: f.Flag}, ledger.Subject{Effect: f.At}, data)
}

// durableLedger is a ledger of a durable run, which implements durable.Ledger.
type durableLedger struct{ *ledger.Run }

// Decided records a decision.
func (r durableLedger) Decided(d *vm.Decision) error { return ledgerError(r.Run.Decided(d)) }

// Live ends the replay. It returns the number of records that the replay did not repeat and that
// were removed.
func (r durableLedger) Live() (cut int, err error) {
	cut, err = r.Run.EndReplay()
	return cut, ledgerError(err)
}

// ledgerError converts an error of a ledger to the corresponding error of a durable run.
func ledgerError(err error) error {
	var broken *audit.BrokenError
	var conflict *ledger.ConflictError
	var unwritable *durable.Unwritable
	var held *audit.LockedError
	switch {
	case err == nil, errors.As(err, &unwritable), errors.As(err, &held):
		return err
	case errors.As(err, &broken):
		return &journal.DamagedError{Where: fmt.Sprintf("%s:%d", filepath.Base(broken.File), broken.Line), Why: fmt.Sprintf("seq %d: %s", broken.Seq, broken.Why)}
	case errors.As(err, &conflict):
		return &journal.DamagedError{Where: filepath.Base(conflict.File), Why: fmt.Sprintf("seq %d: effect %d decided %s, but the record contains %s", conflict.Seq, conflict.Effect, conflict.Is, conflict.Was)}
	}
	return &durable.Unwritable{Err: err}
}
