package eventstream

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/vm"
)

// agentCall is an open call of an agent: a call of a method of the library, which may send several
// requests and call tools. The VM does not report when the method returns. The call ends as soon
// as the task is at another place than the one that called the method.
type agentCall struct {
	depth int      // number of calls of the task up to the place that called the method
	place vm.Place // the place that called the method
	done  bool     // no further request follows, unless a step reports a repair
	at    time.Duration
	reply *effect.AgentReply // the last reply, or err if the last request failed; at is its time
	err   error
}

// newAgentCall returns the call of a method of the library by the innermost place in the program's
// own files. calls are the calls of the task, the innermost first.
func newAgentCall(calls []vm.Place) *agentCall {
	for i, c := range calls {
		if c.Text != "" {
			return &agentCall{depth: len(calls) - i, place: c}
		}
	}
	return &agentCall{}
}

func (c *agentCall) isDone() bool { return c != nil && c.done }

// setEnd sets the outcome in the End event of the call.
func (c *agentCall) setEnd(e *event.Event) {
	if c.at > 0 {
		e.At = c.at
	}
	if c.reply != nil {
		e.Result = c.reply
	}
	if e.Err == nil {
		e.Err = c.err
	}
}

// hasReturned reports whether a task has left the method. calls are the calls of the task.
func (c *agentCall) hasReturned(calls []vm.Place) bool {
	i := len(calls) - c.depth
	return i < 0 || i >= len(calls) || calls[i].File != c.place.File || calls[i].Line != c.place.Line || calls[i].Column != c.place.Column
}

// closeLeftAgents ends the agent calls that a task has left before it makes the request q. It
// returns the places of the task's calls if it has used them.
func (s *Stream) closeLeftAgents(t *task, at vm.Caller, q effect.Request) (calls []vm.Place) {
	i := t.innermost(event.Agent, nil)
	if i < 0 {
		return nil
	}
	calls = at.Places()
	for ; i >= 0; i = t.innermost(event.Agent, nil) {
		p := t.within[i]
		again := p.call.done && callOf(q) != nil && i == len(t.within)-1 // the same place calls an agent again
		if !again && !p.call.hasReturned(calls) {
			break
		}
		s.leave(t, i, nil)
	}
	return calls
}

// callOf returns the request to a model in an effect, or nil.
func callOf(q effect.Request) *effect.AgentCall {
	switch q := q.(type) {
	case *effect.AgentCall:
		return q
	case *effect.StreamOpen:
		return &q.AgentCall
	}
	return nil
}
