package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Successor returns the successor of a run with an id and a name in the store. continues is that of
// the run. inputs and questions are what the run passes on.
func Successor(run, name string, continues *journal.Continues, inputs json.RawMessage, questions []effect.CarriedQuestion) *journal.Successor {
	before := 0
	if continues != nil {
		before = continues.N
	}
	return &journal.Successor{Run: numbered(run, before), Name: numbered(name, before), Inputs: inputs,
		Continues: &journal.Continues{Run: run, Name: name, N: before + 1, Questions: questions}}
}

// numbered returns the name, or the id, of the successor of a run. before is the number of runs
// before that run.
func numbered(name string, before int) string {
	if before > 0 {
		name = strings.TrimSuffix(name, "."+strconv.Itoa(before+1))
	}
	return name + "." + strconv.Itoa(before+2)
}

// readSuccessor returns the successor of a run, or nil if the run has not continued. The record of
// the request to continue contains what the run passes on.
func (s *Stored) readSuccessor() (*journal.Successor, error) {
	if last := s.History.Last(); last.RecordKind != journal.KFinish || last.Outcome != journal.HasContinued {
		return nil, nil
	}
	var end *journal.Record
	for _, r := range s.History.Records {
		if r.Kind == string(effect.KindContinue) {
			end = r
		}
	}
	if end == nil {
		return nil, &journal.DamagedError{Where: s.History.LastPart(), Why: "the run has continued, but the record of that is missing"}
	}
	value, err := end.Result, error(nil)
	if end.Blob != "" {
		value, err = s.Run.Blob(end.Blob)
	}
	var asked effect.Continue
	var taken effect.Continued
	if err == nil {
		err = errors.Join(json.Unmarshal(end.Request, &asked), json.Unmarshal(value, &taken))
	}
	if err != nil {
		return nil, err
	}
	return Successor(s.Start.Run, filepath.Base(s.Run.Name()), s.Flags.Continues, asked.Inputs, taken.Questions), nil
}

// RemovedError means that the successor of a run was removed.
type RemovedError struct{ Run, Successor, Name string }

func (e *RemovedError) Error() string {
	return fmt.Sprintf("run %s has continued as %s in %s, which was removed", e.Run, e.Successor, e.Name)
}

// OpenNext opens the successor of a run that has continued. The error is journal.ErrNoRun if the
// successor has not begun, a *RemovedError, a *journal.DamagedError, also if its place contains
// another run, or an error of Open.
func (s *Stored) OpenNext() (*Stored, error) {
	next, err := Open(s.Run.Sibling(s.Next.Name))
	switch {
	case errors.Is(err, journal.ErrNoRun) && s.Run.HadSuccessor():
		return nil, &RemovedError{s.Start.Run, s.Next.Run, s.Next.Name}
	case err == nil && next.Start.Run != s.Next.Run:
		return nil, &journal.DamagedError{Where: next.Run.Name(), Why: fmt.Sprintf("it contains run %s, but run %s has continued there as %s", next.Start.Run, s.Start.Run, s.Next.Run),
			Next: "move it away, and resume again"}
	}
	return next, err
}

// Newest is like Open, but opens the newest successor that has begun, if the run has continued. The
// errors are also those of OpenNext.
func Newest(run journal.Run) (*Stored, error) {
	s, err := Open(run)
	for err == nil && s.Next != nil {
		next, nerr := s.OpenNext()
		if errors.Is(nerr, journal.ErrNoRun) {
			break // the process of the run ended before it created the successor
		}
		s, err = next, nerr
	}
	return s, err
}
