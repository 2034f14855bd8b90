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

// ExchangeOpen opens an exchange: it acquires a process of the host (starting and initialising one
// if needed, waiting in the queue if all are busy), sends the prompt, and returns an
// *ExchangeOpened. The host's timeout starts after the acquisition.
type ExchangeOpen struct {
	Host    string          `json:"host"` // the declaration's name
	Prompt  string          `json:"prompt"`
	Context json.RawMessage `json:"context,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	// the host's conversation to continue; "" for none
	Session string     `json:"session,omitempty"`
	Tools   []ToolSpec `json:"tools,omitempty"` // the tools that the host may call
	// Application selects the application's tools that the host may also call; nil for none.
	Application *AppList `json:"application,omitempty"`
}

// ExchangeOpened identifies the exchange in later requests. Process is the number of the host's
// process, counted from 1 by their start, and Turn the number of its exchanges including this one;
// both are 0 if unknown. Session is the host's name of the conversation, if known.
type ExchangeOpened struct {
	ID      int64  `json:"id"`
	Process int64  `json:"process,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Session string `json:"session,omitempty"`
}

// ExchangeNext waits for messages and returns *ExchangeMessages. An exchange has at most one such
// request in flight.
type ExchangeNext struct {
	ID int64 `json:"id"`
}

// ExchangeMessages holds all waiting messages, at least one, at most 256 or 1 MiB of lines. A
// terminal message (result, error) is the last one. A request that is withdrawn in the same batch
// is omitted, with the withdraw. Lines are the lines of the messages; nil if they are not recorded.
type ExchangeMessages struct {
	Messages []HostMessage `json:"messages"`
	Lines    *HostLines    `json:"lines,omitempty"`
}

// HostLines holds lines as the host wrote them, without line ends, including those that are not
// messages. First is the number of the first line of the process, from 1; the others follow without
// a gap. A line's messages are never in two batches. Session is the host's name of the conversation
// since one of them, or "" if unchanged; Process is the number of the host's process, 0 for the one
// that the exchange was opened with.
type HostLines struct {
	First   int64    `json:"first"`
	Text    []string `json:"text"`
	Session string   `json:"session,omitempty"`
	Process int64    `json:"process,omitempty"`
}

// Last returns the number of the last line; First-1 when there is none.
func (l *HostLines) Last() int64 { return l.First + int64(len(l.Text)) - 1 }

// HostMessage is a message from a host. ID is the `id` member as JSON text, or ""; Payload is a map
// of all members but `type`, in order. Text holds the line's bytes for the journal. The Payload of
// a terminal message contains the conversation that the host named last, as `session`.
//
// Decided marks the replacement of an approval that the rules of [hosts.X.permissions] have decided
// and answered: its Payload is emitted on its Type, which is Decided too, and no handler handles
// it. The original payload is in Payload as DecidedAsked, which the program does not receive.
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

// SetSession sets the conversation of a message without one.
func (m *HostMessage) SetSession(session string) {
	if _, named := m.Payload.Map().GetString("session"); !named {
		m.Payload.Map().SetString("session", value.String(session))
	}
}

// Decided is the channel on which a program receives approvals that rules decided.
const Decided = "host:decided"

// DecidedAsked is the member of a decided HostMessage with the original payload.
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

// ExchangeReply answers a message: with Value (JSON), or with Error if that is not empty. AnswerTo
// is the message's ID, as JSON text. By states who answered.
type ExchangeReply struct {
	ID        int64           `json:"id"`
	InReplyTo string          `json:"in_reply_to"`
	AnswerTo  string          `json:"answer_to,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	By        string          `json:"by,omitempty"`
}

// ExchangeClose closes an exchange. After a terminal message it releases the process. Before one,
// it cancels: the host is notified (capability "cancel") with Reason, or signalled, and drained;
// the process continues or is stopped as the protocol defines.
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
