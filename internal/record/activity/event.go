// Package activity reports what a run does with its hosts, for people who watch it. Its events
// describe exchanges with their progress, questions and answers, and the listens and pipeline
// stages that contain the exchanges.
//
// A Follower creates them from the events of the run (package event).
package activity

import (
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Began     Kind = "began"     // an exchange began, and its host has received the prompt
	Moved     Kind = "moved"     // Text, Percent or Used of an exchange has changed
	Asked     Kind = "asked"     // its host asks a question or requests an approval, and waits
	Answered  Kind = "answered"  // the request was answered
	Withdrawn Kind = "withdrawn" // the host has withdrawn the request
	Ended     Kind = "ended"     // the exchange ended

	ListenBegan Kind = "listen began" // a task listens to a host
	ListenEnded Kind = "listen ended"
	StageBegan  Kind = "stage began" // a stage of a pipeline began
	StageEnded  Kind = "stage ended"

	Progressed    Kind = "progressed"     // a task reports its progress by run::progress
	ProgressEnded Kind = "progress ended" // the progress is complete, or the task has ended

	MergeBegan Kind = "merge began" // a merge queue is run
	MergeMoved Kind = "merge moved" // its state has changed
	MergeEnded Kind = "merge ended"
)

// Event is an event of the stream. Fields that its kind does not use are zero. Texts come from
// hosts, models and programs: they may contain control characters. Secrets are replaced by
// placeholders.
type Event struct {
	Kind Kind
	// At is the time since the start of the run.
	At time.Duration
	// Number identifies the exchange, listen, stage, progress or run of a queue. Numbers are
	// assigned in the order in which these begin. 0 means that the exchange never began because its
	// host could not be started.
	Number int64
	// Task is the number of the program's task; 1 is main.
	Task int64
	// Name is the name of the host or queue, or PIPELINE/STAGE for a stage, or the function of the
	// task for a listen. For a listen, Host is the name of the host.
	Name, Host string
	// Lane distinguishes concurrent exchanges with the same host. A new exchange is in the smallest
	// lane, from 1, that no open exchange uses.
	Lane int
	// Workspace is the workspace in which the host works; "" if it works in none.
	Workspace string

	// Text describes what the host does or asks, or is an answer or an error message.
	Text string
	// Percent is the progress in percent; negative if the host did not report any.
	Percent float64
	// Done and Of are the arguments of run::progress.
	Done, Of float64
	Queue    effect.QueueState // of a merge queue

	Answer
	// Proof describes the gates of an ended exchange, such as "proved by go test ./... (turn 2)";
	// "" without gates. If one has not passed, Text describes it.
	Proof string
	// Failed means that the exchange ended with an error or was cancelled, or that a gate has not
	// passed.
	Failed bool
	// HasFailed is Failed of an exchange that has begun, without those that were cancelled.
	HasFailed bool
	// Used is the usage that the host has reported for the exchange so far.
	Used Usage
}

// Answer describes a request of a host that a person may answer, and its answer.
type Answer struct {
	Type   string // type of the request: "question" or "approval"
	ID     string // id of the request as JSON; "" if it has none
	By     string // source of the answer, one of the effect.By constants
	Denied bool   // a yes/no request was denied or not answered
	Scope  string // scope of a granted request: "once", "session" or "always"
}

// Usage is the usage of models in an exchange.
type Usage struct {
	Tokens int64
	Cost   float64 // in US dollars
}
