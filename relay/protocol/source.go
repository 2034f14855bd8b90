package protocol

import (
	"encoding/json"
	"path"
)

// The source protocol, by which a program reports its own run to hostd. The program sends POST
// SourcePath to hostd's Unix socket and upgrades the connection to SourceUpgrade. Afterwards both
// sides send lines of JSON. The program's first line is run.started, the last one is run.exited.
//
// If the request and the response have the header SourceCounts, hostd acknowledges events:
// HostdMessage.Committed is the number of events that it has committed. A program that reconnects
// sends the header SourceRun with the id that hostd has assigned to the run. It continues after the
// number of events in the response's header SourceCounts. The header SourceAsks lists the ids of
// its open requests, separated by commas; hostd closes all other requests of the run.
const (
	SourcePath    = "/source"
	SourceUpgrade = "concerto-source"
	SourceRun     = "Concerto-Run"   // header: the relay's id of the run
	SourceCounts  = "Concerto-Taken" // header: the number of the run's committed events
	SourceAsks    = "Concerto-Asks"  // header: the ids of open requests

	SourceRetained = 8 << 20 // maximum bytes of events that a program stores while hostd is not connected
	SourceLine     = 1 << 20 // maximum length of a line, in bytes
)

// SourceMessage is a line from a program. It contains an event, a request or a withdrawal.
type SourceMessage struct {
	Event string          `json:"event,omitempty"` // a type of Messages
	Data  json.RawMessage `json:"data,omitempty"`
	// Lost is the number of events that a run.gap represents. The program does not know the
	// sequence numbers of the gap.
	Lost int64 `json:"lost,omitempty"`

	// Ask is the id of a request. The members of the request are in the same object.
	Ask      string `json:"ask,omitempty"`
	Withdraw string `json:"withdraw,omitempty"` // the id of a request that needs no answer any more

	// Steered is the id of a Steering. Error is the reason why no host has received it; "" if one
	// has.
	Steered string `json:"steered,omitempty"`
	Error   string `json:"error,omitempty"`
}

// HostdMessage is a line from hostd to a program.
type HostdMessage struct {
	Answer    string          `json:"answer,omitempty"` // the id of a request; Value or Error is set
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	By        string          `json:"by,omitempty"`
	Seal      json.RawMessage `json:"seal,omitempty"`  // the signature of the decision: {statement, sig}
	Committed int64           `json:"taken,omitempty"` // number of committed events of the run
	Steer     *Steering       `json:"steer,omitempty"` // a message to a host of the run
}

// HasExpired is the error of a request that no user has answered before it expired.
const HasExpired = "the request has expired"

// Steering is a message of a user to a running host. The program replies with
// SourceMessage.Steered. Host and Workspace select the host.
type Steering struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Host      string `json:"host,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	By        string `json:"by,omitempty"` // the user
}

// WholeAnswer is the id of a question whose answer is the awaited value itself. Answers to other
// questions are members of an object.
const WholeAnswer = "answer"

// HostdSocket returns the default path of hostd's Unix socket. getenv returns the value of an
// environment variable, or "".
func HostdSocket(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	if dir := getenv("XDG_STATE_HOME"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	return path.Join(getenv("HOME"), ".local", "state", "concerto", "hostd.sock")
}
