// Package protocol defines the wire protocol between Concerto's relay server, its machines and its
// apps (spec/relay.md). It contains tables of the envelope, the message types and their data, the
// limits, the error codes and the state machines. Validation, the JSON Schemas in spec/relay and
// the manual's chapter are derived from these tables.
//
// Parse checks only the envelope of a frame. Check validates the data of messages with known types.
// Unknown fields and event types are preserved.
package protocol

import "sync"

// Version is the protocol version that hello contains. A peer that sends no version uses version 1.
const Version = 2

// Kind is a kind of message types.
type Kind string

// The kinds of message types.
const (
	Event    Kind = "event"    // of a run, sent by its machine; stored if it has a sequence number
	Command  Kind = "command"  // sent by an app
	RPC      Kind = "rpc"      // sent by an app, answered by rpc.response
	Exchange Kind = "exchange" // between the two ends of one connection
)

// Peer is a sender of messages.
type Peer string

// The senders of messages. A machine is a computer on which hostd runs, or an engine that appears
// as one. Protocol 1 calls it a host: the names in messages, URLs and databases still do.
const (
	Machine Peer = "host"
	Server  Peer = "server"
	App     Peer = "app"
)

// Message describes a message type.
type Message struct {
	Type string
	Kind Kind
	From []Peer
	Data any    // zero value of the struct that describes the data
	Doc  string // description for the manual, one sentence
	// Since is the protocol version that introduced the message type.
	Since int
	// Gated is true if an RPC is executed only after an approval.
	Gated bool
	// OfMachine is true if an RPC names the machine in its data instead of a run.
	OfMachine bool
	// Result is the zero value of the RPC's result.
	Result any
}

// Find returns the description of a message type, or nil if the type is unknown.
func Find(typ string) *Message { return byType()[typ] }

// IsSealed reports whether messages of the type are always sealed.
func (m *Message) IsSealed() bool {
	_, sealed := m.Data.(SealedCommand)
	return sealed
}

// byType has the messages by their types. A command that uses none does not pay for it at its
// start.
var byType = sync.OnceValue(func() map[string]*Message {
	all := make(map[string]*Message, len(Messages))
	for i := range Messages {
		all[Messages[i].Type] = &Messages[i]
	}
	return all
})
