package durable

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// DroppedError means that the requested part of a run's history was dropped.
type DroppedError struct {
	From int64 // number of the first effect that is still stored
}

func (e *DroppedError) Error() string {
	return fmt.Sprintf("the history before effect %d is not stored ([run] history = \"snapshot\")", e.From)
}

// Whole checks that the run's history is complete. The error is a *DroppedError, or one of the
// files.
func (s *Stored) Whole() error {
	from, err := s.FirstStored()
	if err != nil || from == 0 {
		return err
	}
	return &DroppedError{from}
}

// FirstStored returns the first effect that the run's history contains, or 0 if it is complete.
func (s *Stored) FirstStored() (int64, error) {
	if s.History.Head == nil {
		return 0, nil
	}
	all, err := s.Run.Snapshots()
	if err != nil {
		return 0, err
	}
	from := s.History.Last().E + 1 // without a snapshot, no effect can be replayed
	for _, at := range all {
		data, err := s.Run.Snapshot(at)
		if err != nil || at < s.History.Head.S {
			continue
		}
		if head, err := vm.ReadSnapshot(data); err == nil {
			from = head.Counts.Effects + 1
		}
	}
	return from, nil
}

// unplayable returns the error for a run that can neither be resumed from a snapshot nor be
// replayed from its start.
func unplayable(bad []badSnapshot) error {
	why := "the run has no snapshot"
	for i, x := range bad {
		if i == 0 {
			why = ""
		} else {
			why += "; " + journal.SnapshotName(x.at) + ": "
		}
		why += x.why.Error()
	}
	d := &journal.DamagedError{Where: "snapshots", Why: why + ", and the history before them is not stored ([run] history = \"snapshot\")",
		Next: journal.RestoreAdvice}
	if len(bad) > 0 {
		d.Where = journal.SnapshotName(bad[0].at)
	}
	return d
}

// badSnapshot is a snapshot from which the run cannot be resumed.
type badSnapshot struct {
	at  uint64
	why error
}

// OtherEngine means that all snapshots of a run were written by another version of the engine, and
// that the run cannot be replayed from its start.
type OtherEngine struct{ Engine int }

func (e *OtherEngine) Error() string {
	return fmt.Sprintf("the snapshots were written by engine %d, but this concerto has engine %d; the history before them is not stored ([run] history = \"snapshot\")", e.Engine, tape.Engine)
}
