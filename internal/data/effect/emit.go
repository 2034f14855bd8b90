package effect

import "encoding/json"

// The kinds of output requests.
const (
	KindEmit      Kind = "emit"
	KindAwaitEmit Kind = "emit.await"
	KindAskHost   Kind = "host.ask"
	KindPrint     Kind = "print"
	KindLog       Kind = "log"
)

// From is the origin of a piece of output.
type From struct {
	Task     int64 `json:"task"`               // number of the task; 1 is main
	Exchange int64 `json:"exchange,omitempty"` // number of the exchange with a host, from 1; 0 for none
	// File, Line and Column are the position of a question in the program. They are only set if
	// remote users may answer it.
	File string `json:"file,omitempty"`
	Line int64  `json:"line,omitempty"`
}

// Emit passes a value to the application. It never fails. Payload is nil if the program passed
// none. From is only set if the run's output shows it. Its result is nil.
type Emit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	From    *From           `json:"from,omitempty"`
}

// AwaitEmit is an Emit that waits for the application's answer, an *Answer. Its *Error is an
// EmitError whose field reason is "no_listener", "timeout" or "refused".
//
// Asks is set if the emit passes on a question of a host.
//
// Format describes valid answers; "" means that any text is valid. Misfit is the reason why the
// person's previous answer was invalid. If it is set, the emit was sent before, and only the
// question is repeated to the same person. Schema is the JSON Schema of valid answers if remote
// users may be asked; nil means that any text is valid.
type AwaitEmit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
	From    *From           `json:"from,omitempty"`
	Format  string          `json:"wants,omitempty"`
	Misfit  string          `json:"misfit,omitempty"`
	Asks    *Asking         `json:"asks,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Type    string          `json:"type,omitempty"` // name of the expected type; set together with Schema
}

// ToolApproval is the channel of approval requests for tool calls, and the Type of the Asking of
// such a request.
const ToolApproval = "tool:approval"

// Asking describes a request of a host.
type Asking struct {
	Host   string `json:"host"`                // name of the host's declaration
	Type   string `json:"type"`                // type of the message
	Within int64  `json:"within_ms,omitempty"` // time limit of the answer in milliseconds; 0 for none
	Secret bool   `json:"secret,omitempty"`    // only the person at the terminal is asked; the answer is neither shown nor recorded
}

// ToolAsking returns the request that the payload of an emit on ToolApproval describes, or nil if
// it is not an approval of a tool call but the program's own.
func ToolAsking(payload json.RawMessage) *Asking {
	var q struct {
		By      string  `json:"by"`
		CallID  string  `json:"call_id"`
		Timeout float64 `json:"timeout_s"`
	}
	if json.Unmarshal(payload, &q) != nil || q.CallID == "" {
		return nil
	}
	return &Asking{Host: q.By, Type: ToolApproval, Within: int64(q.Timeout * 1000)}
}

// SecretQuestion is the member of a question about a secret.
const SecretQuestion = "secret"

// AskHost asks a person to answer a host's request for which the program has neither a handler nor
// a default. Its result is an *Answer. If no person can be asked, its *Error is that of an
// AwaitEmit.
type AskHost struct {
	Asking
	Message json.RawMessage `json:"message"` // message without its type
	From    *From           `json:"from,omitempty"`
}

// Answer is the application's answer as JSON. Typed means that Value is a text that a person typed,
// which must be parsed as the type that the program expects. Repeatable means that the person can
// be asked again if the text is invalid. By and Name identify who answered. Seal is the signature
// of the decision, {statement, sig} as in relay/seal, or nil.
type Answer struct {
	Value      json.RawMessage `json:"value"`
	Typed      bool            `json:"typed,omitempty"`
	Repeatable bool            `json:"again,omitempty"`
	By         string          `json:"by,omitempty"`
	Name       string          `json:"name,omitempty"`
	Seal       json.RawMessage `json:"seal,omitempty"`
}

// Print is the output of `print` and `println` to the program's standard output. Text does not
// contain the newline of println.
type Print struct {
	Text    string `json:"text"`
	Newline bool   `json:"newline"`
	From    *From  `json:"from,omitempty"`
}

// Log is a line for the run's log. Level is "debug", "info", "warn" or "error". Fields is a JSON
// object or nil. With the level PrintLevel, the text was printed to standard error, and may be a
// part of a line.
type Log struct {
	Level   string          `json:"level"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
	From    *From           `json:"from,omitempty"`
}

// PrintLevel is the level of a Log with printed text. Such a text is written unchanged, whatever
// the log's level is.
const PrintLevel = "print"

// Kind returns KindEmit.
func (*Emit) Kind() Kind { return KindEmit }

// Kind returns KindAwaitEmit.
func (*AwaitEmit) Kind() Kind { return KindAwaitEmit }

// Kind returns KindAskHost.
func (*AskHost) Kind() Kind { return KindAskHost }

// Kind returns KindPrint.
func (*Print) Kind() Kind { return KindPrint }

// Kind returns KindLog.
func (*Log) Kind() Kind { return KindLog }
