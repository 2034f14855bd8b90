package llm

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Event reports a step of a call to observers of a run.
type Event struct {
	What EventKind
	// Call is the request that the client received, the same for all events of a call.
	Call *effect.AgentCall
	// Connection and Model are asked in attempt Attempt of Of. In an EventFallback, Connection is
	// the one that is asked next.
	Connection, Model string
	Attempt, Of       int64

	Reply *effect.AgentReply // of EventReply; its Provider and LatencyMS are not set yet
	Price *Price             // of EventReply; nil when the manifest names none
	// of EventFailure, EventRetry and EventFallback: the error, a *Failure or the one that ended
	// the call
	Err  error
	Took time.Duration // of EventReply and EventFailure: since EventRequest
	Wait time.Duration // of EventRetry: until the next attempt
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of Event.
const (
	EventRequest  EventKind = iota // an attempt begins
	EventReply                     // it returned a reply
	EventFailure                   // it failed, or could not be made
	EventRetry                     // another attempt follows
	EventFallback                  // another connection is asked
	EventEnd                       // the call has ended
)

// emitEvent reports an event.
func (c *Client) emitEvent(e Event) {
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(e)
	}
}
