package protocol

import "encoding/json"

// Empty is the data of a message without data.
type Empty struct{}

// HelloData is the data of hello. Only machines send the fields after Features.
type HelloData struct {
	Protocol int64    `json:"protocol" is:"required from=1 to=1000000"`
	Agent    string   `json:"agent" is:"required chars=200" doc:"name/version"`
	Features []string `json:"features,omitempty" is:"items=100"`
	Name     string   `json:"name,omitempty" is:"chars=64" doc:"for a machine: its name, until a user changes it"`
	Instance string   `json:"instance,omitempty" is:"id" doc:"a UUID that identifies the process"`
	Epoch    *int64   `json:"epoch,omitempty" is:"from=0 to=9007199254740991" doc:"the creation time of the spool in Unix ms, incremented by 1 at each start"`
	Runs     []RunAt  `json:"runs,omitzero" is:"items=1000" doc:"the runs that have not exited or have unacknowledged events"`
	Account  string   `json:"account,omitempty" is:"id" doc:"the account, if the machine has one: it then executes only signed commands"`
}

// RunAt contains the id of a run and the sequence number of its last event.
type RunAt struct {
	RunID   string `json:"run_id" is:"required id"`
	LastSeq int64  `json:"last_seq" is:"required from=0 to=9007199254740991"`
}

// WelcomeData is the data of welcome. The server sends User and Role to apps, and Runs and
// Signature to machines.
type WelcomeData struct {
	Protocol   int64            `json:"protocol" is:"required"`
	Agent      string           `json:"agent" is:"required"`
	Features   []string         `json:"features" is:"required"`
	HeartbeatS int64            `json:"heartbeat_s" is:"required"`
	MaxFrame   int64            `json:"max_frame" is:"required" doc:"in bytes"`
	Window     int64            `json:"window" is:"required" doc:"the maximum number of unacknowledged events"`
	User       string           `json:"user,omitempty"`
	Role       string           `json:"role,omitempty" is:"enum=viewer|approver|operator|owner"`
	Runs       map[string]int64 `json:"runs,omitzero" doc:"the last stored seq of each run"`
	Signature  string           `json:"signature,omitempty"`
}

// ErrorData is the data of error.
type ErrorData struct {
	Code         Code   `json:"code" is:"required"`
	Message      string `json:"message" is:"required"`
	Re           string `json:"re,omitempty"`
	RunID        string `json:"run_id,omitempty"`
	RequestID    string `json:"request_id,omitempty"`
	InputID      string `json:"input_id,omitempty"`
	Seq          int64  `json:"seq,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
}

// Ack is the data of run.ack.
type Ack struct {
	RunID   string `json:"run_id" is:"required"`
	LastSeq int64  `json:"last_seq" is:"required" doc:"the last stored seq, with all before it; 0 if none is stored"`
}

// State is the data of command.state.
type State struct {
	ID    string     `json:"id" is:"required" doc:"the input_id or request_id"`
	Kind  string     `json:"kind" is:"required enum=input|decision|stop"`
	RunID string     `json:"run_id" is:"required"`
	State InputState `json:"state" is:"required enum=accepted|sent|applied|rejected|expired|indeterminate"`
	Error string     `json:"error,omitempty"`
	By    string     `json:"by,omitempty"`
}

// CommandDone is the data of command.result.
type CommandDone struct {
	ID    string     `json:"id" is:"required id"`
	Kind  string     `json:"kind" is:"required enum=input|decision|stop"`
	State InputState `json:"state" is:"required enum=applied|rejected|expired|indeterminate"`
	Error string     `json:"error,omitempty"`
}

// CommandAcked is the data of command.ack.
type CommandAcked struct {
	ID string `json:"id" is:"required"`
}

// Cursor is the data of run.caught_up.
type Cursor struct {
	Cursor map[string]int64 `json:"cursor" is:"required"`
}

// ProgressData is the data of run.progress.
type ProgressData struct {
	Seq   int64 `json:"seq" is:"required"`
	Bytes int64 `json:"bytes" is:"required" doc:"of the output since the last event of this type"`
}

// ChallengeData is the data of auth.challenge.
type ChallengeData struct {
	Nonce     string `json:"nonce" is:"required"`
	ServerKey string `json:"server_key" is:"required"`
}

// ChallengeAnswer is the data of auth.response.
type ChallengeAnswer struct {
	Nonce     string `json:"nonce" is:"required"`
	Signature string `json:"signature" is:"required"`
}

// Response is the data of rpc.response.
type Response struct {
	RequestID string          `json:"request_id" is:"required id"`
	OK        bool            `json:"ok" is:"required"`
	RPCType   string          `json:"rpc_type" is:"required"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"`
	ErrorCode RPCCode         `json:"error_code,omitempty"`
}
