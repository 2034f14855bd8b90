package durable

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/vm"
)

// Gone says that what is wanted of a run stands in that part of its history that is not kept.
type Gone struct {
	From int64 // the first effect that is kept
}

func (e *Gone) Error() string {
	return fmt.Sprintf("what the run did before effect %d is not kept ([run] history = \"snapshot\")", e.From)
}

// Whole says that the run's history is there from its beginning on. The error is a *Gone, or one of the files.
func (s *Stored) Whole() error {
	from, err := s.KeptFrom()
	if err != nil || from == 0 {
		return err
	}
	return &Gone{from}
}

// KeptFrom is the first effect of which the run's history tells what it was; 0 when all do.
func (s *Stored) KeptFrom() (int64, error) {
	if s.History.Head == nil {
		return 0, nil
	}
	all, err := s.Dir.Snapshots()
	if err != nil {
		return 0, err
	}
	from := s.History.Last().E + 1 // without a snapshot nothing can be played
	for _, at := range all {
		data, err := s.Dir.Snapshot(at)
		if err != nil || at < s.History.Head.S {
			continue
		}
		if head, err := vm.ReadSnapshot(data); err == nil {
			from = head.Counts.Effects + 1
		}
	}
	return from, nil
}

// unplayable is why a run can neither be gone on with from a snapshot nor be played from its beginning.
func unplayable(bad []badSnapshot) error {
	why := "there is no snapshot of the run"
	for i, x := range bad {
		if i == 0 {
			why = ""
		} else {
			why += "; " + journal.SnapshotName(x.at) + ": "
		}
		why += x.why.Error()
	}
	d := &journal.Damaged{Where: "snapshots", Why: why + "; and what stood before them is not kept ([run] history = \"snapshot\")",
		Next: journal.PutBack}
	if len(bad) > 0 {
		d.Where = journal.SnapshotName(bad[0].at)
	}
	return d
}

// badSnapshot is one from which the run cannot go on.
type badSnapshot struct {
	at  uint64
	why error
}

// OtherEngine says that a run goes on from its snapshots alone, which another version has made.
type OtherEngine struct{ Engine int }

func (e *OtherEngine) Error() string {
	return fmt.Sprintf("its snapshots are of engine %d, and this concerto has %d; what stood before them is not kept ([run] history = \"snapshot\")", e.Engine, tape.Engine)
}
