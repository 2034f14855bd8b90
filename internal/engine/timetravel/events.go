package timetravel

import (
	"cmp"
	"context"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/engine/attempts"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/eventstream"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/runtime/llm"
	"github.com/concerto-lang/concerto/vm"
)

// Events plays the run from its tape, and passes its events to sinks. Items, their order and their
// members are those of the run itself. The times are those of the journal, in milliseconds; a tape
// has none. The error is that of Play.
func (s *Source) Events(ctx context.Context, sinks ...event.Sink) error {
	all, err := s.models()
	if err != nil {
		return err
	}
	clock := &clock{source: s, options: eventstream.Options{Sinks: sinks, Attempts: all.Report}}
	if s.tape.Ended == nil {
		clock.recorded = map[int64]bool{}
		for _, x := range s.tape.Entries {
			clock.recorded[x.E] = true
		}
		for e := range s.under {
			clock.recorded[e] = true
		}
	}
	_, err = s.play(ctx, 0, clock)
	return err
}

// clock is the clock of a run that is played, and the stream of its events. It is the VM's
// Observer.
type clock struct {
	vm.NotObserved
	source  *Source
	now     time.Duration
	options eventstream.Options
	*eventstream.Stream
	// recorded contains the effects that the recording contains; nil for a whole recording.
	recorded map[int64]bool
}

// effectTimes contains the times at which an effect began and ended, in milliseconds since the
// start of the run. 0 means that the time is unknown.
type effectTimes struct{ began, ended int64 }

// timesOf returns the times of effects by their numbers.
func timesOf(records []*journal.Record) map[int64]effectTimes {
	all := map[int64]effectTimes{}
	if len(records) == 0 {
		return all
	}
	start := records[0].Time
	for _, r := range records {
		t := all[r.Effect]
		switch r.RecordKind {
		case journal.KBegin:
			t.began = cmp.Or(t.began, r.Time-start)
		case journal.KEnd, journal.KDid, journal.KLines:
			t.ended = r.Time - start
		}
		all[r.Effect] = t
	}
	return all
}

// advance sets the clock to a time of the journal, unless that is unknown.
func (c *clock) advance(ms int64) { c.now = max(c.now, time.Duration(ms)*time.Millisecond) }

// open starts the stream of events.
func (c *clock) open(secrets *secret.Set) {
	c.options.Secrets, c.options.Since = secrets, func() time.Duration { return c.now }
	c.Stream = eventstream.New(c.options)
}

// Activity implements vm.Observer.
func (c *clock) Activity() vm.Activity { return c }

// Decisions implements vm.Observer.
func (c *clock) Decisions() vm.Decisions { return c.DecisionsAfter(nil) }

// Requested implements vm.Activity. It sets the clock to the time at which the effect began. If the
// recording does not contain an effect because the process was killed, the effect has no event.
func (c *clock) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	if c.recorded != nil && tape.Recorded(q.Kind()) && !c.recorded[e] {
		return nil
	}
	c.advance(c.source.times[e].began)
	return c.Stream.Requested(e, at, q)
}

// models returns the connections of the program.
func (s *Source) models() (attempts.Models, error) {
	all := attempts.Models{}
	for _, x := range s.program.Connections {
		c, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return nil, err
		}
		all[x.Name] = c
	}
	return all, nil
}
