// Package event defines the events of a run. Everything that shows a run receives this one stream:
// traces, transcripts, the progress on a terminal, the relay. Records on which a run depends, such
// as its journal, are written elsewhere.
//
// Package eventstream creates the events.
package event

import (
	"encoding/json"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// Phase is the part of an item that an event reports.
type Phase uint8

// The phases.
const (
	Begin Phase = iota // the item begins
	End                // the item ends; Began is the time of its Begin
	Point              // the whole item, which has no duration
)

// Event is an event of a run. Texts come from hosts, models and programs, and may contain control
// characters. Secrets of the run are replaced by placeholders. An Event, and everything that it
// refers to, is valid until its receiver returns. Receivers must not change it.
type Event struct {
	// Number is the number of the event in the run, from 1. Item is the number of the event with
	// which its item began. Parent is the item that caused the item, or 0 for the run.
	Number, Item, Parent int64
	Kind                 Kind
	Phase                Phase
	// At is the time since the start of the run. Began is the time at which the item began.
	At, Began time.Duration
	// Task is the number of the program's task; 1 is main. 0 means that the event belongs to none.
	Task int64
	// Effect is the number of the effect that the event belongs to, or 0.
	Effect int64
	// Place is the innermost place in the program's own files, or the place of a task's function.
	// It is only set for a Begin or Point, and only if a receiver requires places.
	Place Place
	// Stage is the innermost stage of a pipeline that the task is in, as PIPELINE/STAGE; "" for
	// none.
	Stage string
	// Name is the name of what the kind describes; see Info.Named.
	Name string

	// Request is the effect that the event reports, or nil. Result and Err are its outcome, in the
	// phases End and Point.
	Request effect.Request
	Result  effect.Result
	// Err is the error of a failed or cancelled item.
	Err error
	// How is the end of a task: "" if it succeeded, "cancelled", or the type of its error.
	How string

	Attempt *Attempt            // the attempt at a model, for model, retry and fallback
	Step    *effect.Step        // the step of the library, for tool, repair and retry
	Message *effect.HostMessage // the message of a host, for message, question and approval
	Decided *Decided            // for decision

	// Used is what an exchange that has begun has used so far. It is set with its messages and at
	// its end. The last Used of all exchanges, and those of all attempts, are what the run has
	// used.
	Used models.Sum
}

// Place is a place in the program's source.
type Place struct {
	Function, File string
	Line, Column   int
}

// Decided is a request and the decision on it, as the ledger of decisions records it
// (spec/27-ledger.md).
type Decided struct {
	Kind    string // of the record in the ledger: question, approval, tool or await
	Host    string
	ID      json.RawMessage // of the host's message or of the tool call; nil if there is none
	Asked   json.RawMessage
	Answer  json.RawMessage // nil if there is none
	Problem string          // why there is no answer, or why the answer was rejected
	Channel string          // of an awaited emit; otherwise ""
	By      string          // effect.ByHandler, …
	Actor   effect.Actor
	Path    []Participant // the participants in the decision, if a handler decided
	// Handler means that a handler decided; At is its place, unless it belongs to the library.
	Handler bool
	At      Place
	Took    time.Duration
	Call    *effect.AppDecided // of a tool call
}

// Participant took part in a decision: by the effect with number Effect, or by a
// handler at the place At, FILE:LINE:COLUMN.
type Participant struct {
	effect.Actor
	Effect int64
	At     string
}

// Attempt is an attempt at calling a model.
type Attempt struct {
	// Call is the request of the program. All attempts at a call have the same Call.
	Call *effect.AgentCall
	// Connection and Model are those of attempt number Number, of Of attempts in total. Number is 0
	// if the call was refused before the first attempt. For a fallback, Connection is the
	// connection that is called next.
	Connection, Model string
	Number, Of        int64

	// IsStream means that the program receives the reply in pieces.
	IsStream bool

	Reply *effect.AgentReply // set at the end of a successful attempt
	Used  models.Sum         // set at the end of an attempt that has sent a request
	// Reason is the class of the error, and Status the HTTP status of the response, or 0.
	Reason string
	Status int64
	// Took is the duration of the attempt. Wait is the delay before the next one. First is the time
	// to the first piece of the reply, if the program receives it in pieces and this process has
	// made the attempt.
	Took, Wait, First time.Duration
}

// Sink receives events.
type Sink struct {
	// Shows contains a function for each kind of event that the sink shows. Calls are never
	// concurrent, but may come from any goroutine.
	Shows map[Kind]func(*Event)
	// Omits contains the kinds that the sink does not show, each with the reason. Each kind is
	// either in Shows or in Omits.
	Omits map[Kind]string
	// Places means that the sink requires Event.Place.
	Places bool
}
