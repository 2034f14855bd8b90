// Package protocol defines the wire protocol between Concerto's relay, its hosts and its apps
// (spec/relay.md). The envelope, the message types and their data, limits, error codes and state
// machines are defined here as data. Validation, the JSON Schemas in spec/relay and the manual are
// derived from it. The compatibility promise does not cover this API.
//
// Parse checks only the envelope of a frame; Check validates the data of known types. Unknown
// fields and event types are preserved.
package protocol

// Version is the protocol version in a hello. A peer without a version speaks version 1.
const Version = 2

// Kind classifies message types.
type Kind string

// The kinds.
const (
	Event    Kind = "event"    // of a run, sent by its host; stored if it has a sequence number
	Command  Kind = "command"  // sent by an app
	RPC      Kind = "rpc"      // sent by an app, answered by rpc.response
	Exchange Kind = "exchange" // between the two ends of one connection
)

// Peer is a sender of messages.
type Peer string

// The peers.
const (
	Host   Peer = "host"
	Server Peer = "server"
	App    Peer = "app"
)

// Message describes a message type.
type Message struct {
	Type string
	Kind Kind
	From []Peer
	Data any    // the zero value of the struct of its data
	Doc  string // a sentence for the manual
	// Since is the protocol version that introduced the type.
	Since int
	// Gated reports whether an RPC waits for an approval.
	Gated bool
	// OfHost reports whether an RPC names its host in its data instead of a run.
	OfHost bool
	// Result is the zero value of an RPC's result.
	Result any
}

// Find returns the description of a type, or nil if it is unknown.
func Find(typ string) *Message { return byType[typ] }

var byType = func() map[string]*Message {
	all := make(map[string]*Message, len(Messages))
	for i := range Messages {
		all[Messages[i].Type] = &Messages[i]
	}
	return all
}()
