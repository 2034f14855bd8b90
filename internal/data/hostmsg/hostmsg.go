// Package hostmsg contains the table of the messages between a program and its hosts
// (spec/host-protocol.md), with the types of messages and their meaning. The checker, the VM, the
// transports, the mocks, test hosts and the manual use this table. There is no other list of
// message types.
//
// A message with a type that is not in the table is valid. Its meaning is defined by the host and
// the program.
package hostmsg

import (
	"cmp"
	"encoding/json"
	"sync"
)

// The message types whose names the code uses.
const (
	Init     = "init"
	Prompt   = "prompt"
	Response = "response"
	Approval = "approval"
	Cancel   = "cancel"
	Steer    = "steer"
	Progress = "progress"
	Partial  = "partial"
	Retract  = "retract"
	// PlanLimit reports a limit of the vendor's plan.
	PlanLimit = "plan_limit"
	Question  = "question"
	Result    = "result"
	Error     = "error"
)

// Sender is the side that sends a type of message.
type Sender uint8

// The senders.
const (
	Host Sender = iota
	Concerto
)

// Role is the meaning of a type of message for the exchange.
type Role uint8

// The roles.
const (
	Notifies     Role = iota // needs no response; also the role of every type that is not in the table
	Asks                     // the host waits for a response, unless it withdraws the request
	Withdraws                // withdraws a request by its id
	Succeeds                 // ends the exchange; its members are the result
	Fails                    // ends the exchange with a HostError
	Acknowledges             // acknowledges init
)

// Fallback is what a listen does with a message that it has no handler for.
type Fallback uint8

// The fallbacks.
const (
	Reported Fallback = iota // emitted on listen:unhandled; a request is answered with its default or an error
	Gathered                 // added to the partial_output of the result
	Removed                  // the pieces of the messages that it names leave partial_output, also if there is a handler
	ByTools                  // answered by a tool of the host; without tools, the same as Reported
)

// Form is the form in which a person answers a message. It determines which members of the message
// a prompt reads, so a new type of message requires only a row in the table.
type Form uint8

// The forms.
const (
	// NoForm means that a person never answers the message.
	NoForm Form = iota
	// Inquiry means that the answer is a text. With the member options it is a choice, and with the
	// member questions a form with several answers. The message has the members of HostQuestion.
	Inquiry
	// YesNo means that the answer is an approval or a denial, with a scope and a reason. The
	// message has the members of HostApproval.
	YesNo
)

// Message is a row of the table: a type of message with its properties.
type Message struct {
	Type   string
	Sender Sender
	Role   Role

	// Schema is the name of the library's schema for the members other than type
	// (stdlib/messages.conc). If it is "", Members lists the members.
	Schema  string
	Members []string

	// Form is the form in which a person answers the message.
	Form Form
	// Timed means that question_timeout limits the time for an answer.
	Timed bool
	// Default is the key of the default answer in the declaration of a host or its section of the
	// manifest; "" if there is none.
	Default string
	// Unhandled is what a listen without a handler does with the message.
	Unhandled Fallback
	// Channel is the channel on which execute emits the message. For a request, execute awaits the
	// answer to the emit. "" means that execute handles the message as Unhandled specifies.
	Channel string

	Doc string // meaning, for the manual
}

// Messages returns all rows in the order of the manual. The caller must not change them.
func Messages() []Message { return messages }

