package effect

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// The kinds of requests for exchanges with hosts (spec/host-protocol.md).
const (
	KindExchangeOpen     Kind = "exchange.open"
	KindExchangeNext     Kind = "exchange.next"
	KindExchangeReply    Kind = "exchange.reply"
	KindExchangeSteer    Kind = "exchange.steer"
	KindExchangeContinue Kind = "exchange.continue"
	KindExchangeGate     Kind = "exchange.gate"
	KindExchangeClose    Kind = "exchange.close"
)

// ExchangeOpen opens an exchange. It acquires a process of the host, sends the prompt, and returns
// an *ExchangeOpened. If necessary, it starts and initialises a process, or waits in a queue while
// all processes are busy. The host's timeout starts after the process was acquired.
type ExchangeOpen struct {
	Host    string          `json:"host"` // name of the host's declaration
	Prompt  string          `json:"prompt"`
	Context json.RawMessage `json:"context,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	// id of the host's conversation to continue; "" for a new one
	Session string `json:"session,omitempty"`
	// name of the workspace in which the host works; "" for its own directory
	Workspace string     `json:"workspace,omitempty"`
	Tools     []ToolSpec `json:"tools,omitempty"` // the program's tools that the host may call
	// Application selects the application's tools that the host may call; nil for none.
	Application *AppList `json:"application,omitempty"`
	// Within contains the numbers of the open exchanges that cannot end before this one, because
	// their handlers or their readers wait for it. Records do not contain it.
	Within []int64 `json:"-"`
}

// Continuing returns a copy of the request that continues a conversation.
func (r *ExchangeOpen) Continuing(session string) *ExchangeOpen {
	out := *r
	out.Session = session
	return &out
}

// ExchangeOpened contains the number by which later requests identify the exchange. Process is the
// number of the host's process in the order of starts, from 1. Turn is the number of this exchange
// on that process, from 1. Both are 0 if unknown. Session is the host's id of the conversation, if
// it is known.
type ExchangeOpened struct {
	ID      int64  `json:"id"`
	Process int64  `json:"process,omitempty"`
	Turn    int64  `json:"turn,omitempty"`
	Session string `json:"session,omitempty"`
	// Started is Process, or the same number of a process whose output is not recorded. Records do
	// not contain it.
	Started int64 `json:"-"`
}

// ExchangeNext waits for messages and returns *ExchangeMessages. Only one such request per exchange
// may be in progress.
type ExchangeNext struct {
	ID int64 `json:"id"`
}

// ExchangeMessages contains the waiting messages: at least one, at most 256 and at most 1 MiB of
// lines. A terminal message (result or error) is the last one. A request that is withdrawn in the
// same batch is omitted together with the withdrawal. Lines contains the lines of the messages; nil
// if lines are not recorded.
type ExchangeMessages struct {
	Messages []HostMessage `json:"messages"`
	Lines    *HostLines    `json:"lines,omitempty"`
}

// HostLines contains lines as the host wrote them, without newlines, including lines that are not
// messages. First is the number of the first line in the process's output, from 1; the others
// follow without gaps. All messages of a line are in the same batch. Session is the new id of the
// conversation if one of the lines has changed it, otherwise "". Process is the number of the
// host's process; 0 means the process that opened the exchange.
type HostLines struct {
	First   int64    `json:"first"`
	Text    []string `json:"text"`
	Session string   `json:"session,omitempty"`
	Process int64    `json:"process,omitempty"`
}

// Last returns the number of the last line, or First-1 if there are no lines.
func (l *HostLines) Last() int64 { return l.First + int64(len(l.Text)) - 1 }

// HostMessage is a message from a host. ID is the member `id` as JSON, or "". Payload is a map with
// all members except `type`, in order. Text contains the bytes of the line for the journal. The
// Payload of a terminal message contains, as `session`, the conversation that the host has named
// last.
//
// Decided marks a message of Concerto itself, which the host did not send. With the Type Decided it
// is an approval request that the rules of [hosts.X.permissions] have already answered; its Payload
// contains the original payload as the member DecidedAsked, which the program does not receive.
// With the Type Refused it is a request that Concerto has refused, also with that member. With the
// Type Blocked it is an address that the host's sandbox refused. Both are emitted on the
// channel of their Type instead of being passed to a handler. With the Type Steered it records that
// another process has sent a message to the host, and the program does not receive it.
type HostMessage struct {
	Type    string
	ID      string
	Payload value.Slot
	Text    []byte
	Decided bool
	// Number is the number of the message in its exchange, from 1, modulo 2³². The VM sets it.
	Number uint32
}

// Session returns the conversation in the member `session` of the message, or "" if there is none.
func (m *HostMessage) Session() string {
	if s, _ := m.Payload.Map().GetString("session"); s.Kind() == value.KindString {
		return s.AsString()
	}
	return ""
}

// SetSession sets the conversation of a message that names none.
func (m *HostMessage) SetSession(session string) {
	if _, named := m.Payload.Map().GetString("session"); !named {
		m.Payload.Map().SetString("session", value.String(session))
	}
}

// Decided is the channel on which a program receives approval requests that rules have decided.
const Decided = "host:decided"

// Blocked is the channel on which a program receives the addresses that a host may not reach.
const Blocked = "host:blocked"

// Refused is the channel on which a program receives the requests that Concerto has refused,
// because it does not support them or cannot read them.
const Refused = "host:refused"

// Undelivered is the channel on which a program receives the decisions that a host did not receive.
const Undelivered = "host:undelivered"

// UndeliveredDecision is the kind of the records about such decisions.
const UndeliveredDecision = "undelivered"

// RefusedRequest is the kind of the decisions about such requests.
const RefusedRequest = "request"

// DecidedAsked is the member of a decided or refused HostMessage that contains the original
// payload.
const DecidedAsked = "asked"

// Steered is the type of the message that records a message of another process to the host.
// SteeredNote is its payload.
const Steered = "host:steered"

// SteeredNote describes a message that another process has sent to a host.
type SteeredNote struct {
	Key       string `json:"key"`          // identifies the message in the run
	ID        string `json:"id,omitempty"` // identifies it in its exchange
	Host      string `json:"host"`
	Text      string `json:"text"`
	Interrupt bool   `json:"interrupt,omitempty"`
	Outcome   string `json:"outcome"`
	By        string `json:"by"` // one of the By constants
	Name      string `json:"name,omitempty"`
}

// IsRuling reports whether the message is an approval request that rules have decided.
func (m *HostMessage) IsRuling() bool { return m.Decided && m.Type == Decided }

// IsRefusal reports whether the message is a request that Concerto has refused.
func (m *HostMessage) IsRefusal() bool { return m.Decided && m.Type == Refused }

// IsUndelivered reports whether the message is about a decision that the host did not receive.
func (m *HostMessage) IsUndelivered() bool { return m.Decided && m.Type == Undelivered }

// IsOutside reports whether the message is about a request that was decided while no exchange was
// running.
func (m *HostMessage) IsOutside() bool {
	if !m.IsRuling() && !m.IsRefusal() {
		return false
	}
	outside, _ := m.Payload.Map().GetString("outside")
	return outside.Kind() == value.KindBool && outside.AsBool()
}

// IsMoved reports whether the withdrawn request stays open, because another part of the run decides
// it.
func (m *HostMessage) IsMoved() bool {
	if m.Payload.Map() == nil {
		return false
	}
	moved, _ := m.Payload.Map().GetString(WithdrawMoved)
	return moved.Kind() == value.KindBool && moved.AsBool()
}

// WithdrawMoved is the member of a withdraw message whose request stays open.
const WithdrawMoved = "moved"

// IsSteered reports whether the message records a message of another process to the host.
func (m *HostMessage) IsSteered() bool { return m.Decided && m.Type == Steered }

// Steering returns the payload of a Steered message, or nil for any other message.
func (m *HostMessage) Steering() *SteeredNote {
	if !m.IsSteered() {
		return nil
	}
	n := new(SteeredNote)
	if err := json.Unmarshal(value.AppendJSON(nil, m.Payload), n); err != nil {
		return nil
	}
	return n
}

// NewSteered returns a Steered message.
func NewSteered(n *SteeredNote) HostMessage {
	text, err := json.Marshal(struct {
		Type string `json:"type"`
		*SteeredNote
	}{Steered, n})
	if err != nil {
		panic("effect: a note cannot be encoded: " + err.Error())
	}
	typ, _, payload, err := value.ParseMessage(text)
	if err != nil {
		panic("effect: a note does not parse: " + err.Error())
	}
	return HostMessage{Type: typ, Payload: payload, Text: text, Decided: true}
}

// messageData is the JSON form of a HostMessage.
type messageData struct {
	Type    string          `json:"type"`
	ID      json.RawMessage `json:"id,omitempty"`
	Payload json.RawMessage `json:"payload"`
	Text    string          `json:"text"`
	Decided bool            `json:"decided,omitempty"`
}

// MarshalJSON encodes the message.
func (m HostMessage) MarshalJSON() ([]byte, error) {
	return json.Marshal(messageData{m.Type, json.RawMessage(m.ID), value.AppendJSON(nil, m.Payload), string(m.Text), m.Decided})
}

// UnmarshalJSON decodes the output of MarshalJSON.
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

// ExchangeReply answers a request of a host with Value (JSON), or with Error if that is not empty.
// AnswerTo is the ID of the request. By names the source of the answer.
type ExchangeReply struct {
	ID        int64           `json:"id"`
	InReplyTo string          `json:"in_reply_to"`
	AnswerTo  string          `json:"answer_to,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Error     string          `json:"error,omitempty"`
	By        string          `json:"by,omitempty"`
}

