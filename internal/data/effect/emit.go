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

// From says where a piece of output comes from.
type From struct {
	Task     int64 `json:"task"`               // from 1, which is main
	Exchange int64 `json:"exchange,omitempty"` // with a host, from 1, as they begin; 0 outside of one
	// Of what is asked of people elsewhere: the place in the program.
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

// AwaitEmit is Emit that waits for the application's answer, an *Answer. Its *Error is an EmitError
// with field reason "no_listener", "timeout" or "refused".
//
// Asks says that what a host asks is handed on by it, nil otherwise.
//
// Wants tells a person which answers fit, or "" if any text does. Misfit says why the answer before
// did not fit: then the emit has been made already, and only the question is repeated to whoever
// gave that answer. Schema is the JSON Schema of answers, where people elsewhere may be asked; nil
// when any text fits.
type AwaitEmit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	From    *From           `json:"from,omitempty"`
	Wants   string          `json:"wants,omitempty"`
	Misfit  string          `json:"misfit,omitempty"`
	Asks    *Asking         `json:"asks,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Type    string          `json:"type,omitempty"` // its name in the program, where Schema is set
}

// ToolApproval is the channel on which approvals of tools' calls are asked for, and the Type
// of the Asking by which a person is asked for one.
const ToolApproval = "tool:approval"

// Asking says what a message is by which a host asks.
type Asking struct {
	Host   string `json:"host"`                // the declaration's name
	Type   string `json:"type"`                // the message's
	Within int64  `json:"within_ms,omitempty"` // from then on it is not waited for; 0: for ever
}

// AskHost has a person answer what a host asks and the program has no handler
// and no default for. Its result is an *Answer; its *Error is that of an
// AwaitEmit, when there is nobody who could be asked.
type AskHost struct {
	Asking
	Message json.RawMessage `json:"message"` // without its type
	From    *From           `json:"from,omitempty"`
}

// Answer is the application's answer as JSON. Typed says that it is a text that
// a person wrote, to be read as the type that the program wants. Again says
// that the person can be asked once more when the text does not fit. By is who
// answered, for whoever follows the run, and Name the person's, where it is known.
type Answer struct {
	Value json.RawMessage `json:"value"`
	Typed bool            `json:"typed,omitempty"`
	Again bool            `json:"again,omitempty"`
	By    string          `json:"by,omitempty"`
	Name  string          `json:"name,omitempty"`
}

// Print is `print` and `println`: text for the program's standard output. The
// newline of println is not part of Text.
type Print struct {
	Text    string `json:"text"`
	Newline bool   `json:"newline"`
	From    *From  `json:"from,omitempty"`
}

// Log is a line for the run's log. Level is "debug", "info", "warn" or
// "error"; Fields is a JSON object or nil. Level PrintLevel marks text that
// the program printed to standard error, which may be any part of a line.
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
