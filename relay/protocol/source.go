package protocol

import (
	"encoding/json"
	"path"
)

// How a program that reports a run of its own speaks with hostd: POST SourcePath on hostd's
// unix socket, upgraded to SourceUpgrade, then lines of JSON both ways. The first line tells of
// run.started, the last of run.exited.
//
// With SourceCounts in the request and its answer, hostd counts the events that it has
// committed, and says so by Taken; a source that comes back gives the run that hostd named in
// SourceRun, and goes on behind the number in the answer's SourceCounts. SourceAsks then has the ids
// of the requests that it asks still, with commas between them: it has an answer to the others, or
// needs none any more.
const (
	SourcePath    = "/source"
	SourceUpgrade = "concerto-source"
	SourceRun     = "Concerto-Run"   // a header: the relay's id of the run
	SourceCounts  = "Concerto-Taken" // a header: how many of the run's events are committed
	SourceAsks    = "Concerto-Asks"  // a header: what is asked still

	SourceKept = 8 << 20 // bytes of events that a source keeps for a hostd that is away
	SourceLine = 1 << 20 // bytes of a line, at most
)

// SourceSays is a line of a source's: one of an event, a request and a withdrawal.
type SourceSays struct {
	Event string          `json:"event,omitempty"` // a type of the table
	Data  json.RawMessage `json:"data,omitempty"`
	// Lost stands beside a run.gap in place of its seqs, which the source does not know: so
	// many events will never come.
	Lost int64 `json:"lost,omitempty"`

	Ask      string `json:"ask,omitempty"`      // a request's id; its members stand beside it
	Withdraw string `json:"withdraw,omitempty"` // the id of one that needs no answer any more
}

// SourceHears is a line that a source gets.
type SourceHears struct {
	Answer string          `json:"answer,omitempty"` // the id of a request: it has Value, or Error
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
	By     string          `json:"by,omitempty"`
	Taken  int64           `json:"taken,omitempty"` // so many events of the run are committed
}

// WholeAnswer is the id of a source's question when there is one, whose answer is the value
// that is waited for. The answers to others are members of an object.
const WholeAnswer = "answer"

// HostdSocket is where hostd's unix socket is when nothing else is said; getenv gives a
// variable of the environment, "" for none.
func HostdSocket(getenv func(string) string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	if dir := getenv("XDG_STATE_HOME"); dir != "" {
		return path.Join(dir, "concerto", "hostd.sock")
	}
	return path.Join(getenv("HOME"), ".local", "state", "concerto", "hostd.sock")
}
