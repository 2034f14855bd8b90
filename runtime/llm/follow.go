package llm

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Event reports a step of a call to the observers of a run.
type Event struct {
	What EventKind
	// Call is the request that the client received. All events of a call have the same Call.
	Call *effect.AgentCall
	// Connection and Model are those of attempt number Attempt, of Of attempts in total. In an
	// EventFallback, Connection is the connection that is called next.
	Connection, Model string
	Attempt, Of       int64

	Reply *effect.AgentReply // set in EventReply; Provider and LatencyMS of the reply are not yet set
	// set in EventFailure, EventRetry and EventFallback: a *Failure, or the error that ended the
	// call
	Err  error
	Took time.Duration // set in EventReply and EventFailure: time since EventRequest
	// Spent is set in EventReply and EventFailure: what the attempt has used, or nil if it has sent
	// no request.
	Spent *models.Spent
	// First is set with Took if the program receives the reply in pieces: the time from
	// EventRequest to the first piece.
	First time.Duration
	Wait  time.Duration // set in EventRetry: time until the next attempt
}

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds of events.
const (
	EventRequest  EventKind = iota // an attempt begins
	EventReply                     // the attempt has returned a reply
	EventFailure                   // the attempt has failed or could not be made
	EventRetry                     // another attempt follows
	EventFallback                  // another connection is called
	EventEnd                       // the call has ended
)

// emitEvent passes an event to OnEvent.
func (c *Client) emitEvent(e Event) {
	if c.cfg.OnEvent != nil {
		c.cfg.OnEvent(e)
	}
}
