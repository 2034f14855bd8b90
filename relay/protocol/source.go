package protocol

import (
	"encoding/json"
	"path"
)

// The protocol by which a program reports a run of its own to hostd: POST SourcePath on hostd's
// Unix socket, upgraded to SourceUpgrade, then lines of JSON in both directions. The first line
// reports run.started, the last run.exited.
//
// If the request and the response have the header SourceCounts, hostd acknowledges the number of
// events it has committed in Taken. A program that reconnects sends the run that hostd named in
// SourceRun, and continues after the number in the response's SourceCounts. SourceAsks lists the
// ids of its open requests, separated by commas; hostd closes the others.
const (
	SourcePath    = "/source"
	SourceUpgrade = "concerto-source"
	SourceRun     = "Concerto-Run"   // header: the relay's id of the run
	SourceCounts  = "Concerto-Taken" // header: the number of the run's committed events
	SourceAsks    = "Concerto-Asks"  // header: the ids of open requests

	SourceRetained = 8 << 20 // bytes of events that a program retains while hostd is away
	SourceLine     = 1 << 20 // maximum length of a line, in bytes
)

// SourceMessage is a line from a program: an event, a request or a withdrawal.
type SourceMessage struct {
	Event string          `json:"event,omitempty"` // a type of Messages
	Data  json.RawMessage `json:"data,omitempty"`
	// Lost replaces the numbers of a run.gap, which the program does not know: so many events are
	// lost.
	Lost int64 `json:"lost,omitempty"`

	// a request's id; its members are in the same object
	Ask      string `json:"ask,omitempty"`
	Withdraw string `json:"withdraw,omitempty"` // the id of a request that needs no answer any more
}

// HostdMessage is a line from hostd to a program.
type HostdMessage struct {
	Answer    string          `json:"answer,omitempty"` // the id of a request; Value or Error is set
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	By        string          `json:"by,omitempty"`
	Committed int64           `json:"taken,omitempty"` // number of committed events of the run
}

// WholeAnswer is the id of a program's single question, whose answer is the awaited value itself.
// Answers to other questions are members of an object.
const WholeAnswer = "answer"

// HostdSocket returns the default path of hostd's Unix socket. getenv returns an environment
// variable, or "".
func HostdSocket(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	if dir := getenv("XDG_STATE_HOME"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	return path.Join(getenv("HOME"), ".local", "state", "concerto", "hostd.sock")
}
