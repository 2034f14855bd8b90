package effect

import "encoding/json"

// The kinds of output.
const (
	KindEmit      Kind = "emit"
	KindAwaitEmit Kind = "emit.await"
	KindAskHost   Kind = "host.ask"
	KindPrint     Kind = "print"
	KindLog       Kind = "log"
)

// From is the origin of a piece of output.
type From struct {
	Task     int64 `json:"task"`               // 1 is main
	Exchange int64 `json:"exchange,omitempty"` // exchange with a host, numbered from 1; 0 for none
	// For a question that remote users can answer: its position in the program.
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// Emit hands a value to the application. It never fails. Payload is nil when
// the program gave none. From is set only when the run's output shows it. Its
// result is nil.
type Emit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	From    *From           `json:"from,omitempty"`
}

// AwaitEmit is an Emit that waits for the application's answer, an *Answer. Its *Error is an
// EmitError with field reason "no_listener", "timeout" or "refused".
//
// Asks is set if it passes on a question of a host.
//
// Format describes valid answers, or is "" if any text is valid. Misfit explains why the person's
// previous answer was invalid; the emit has then been sent before, and only the question is
// repeated, to the same person. Schema is the JSON Schema of answers if remote users may be asked,
// or nil if any text is valid.
type AwaitEmit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	From    *From           `json:"from,omitempty"`
	Format  string          `json:"wants,omitempty"`
	Misfit  string          `json:"misfit,omitempty"`
	Asks    *Asking         `json:"asks,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Type    string          `json:"type,omitempty"` // program's name of the answer type; set with Schema
}

// ToolApproval is the channel for approvals of tool calls, and the Type of the Asking that requests
// one.
const ToolApproval = "tool:approval"

// Asking describes a message with which a host asks something.
type Asking struct {
	Host   string `json:"host"`                // the declaration's name
	Type   string `json:"type"`                // type of the message
	Within int64  `json:"within_ms,omitempty"` // timeout of the answer; 0 for none
}

// AskHost asks a person to answer a host's message for which the program has neither a handler nor
// a default. Its result is an *Answer. If no person is reachable, its *Error is the same as that of
// an AwaitEmit.
type AskHost struct {
	Asking
	Message json.RawMessage `json:"message"` // without its type
	From    *From           `json:"from,omitempty"`
}

// Answer is the application's answer as JSON. Typed marks a text written by a person, to be parsed
// as the program's type. Repeatable means that the person can be asked again if the text is
// invalid. By states who answered, and Name the person's name if known.
type Answer struct {
	Value      json.RawMessage `json:"value"`
	Typed      bool            `json:"typed,omitempty"`
	Repeatable bool            `json:"again,omitempty"`
	By         string          `json:"by,omitempty"`
	Name       string          `json:"name,omitempty"`
}

// Print is `print` and `println`: text for the program's standard output. The
// newline of println is not part of Text.
type Print struct {
	Text    string `json:"text"`
	Newline bool   `json:"newline"`
	From    *From  `json:"from,omitempty"`
}

// Log is a line for the run's log. Level is "debug", "info", "warn" or "error"; Fields is a JSON
// object or nil. Level PrintLevel marks text that the program printed to standard error; it need
// not be a whole line.
type Log struct {
	Level   string          `json:"level"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
	From    *From           `json:"from,omitempty"`
}

// PrintLevel is the Level of a Log that was printed. It is written as it is,
// whatever the log's level.
const PrintLevel = "print"

// Kind is KindEmit.
func (*Emit) Kind() Kind { return KindEmit }

// Kind is KindAwaitEmit.
func (*AwaitEmit) Kind() Kind { return KindAwaitEmit }

// Kind is KindAskHost.
func (*AskHost) Kind() Kind { return KindAskHost }

// Kind is KindPrint.
func (*Print) Kind() Kind { return KindPrint }

// Kind is KindLog.
func (*Log) Kind() Kind { return KindLog }
