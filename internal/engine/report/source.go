package report

import (
	"context"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// Killed is the state of a run whose journal, tape or transcript ends without an end, and that no
// process owns.
const Killed = durable.Killed

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
	r.Run.ID, r.Run.Program, r.Run.Exit = h.Run, h.Program, s.Exit()
	if args, inputs, ok := s.Arguments(); ok {
		r.Run.Args, r.Run.Inputs = append(r.Run.Args, args...), inputs
	} else {
		r.Gaps = append(r.Gaps, "no arguments and no input: the environment lacks a secret of the run, which they may contain")
	}
	if h.Engine != 0 {
		r.Run.Engine = strconv.Itoa(h.Engine)
	}
	r.SetTrace(otlp.TraceOf(h.Run))
	r.nameSecrets()
	r.Run.Source, r.Run.State = FromTape, stateOfTape(r.Run.Exit)
	if timed {
		r.Run.Source, r.Run.State = FromJournal, state
		r.Run.Started = date(first)
		if r.Run.Exit != nil {
			r.Run.Ended = date(last)
		}
	}
	if r.Run.State == Killed {
		for _, x := range r.Items {
			if x.Status == Open && x.Effect != nil && s.Outcome(*x.Effect) == timetravel.Unknown {
				x.Status = Unknown
			}
		}
	}
	r.SetCache(s.Program())
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

// recorded matches a secret in a recording, whose value the environment lacks.
var recorded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`«secret:([^»:]+)[^»]*»`) })

// nameSecrets shows the secrets of a recording in the form in which runs show them.
func (r *Report) nameSecrets() {
	text := func(s string) string {
		if !strings.Contains(s, "«secret:") {
			return s
		}
		return recorded().ReplaceAllString(s, "***$1***")
	}
	for _, x := range r.Items {
		x.Error = text(x.Error)
		for i := range x.Details.Cause {
			x.Details.Cause[i].Message = text(x.Details.Cause[i].Message)
		}
		for _, v := range x.Texts.all() {
			if *v != nil {
				*v = json.RawMessage(text(string(*v)))
			}
		}
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		for _, v := range []*json.RawMessage{&d.Request, &d.Answer} {
			if *v != nil {
				*v = json.RawMessage(text(string(*v)))
			}
		}
	}
}
