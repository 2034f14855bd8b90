package effect

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// The kinds of a host exchange (spec/host-protocol.md).
const (
	KindExchangeOpen  Kind = "exchange.open"
	KindExchangeNext  Kind = "exchange.next"
	KindExchangeReply Kind = "exchange.reply"
	KindExchangeClose Kind = "exchange.close"
)

// ExchangeOpen starts an exchange: it takes a process of the host (spawning
// and initialising one when needed, waiting in the queue when all are busy),
// sends the prompt, and gives an *ExchangeOpened. The host's timeout starts
// when the process has been taken.
type ExchangeOpen struct {
	Host    string          `json:"host"` // the declaration's name
	Prompt  string          `json:"prompt"`
	Context json.RawMessage `json:"context,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Session string          `json:"session,omitempty"` // the host's conversation to go on with; "" for none
	Tools   []ToolSpec      `json:"tools,omitempty"`   // those that the host is told it may call
	// Application is which of the application's tools it is told of besides; nil: none.
	Application *AppList `json:"application,omitempty"`
}

// ExchangeOpened names the exchange in the requests that follow. Process is which of the
// host's processes has it, from 1 as they are started, and Turn how many exchanges that has had, this one
// included; both are 0 where nobody keeps the processes. Session is how the host calls the conversation, where that is
// known already.
type ExchangeOpened struct {
	ID      int64  `json:"id"`
	Process int64  `json:"process,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Session string `json:"session,omitempty"`
}

// ExchangeNext waits for messages and gives *ExchangeMessages. An exchange has
// at most one such request in flight.
type ExchangeNext struct {
	ID int64 `json:"id"`
}

// ExchangeMessages is all that waited, at least one message, at most 256 or
// 1 MiB of lines. A terminal message (result, error) is the last one. A
// request that a withdraw in the same batch takes back is left out, with the
// withdraw. Lines are those that the messages were read from; nil where nobody keeps them.
type ExchangeMessages struct {
	Messages []HostMessage `json:"messages"`
	Lines    *HostLines    `json:"lines,omitempty"`
}

// HostLines are lines as the host wrote them, without their ends. First is the number of the first,
// from 1 in all that the process has said; the others follow without a gap. Among them are those
// that are no messages. A line's messages are never in two batches. Session is how the host calls
// the conversation since one of them, or "" if as before; Process which of the host's processes has
// said them, 0 for the one that the exchange was opened with.
type HostLines struct {
	First   int64    `json:"first"`
	Text    []string `json:"text"`
	Session string   `json:"session,omitempty"`
	Process int64    `json:"process,omitempty"`
}

// Last returns the number of the last line; First-1 when there is none.
func (l *HostLines) Last() int64 { return l.First + int64(len(l.Text)) - 1 }

// HostMessage is one message from a host. ID is the `id` member as JSON text, or "" without one;
// Payload is a map of all members but `type`, in their order. Text holds the line's own bytes for
// the journal. A terminal message has in Payload the conversation that its host named last, as
// `session`.
//
// Decided marks what stands in the place of an approval that the rules of [hosts.X.permissions]
// have decided and that has been answered: its Payload is for an emit on its Type, which is Decided
// too, and nobody handles it. What was decided stands in its Payload as DecidedAsked, which the
// program does not get.
type HostMessage struct {
	Type    string
	ID      string
	Payload value.Slot
	Text    []byte
	Decided bool
}

// Session returns the conversation that the message names in its member `session`; "" when it names
// none.
func (m *HostMessage) Session() string {
	if s, _ := m.Payload.Map().GetString("session"); s.Kind() == value.KindString {
		return s.AsString()
	}
	return ""
}

// Name gives a message that names no conversation this one.
func (m *HostMessage) Name(session string) {
	if _, named := m.Payload.Map().GetString("session"); !named {
		m.Payload.Map().SetString("session", value.String(session))
	}
}

// Decided is the channel on which a program hears of approvals that rules decided.
const Decided = "host:decided"

// DecidedAsked is the member of a HostMessage that is Decided with the payload of what was.
const DecidedAsked = "asked"

// messageData is a HostMessage as JSON.
type messageData struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id,omitempty"`
	Payload json.RawMessage `json:"payload"`
	Text    string          `json:"text"`
	Decided bool            `json:"decided,omitempty"`
}

// MarshalJSON writes the message as data.
func (m HostMessage) MarshalJSON() ([]byte, error) {
	return json.Marshal(messageData{m.Type, json.RawMessage(m.ID), value.AppendJSON(nil, m.Payload), string(m.Text), m.Decided})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *HostMessage) UnmarshalJSON(text []byte) error {
	var d messageData
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	payload, err := value.Parse(d.Payload)
	if err != nil {
		return fmt.Errorf("read the payload of a host's message: %w", err)
	}
	*m = HostMessage{Type: d.Type, ID: string(d.ID), Payload: payload, Text: []byte(d.Text), Decided: d.Decided}
	return nil
}

// ExchangeReply answers a message: with Value (JSON), or with Error when that
// is not empty. AnswerTo is the message's ID, as JSON text. By is who answers, for
// whoever follows the run.
type ExchangeReply struct {
	ID        int64           `json:"id"`
	InReplyTo string          `json:"in_reply_to"`
	AnswerTo  string          `json:"answer_to,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	By        string          `json:"by,omitempty"`
}

// ExchangeClose ends an exchange. After a terminal message it just gives the
// process back. Before one, it cancels: the host is told (capability
// "cancel") with Reason, or signalled, and drained; the process is kept or
// ended as the protocol says.
type ExchangeClose struct {
	ID     int64  `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// Kind is KindExchangeOpen.
func (*ExchangeOpen) Kind() Kind { return KindExchangeOpen }

// Kind is KindExchangeNext.
func (*ExchangeNext) Kind() Kind { return KindExchangeNext }

// Kind is KindExchangeReply.
func (*ExchangeReply) Kind() Kind { return KindExchangeReply }

// Kind is KindExchangeClose.
func (*ExchangeClose) Kind() Kind { return KindExchangeClose }
