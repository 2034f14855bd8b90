// Package attempts reports the attempts at models from the recorded results of calls.
package attempts

import (
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/eventstream"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// Models are the connections of a program, by their names.
type Models map[string]llm.Connection

// Of returns the Models of connections.
func Of(connections []llm.Connection) Models {
	all := Models{}
	for _, c := range connections {
		all[c.Name] = c
	}
	return all
}

// Report reports the attempts at a call of a model from the recorded result. It returns false if
// the call was refused before the first attempt.
func (m Models) Report(report eventstream.Reporter, call *effect.AgentCall, reply *effect.AgentReply, err error) bool {
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
		ended.Used = f.Sum()
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
	ended.Reply, ended.Took = reply, milliseconds(reply.LatencyMS)
	ended.Used = reply.Sum(c.CostOf(reply))
	report(event.Model, event.End, ended, nil)
	return true
}

// nextConnection returns the connection of the next attempt, or "" if there is none.
func (m Models) nextConnection(failed []effect.Attempt, reply *effect.AgentReply) string {
	switch {
	case len(failed) > 0:
		return failed[0].Connection
	case reply != nil:
		return reply.Provider
	}
	return ""
}

// maxAttempts returns the maximum number of attempts at a connection.
func (m Models) maxAttempts(c llm.Connection, call *effect.AgentCall) int64 {
	switch {
	case call.Retry != nil:
		return call.Retry.MaxAttempts
	case c.Retry != nil:
		return c.Retry.MaxAttempts
	}
	return 1
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
