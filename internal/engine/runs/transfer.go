package runs

import (
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Source is what a store has to offer, besides journal.Run, so that a run can be copied from it.
type Source interface {
	// Lines returns the first n records of the verified journal as they are stored.
	Lines(n uint64) ([]string, error)
	Ledger() ([]string, error)
}

// Copy returns a copy of a run. The run may be in progress: the copy then contains it up to now.
// The error is a *journal.DamagedError, journal.ErrNoRun, or an error of the store.
func Copy(run journal.Run, from Source) (*journal.Copy, error) {
	s, err := durable.Open(run)
	if err != nil {
		return nil, err
	}
	h := s.History
	c := &journal.Copy{Start: h.Start(), Began: h.Records[0].Time, Last: h.Last(), Programs: map[string][]byte{}, Blobs: map[string][]byte{}}
	lines, err := from.Lines(h.N)
	if err != nil {
		return nil, err
	}
	programs := map[string]string{journal.ProgramFile: c.Start.IR}
	owner := int64(0)
	for i, r := range h.Records {
		switch r.RecordKind {
		case journal.KStart, journal.KResume:
			owner = r.Owner.N
		case journal.KAdopt:
			programs[r.Name] = r.Digest
		}
		c.Effects = max(c.Effects, r.Effect)
		if r.Blob != "" {
			if c.Blobs[r.Blob], err = run.Blob(r.Blob); err != nil {
				return nil, err
			}
		}
		c.Records = append(c.Records, journal.Line{Owner: owner, Text: lines[i]})
	}
	for name, sum := range programs {
		if c.Programs[name], err = run.Program(name, sum); err != nil {
			return nil, err
		}
	}
	if c.Output, _, err = run.Out(); err != nil {
		return nil, err
	}
	if c.Ledger, err = from.Ledger(); err != nil {
		return nil, err
	}
	c.Answers, err = run.Answers()
	return c, err
}
