package llm

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Event is something that happens in a call, for observers of a run.
type Event struct {
	What EventKind
	// Call is the request that the client got, the same for all events of a call.
	Call *effect.AgentCall
	// Connection and Model are asked, in attempt Attempt of Of. In an
	// EventFallback, Connection is the one that takes over.
	Connection, Model string
	Attempt, Of       int64

	Reply *effect.AgentReply // of EventReply; its Provider and LatencyMS are not set yet
	Price *Price             // of EventReply; nil when the manifest names none
	Err   error              // of EventFailure, EventRetry and EventFallback: what went wrong; a *Failure or what ended the call
	Took  time.Duration      // of EventReply and EventFailure: since EventRequest
	Wait  time.Duration      // of EventRetry: until the next attempt
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of Event.
const (
	EventRequest  EventKind = iota // an attempt is made
	EventReply                     // it gave a reply
	EventFailure                   // it failed, or could not be made
	EventRetry                     // another one follows
	EventFallback                  // another connection takes over
	EventEnd                       // the call has ended
)

// hear reports an event.
func (c *Client) hear(e Event) {
	if c.cfg.Heard != nil {
		c.cfg.Heard(e)
	}
}