// ExchangeSteer sends a message to a host that is working on an exchange, and returns an
// *ExchangeSteered. With Interrupt it ends the host's current turn instead: Text is the prompt of
// the next turn, or if it is "", the exchange fails.
type ExchangeSteer struct {
	ID        int64  `json:"id"`
	Text      string `json:"text,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
}

// ExchangeSteered is the result of ExchangeSteer.
type ExchangeSteered struct {
	Outcome string `json:"outcome"`      // one of the constants below
	ID      string `json:"id,omitempty"` // of the message in its exchange
}

// The outcomes of ExchangeSteer.
const (
	SteerReceived    = "steered"     // the host has received the message in its current turn
	SteerQueued      = "queued"      // the message is the prompt of a later turn
	SteerInterrupted = "interrupted" // the host was asked to end its turn
)

// ExchangeContinue sends a further prompt in an exchange whose last turn has ended with a result.
// The conversation, the limits and the timeout are those of the exchange. After a limit no turn
// begins, and the request fails with the error of the limit. In a durable run, the key of the
// effect identifies the prompt, so that the host receives it once. The result is an
// *ExchangeSteered with the outcome SteerQueued.
type ExchangeContinue struct {
	ID     int64  `json:"id"`
	Prompt string `json:"prompt"`
	Reason string `json:"reason"` // one of the constants below
}

// The reasons of ExchangeContinue.
const (
	ContinueSchema = "schema" // the result does not fit the schema
	ContinueGate   = "gate"   // a gate has not passed
)

// ExchangeClose closes an exchange. After a terminal message it releases the process. Before that,
// it cancels the exchange: it sends Reason to the host (capability "cancel") or a signal, and reads
// the remaining output. The protocol defines whether the process continues or is stopped.
// Its result is an *ExchangeClosed or nil.
type ExchangeClose struct {
	ID     int64  `json:"id"`
	Reason string `json:"reason,omitempty"`
}

// ExchangeClosed is what limits count for an exchange in addition to the reports of its host: the
// rest of its reservation, if the host has ended without a report.
type ExchangeClosed struct {
	TokensOut int64   `json:"tokens_out,omitempty"`
	CostUSD   float64 `json:"cost_usd,omitempty"`
}

// Kind returns KindExchangeOpen.
func (*ExchangeOpen) Kind() Kind { return KindExchangeOpen }

// Kind returns KindExchangeNext.
func (*ExchangeNext) Kind() Kind { return KindExchangeNext }

// Kind returns KindExchangeReply.
func (*ExchangeReply) Kind() Kind { return KindExchangeReply }

// Kind returns KindExchangeSteer.
func (*ExchangeSteer) Kind() Kind { return KindExchangeSteer }

// Kind returns KindExchangeContinue.
func (*ExchangeContinue) Kind() Kind { return KindExchangeContinue }

// Kind returns KindExchangeClose.
func (*ExchangeClose) Kind() Kind { return KindExchangeClose }
