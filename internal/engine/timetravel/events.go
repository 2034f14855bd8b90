package timetravel

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
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
	models, err := s.models()
	if err != nil {
		return err
	}
	clock := &clock{source: s, options: eventstream.Options{Sinks: sinks, Attempts: models.report}}
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
	start := records[0].T
	for _, r := range records {
		t := all[r.E]
		switch r.K {
		case journal.KBegin:
			t.began = cmp.Or(t.began, r.T-start)
		case journal.KEnd, journal.KDid, journal.KLines:
			t.ended = r.T - start
		}
		all[r.E] = t
	}
	return all
}

// advance sets the clock to a time of the journal, unless that is unknown.
func (c *clock) advance(ms int64) { c.now = max(c.now, time.Duration(ms)*time.Millisecond) }

// observe starts the stream of events.
func (c *clock) observe(secrets *secret.Set) vm.Observer {
	c.options.Secrets, c.options.Since = secrets, func() time.Duration { return c.now }
	c.Stream = eventstream.New(c.options)
	return c
}

// Requested implements vm.Observer. It sets the clock to the time at which the effect began. If the
// recording does not contain an effect because the process was killed, the effect has no event.
func (c *clock) Requested(e int64, at vm.Caller, q effect.Request) func(effect.Result, error) {
	if c.recorded != nil && tape.Recorded(q.Kind()) && !c.recorded[e] {
		return nil
	}
	c.advance(c.source.times[e].began)
	return c.Stream.Requested(e, at, q)
}

// models are the connections of a program, by their names.
type models map[string]llm.Connection

func (s *Source) models() (models, error) {
	all := models{}
	for _, x := range s.program.Connections {
		c, err := llm.ParseConnection(x.Name, x.Config)
		if err != nil {
			return nil, err
		}
		all[x.Name] = c
	}
	return all, nil
}

// report reports the attempts at a call of a model from the recorded result. It returns false if
// the call was refused before the first attempt.
func (m models) report(report eventstream.Reporter, call *effect.AgentCall, reply *effect.AgentReply, err error) bool {
	var failed []effect.Attempt
	if reply != nil {
		failed = reply.Failed
	} else if e, ok := errors.AsType[*effect.Error](err); ok {
		failed = e.Attempts
	}
	number := int64(0) // of the attempt at its connection
	for i, f := range failed {
		number++
		a := func() *event.Attempt {
			return &event.Attempt{Call: call, Connection: f.Connection, Model: f.Model, Number: number, Of: f.Of}
		}
		why := errors.New(f.Message)
		report(event.Model, event.Begin, a(), nil)
		ended := a()
		ended.Reason, ended.Status, ended.Took = f.Reason, f.Status, milliseconds(f.MS)
		ended.Sent = f.Reason != string(llm.ClassLimit)
		report(event.Model, event.End, ended, why)
		next := m.nextConnection(failed[i+1:], reply)
		if next == "" {
			continue // the call has failed
		}
		following := &event.Attempt{Call: call, Connection: next, Reason: f.Reason, Status: f.Status}
		if next != f.Connection {
			report(event.Fallback, event.Point, following, why)
			number = 0
			continue
		}
		following.Model, following.Number, following.Of, following.Wait = f.Model, number+1, f.Of, milliseconds(f.WaitMS)
		report(event.Retry, event.Point, following, why)
	}
	if reply == nil {
		return len(failed) > 0
	}
	c := m[reply.Provider]
	last := func() *event.Attempt {
		return &event.Attempt{Call: call, Connection: reply.Provider, Model: reply.Model, Number: number + 1, Of: m.maxAttempts(c, call)}
	}
	report(event.Model, event.Begin, last(), nil)
	ended := last()
	ended.Reply, ended.Sent, ended.Took = reply, true, milliseconds(reply.LatencyMS)
	if p := c.Price(reply.Model); p != nil {
		ended.Price = &event.Price{Input: p.Input, Output: p.Output}
	}
	report(event.Model, event.End, ended, nil)
	return true
}

// nextConnection returns the connection of the next attempt, or "" if there is none.
func (m models) nextConnection(failed []effect.Attempt, reply *effect.AgentReply) string {
	switch {
	case len(failed) > 0:
		return failed[0].Connection
	case reply != nil:
		return reply.Provider
	}
	return ""
}

// maxAttempts returns the maximum number of attempts at a connection.
func (m models) maxAttempts(c llm.Connection, call *effect.AgentCall) int64 {
	switch {
	case call.Retry != nil:
		return call.Retry.MaxAttempts
	case c.Retry != nil:
		return c.Retry.MaxAttempts
	}
	return 1
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
