// Package hostmsg defines the table of the messages between a program and its hosts
// (spec/host-protocol.md): the types and their meaning for an exchange. The checker, the VM, the
// transports, the mocks, test hosts and the manual use it; there is no other list of message types.
//
// A type that is not in the table is valid: its meaning is a matter of the host and the program.
package hostmsg

// The types that code names because it writes them itself.
const (
	Init     = "init"
	Prompt   = "prompt"
	Response = "response"
	Approval = "approval"
	Cancel   = "cancel"
	Progress = "progress"
	Question = "question"
	Result   = "result"
	Error    = "error"
)

// Sender is the sender of a message type.
type Sender uint8

// The senders.
const (
	Host Sender = iota
	Concerto
)

// Role is what a type means to the exchange.
type Role uint8

// The roles.
const (
	Notifies     Role = iota // one way; also every type that the table does not have
	Asks                     // the host waits for a response, unless it withdraws the message
	Withdraws                // withdraws what asks, by its id
	Succeeds                 // completes the exchange, with its members as the value
	Fails                    // fails the exchange, as a HostError
	Acknowledges             // answers init
)

// Fallback is what a listen does with a message that no handler takes.
type Fallback uint8

// The fallbacks.
const (
	Reported Fallback = iota // an emit on listen:unhandled; what asks gets the default or an error
	Gathered                 // its text is part of the result's partial_output
	ByTools                  // the host's tools answer it, when the host has any; else as Reported
)

// Form is the form of a person's answer to a message. It determines the members of the message that
// a prompt reads, so that a new type needs only a row.
type Form uint8

// The forms.
const (
	// NoForm: a person is never asked.
	NoForm Form = iota
	// Inquiry: a text. The member options makes it a choice, and questions a form with several
	// answers. The message has the members of HostQuestion.
	Inquiry
	// YesNo: an approval or a denial, with a scope and a reason. The message has the members of
	// HostApproval.
	YesNo
)

// Message is a row: a type with its properties.
type Message struct {
	Type   string
	Sender Sender
	Role   Role

	// Schema is the library's schema of the message's members besides type (stdlib/messages.conc),
	// or "" if no schema fits; then Members lists the members.
	Schema  string
	Members []string

	// Form is the form of the answer to a message that a person may answer.
	Form Form
	// Timed reports that question_timeout limits the answer.
	Timed bool
	// Default is the key, in a host's declaration or its section of the manifest, of the default
	// answer; "" if there is none.
	Default string
	// Unhandled is what a listen without a handler does with the message.
	Unhandled Fallback
	// Channel is where execute, which has handlers of its own, emits the
	// message; it awaits the answer to a message that asks. "" leaves the
	// message to Unhandled.
	Channel string

	Doc string // what it means, for the manual
}

// Messages returns all rows, in the manual's order. The caller must not change it.
func Messages() []Message { return messages }

var messages = []Message{
	{Type: Progress, Schema: "HostProgress", Channel: "host:progress", Doc: "the progress of the work"},
	{Type: "log", Schema: "HostLog", Channel: "host:log", Doc: "a remark"},
	{Type: "partial", Schema: "HostPartial", Unhandled: Gathered, Doc: "a piece of the result; `chunk` is accepted as a synonym of `text`"},
	{Type: Question, Schema: "HostQuestion", Role: Asks, Form: Inquiry, Timed: true, Default: "question_default", Channel: "host:question",
		Doc: "a question"},
	{Type: Approval, Schema: "HostApproval", Role: Asks, Form: YesNo, Timed: true, Default: "approval_default", Channel: "host:approval",
		Doc: "a request for permission"},
	{Type: "tool_call", Schema: "HostToolCall", Role: Asks, Unhandled: ByTools, Doc: "a call of one of the program's tools"},
	{Type: "withdraw", Members: []string{"id"}, Role: Withdraws, Doc: "withdraws a request"},
	{Type: Result, Schema: "HostResult", Role: Succeeds, Doc: "ends the exchange with this result, which may have further members"},
	{Type: Error, Members: []string{"message", "code", "recoverable", "session"}, Role: Fails, Doc: "ends the exchange as failed"},
	{Type: "init_ack", Members: []string{"version", "capabilities"}, Role: Acknowledges, Doc: "confirms that the host has read its parameters"},

	{Type: Init, Sender: Concerto, Members: []string{"params"}, Doc: "the host's parameters; the first message"},
	{Type: Prompt, Sender: Concerto, Members: []string{"text", "context", "schema", "session", "resumed"}, Doc: "begins an exchange"},
	{Type: Response, Sender: Concerto, Members: []string{"in_reply_to", "answer_to", "value", "error"}, Doc: "the answer to a request"},
	{Type: Cancel, Sender: Concerto, Members: []string{"reason"}, Doc: "asks the host to end the exchange early"},
}

// Types lists the types of the rows that which picks, in order.
func Types(which func(*Message) bool) []string {
	var out []string
	for i := range messages {
		if which(&messages[i]) {
			out = append(out, messages[i].Type)
		}
	}
	return out
}

// Waits reports whether the host waits for a response.
func (m *Message) Waits() bool { return m.Role == Asks }

// ByPerson reports whether a person at the terminal is asked if no handler answers the message.
func (m *Message) ByPerson() bool { return m.Form != NoForm }

// Terminal reports whether the message ends the exchange.
func (m *Message) Terminal() bool { return m.Role == Succeeds || m.Role == Fails }

// Handled reports whether a handler of a listen may handle the message.
func (m *Message) Handled() bool { return m.Sender == Host && (m.Role == Notifies || m.Role == Asks) }

// IsKnown reports whether the message is a row of the table.
func (m *Message) IsKnown() bool { return m.Type != "" }

// other is the row of all unknown types.
var other Message

// byLength groups the rows of hosts' messages by the length of their types, for fast lookup.
var byLength = indexByLength()

func indexByLength() (by [16][]*Message) {
	for i := range messages {
		if m := &messages[i]; m.Sender == Host {
			by[len(m.Type)] = append(by[len(m.Type)], m)
		}
	}
	return by
}

// Of returns the row of a message that a host sent; for a type without a row, one that is not
// Known. The caller must not change it.
func Of(typ string) *Message {
	if len(typ) < len(byLength) {
		for _, m := range byLength[len(typ)] {
			if m.Type == typ {
				return m
			}
		}
	}
	return &other
}