var messages = []Message{
	{Type: Progress, Schema: "HostProgress", Channel: "host:progress", Doc: "the progress of the work"},
	{Type: "log", Schema: "HostLog", Channel: "host:log", Doc: "a remark"},
	{Type: PlanLimit, Schema: "HostPlanLimit", Channel: "host:plan_limit", Doc: "a limit of the plan under which the host works is near or reached; an exchange that fails after `reached` has the code `plan_limit`"},
	{Type: Partial, Schema: "HostPartial", Unhandled: Gathered, Doc: "a piece of the result; `chunk` is accepted as a synonym of `text`"},
	{Type: Retract, Schema: "HostRetract", Unhandled: Removed, Doc: "the pieces with these `message`s are no part of the result any more"},
	{Type: Question, Schema: "HostQuestion", Role: Asks, Form: Inquiry, Timed: true, Default: "question_default", Channel: "host:question",
		Doc: "a question"},
	{Type: Approval, Schema: "HostApproval", Role: Asks, Form: YesNo, Timed: true, Default: "approval_default", Channel: "host:approval",
		Doc: "a request for permission"},
	{Type: "tool_call", Schema: "HostToolCall", Role: Asks, Unhandled: ByTools, Doc: "a call of one of the program's tools"},
	{Type: "withdraw", Members: []string{"id"}, Role: Withdraws, Doc: "withdraws a request"},
	{Type: Result, Schema: "HostResult", Role: Succeeds, Doc: "ends the exchange with this result, which may have further members"},
	{Type: Error, Members: []string{"message", "code", "recoverable", "session", "accepted"}, Role: Fails, Doc: "ends the exchange as failed; `accepted` means that the conversation contains its prompt"},
	{Type: "init_ack", Members: []string{"version", "capabilities"}, Role: Acknowledges, Doc: "confirms that the host has read its parameters"},

	{Type: Init, Sender: Concerto, Members: []string{"params", "trace"}, Doc: "the host's parameters; the first message"},
	{Type: Prompt, Sender: Concerto, Members: []string{"text", "context", "schema", "session", "resumed", "queued", "trace"}, Doc: "begins an exchange or, with `queued`, its next turn"},
	{Type: Response, Sender: Concerto, Members: []string{"in_reply_to", "answer_to", "value", "error"}, Doc: "the answer to a request"},
	{Type: Cancel, Sender: Concerto, Members: []string{"reason"}, Doc: "asks the host to end its turn early"},
	{Type: Steer, Sender: Concerto, Members: []string{"id", "text"}, Doc: "a message for the turn that the host is working on"},
}

// Types returns the types of the rows that which selects, in order.
func Types(which func(*Message) bool) []string {
	var out []string
	for i := range messages {
		if which(&messages[i]) {
			out = append(out, messages[i].Type)
		}
	}
	return out
}

// Waits reports whether the host waits for a response to the message.
func (m *Message) Waits() bool { return m.Role == Asks }

// ByPerson reports whether a person is asked if no handler answers the message.
func (m *Message) ByPerson() bool { return m.Form != NoForm }

// Terminal reports whether the message ends the exchange.
func (m *Message) Terminal() bool { return m.Role == Succeeds || m.Role == Fails }

// Handled reports whether a listen may have a handler for the message.
func (m *Message) Handled() bool { return m.Sender == Host && (m.Role == Notifies || m.Role == Asks) }

// IsKnown reports whether the message type is in the table.
func (m *Message) IsKnown() bool { return m.Type != "" }

// other is the row for all types that are not in the table.
var other Message

// byLength contains the rows of messages from hosts, grouped by the length of their types, for fast
// lookup.
var byLength = sync.OnceValue(func() *[16][]*Message {
	by := new([16][]*Message)
	for i := range messages {
		if m := &messages[i]; m.Sender == Host {
			by[len(m.Type)] = append(by[len(m.Type)], m)
		}
	}
	return by
})

// Lookup returns the row of a message type that hosts send. For other types it returns a row for
// which IsKnown is false. The caller must not change the row.
func Lookup(typ string) *Message {
	if by := byLength(); len(typ) < len(by) {
		for _, m := range by[len(typ)] {
			if m.Type == typ {
				return m
			}
		}
	}
	return &other
}

// SenderName returns the name under which a person sees the sender of a message: that of the host,
// as in "Coder", or of its subagent, as in "Coder › helper".
func SenderName(host string, message []byte) string {
	var m struct {
		Agent struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"agent"`
	}
	if json.Unmarshal(message, &m) != nil || m.Agent.ID == "" {
		return host
	}
	return host + " › " + cmp.Or(m.Agent.Name, m.Agent.ID)
}
