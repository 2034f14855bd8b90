// Package activity reports what a run does with its hosts as one stream of events: exchanges that
// begin, progress, ask, are answered and end, and the listens and pipeline stages around them.
// Everything that displays a run reads this stream.
//
// A Follower creates the events from the VM's observer calls. A run that is not displayed has no
// Follower and no overhead.
package activity

import "time"

// Kind is the kind of an event.
type Kind string

// The kinds.
const (
	Began     Kind = "began"     // an exchange began: its host has the prompt
	Moved     Kind = "moved"     // its Text, Percent or Used has changed
	Asked     Kind = "asked"     // its host asks a question or requests an approval, and waits
	Answered  Kind = "answered"  // the request was answered
	Withdrawn Kind = "withdrawn" // the host has withdrawn the request
	Ended     Kind = "ended"     // the exchange ended

	ListenBegan Kind = "listen began" // a task listens to a host
	ListenEnded Kind = "listen ended"
	StageBegan  Kind = "stage began" // of a pipeline
	StageEnded  Kind = "stage ended"

	Progressed    Kind = "progressed"     // a task reports its progress by run::progress
	ProgressEnded Kind = "progress ended" // the progress is complete, or the task has ended
)

// Event is one event. Fields that its kind does not use are zero. Texts come from hosts, models and
// programs: they may contain control characters, and secrets only as marks.
type Event struct {
	Kind Kind
	// At is the time since the start of the run.
	At time.Duration
	// Number identifies the exchange, listen or stage. Each beginning receives the next number,
	// whatever its kind. 0 is an exchange that never began because its host could not be started.
	Number int64
	// Task is the number of the program's task; 1 is main.
	Task int64
	// Name is the name of the host, of the stage as PIPELINE/STAGE, or for a listen of the function
	// that the task runs; Host is then the host's.
	Name, Host string
	// Lane distinguishes concurrent exchanges with one host: the first is in lane 1, and the next
	// uses the smallest free lane.
	Lane int

	// Text is what the host does or asks, the answer, or the message of an error.
	Text string
	// Percent is the progress; negative if the host did not report one.
	Percent float64
	// Done and Of are the values of run::progress.
	Done, Of float64

	Answer
	// Failed reports whether the exchange ended with an error or was cancelled.
	Failed bool
	// Used is the usage of the exchange so far, as reported by its host.
	Used Usage
}

// Answer describes a message that a person may answer.
type Answer struct {
	Type   string // type of the message: "question", "approval"
	ID     string // id of the message, in JSON; "" without one
	By     string // who answers: one of effect.By…
	Denied bool   // the answer to a yes/no request is no, or there was none
	Scope  string // if allowed: "once", "session" or "always"
}

// Usage is the usage of an exchange.
type Usage struct {
	Tokens int64
	Cost   float64 // in US dollars
}
