// Package activity says what a run does with its hosts while it does it, as one
// stream of events: exchanges that begin, get on, ask, are answered and end, and
// the listens and pipeline stages around them. Whatever shows a run reads this
// stream; nothing else puts one together.
//
// A Follower makes the events from what the VM tells its observers. A run that
// nobody looks at has no Follower, and costs nothing.
package activity

import "time"

// Kind is what an event tells of.
type Kind string

// The kinds.
const (
	Began     Kind = "began"     // an exchange: its host has the prompt
	Moved     Kind = "moved"     // it got on: Text, Percent or Used has changed
	Asked     Kind = "asked"     // it asks a question, or for an approval, and waits
	Answered  Kind = "answered"  // it has its answer
	Withdrawn Kind = "withdrawn" // it has taken back what it asked
	Ended     Kind = "ended"     // it is over

	ListenBegan Kind = "listen began" // a task listens to a host
	ListenEnded Kind = "listen ended"
	StageBegan  Kind = "stage began" // of a pipeline
	StageEnded  Kind = "stage ended"

	Progressed    Kind = "progressed"     // a task says how far it is, by run::progress
	ProgressEnded Kind = "progress ended" // all is done, or the task has ended
)

// Event is one thing that happened. Members that its kind does not have are
// zero. Texts are what hosts, models and programs said: they may hold control
// characters, and secrets only as marks.
type Event struct {
	Kind Kind
	// At is how long the run had lasted.
	At time.Duration
	// Number is the exchange's, the listen's or the stage's: what begins gets
	// the next number, whatever it is. 0 is an exchange that never began, since
	// its host could not be started.
	Number int64
	// Task is the program's task, from 1, which is main.
	Task int64
	// Name is the host's, the stage's as PIPELINE/STAGE, or for a listen the
	// function's that the task runs; Host is then the host's.
	Name, Host string
	// Lane tells exchanges with one host apart that go on at the same time: the
	// first is in lane 1, and the next one takes the least that is free.
	Lane int

	// Text is what the host does or asks, the answer, or the message of an error.
	Text string
	// Percent is how much is done; negative when the host did not say.
	Percent float64
	// Done of Of is what a task says by run::progress.
	Done, Of float64

	Answer
	// Failed says that the exchange ended by an error or was cancelled.
	Failed bool
	// Used is what the exchange has used so far, as far as its host says so.
	Used Usage
}

// Answer is what an event says of a message that a person may answer.
type Answer struct {
	Type   string // the message's: "question", "approval"
	ID     string // the message's, as JSON; "" without one
	By     string // who answers: one of effect.By…
	Denied bool   // the answer of the form yes or no is no, or there was none
	Scope  string // of an allowance: "once", "session" or "always"
}

// Usage is what an exchange used.
type Usage struct {
	Tokens int64
	Cost   float64 // in US dollars
}
