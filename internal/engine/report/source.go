package report

import (
	"context"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
)

// States of a run that its journal alone does not have.
const (
	Killed = "killed" // the journal ends without an end, and no process owns it
)

// Of returns the report of a recorded run. state is the state of a stored run (package durable), or
// "" for a tape. The error is that of timetravel.Source.Events.
func Of(ctx context.Context, s *timetravel.Source, state string) (*Report, error) {
	first, last, timed := s.Times()
	b := NewBuilder(timed)
	played := s.Events(ctx, b.Sink())
	r, err := b.Report(s.Program())
	if err != nil {
		return nil, err
	}
	h := s.Header()
	r.Run.ID, r.Run.Program, r.Run.Exit, r.Run.Inputs = h.Run, h.Program, s.Exit(), h.Inputs
	r.Run.Args = append(r.Run.Args, h.Args...)
	if h.Engine != 0 {
		r.Run.Engine = strconv.Itoa(h.Engine)
	}
	r.Run.Source, r.Run.State = FromTape, stateOfTape(r.Run.Exit)
	if timed {
		r.Run.Source, r.Run.State = FromJournal, state
		r.Run.Started = date(first)
		if r.Run.Exit != nil {
			r.Run.Ended = date(last)
		}
		if state == durable.Suspend && s.WasKilled() {
			r.Run.State = Killed
		}
	}
	if r.Run.State == Killed {
		for _, x := range r.Items {
			if x.Status == Open && x.Effect != nil && s.Outcome(*x.Effect) == timetravel.Unknown {
				x.Status = Unknown
			}
		}
	}
	return r, played
}

func stateOfTape(exit *int) string {
	switch {
	case exit == nil:
		return Killed
	case *exit == 0:
		return durable.Finished
	}
	return durable.Failed
}

func date(t time.Time) *string {
	s := t.UTC().Format(time.RFC3339)
	return &s
}
