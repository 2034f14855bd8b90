// Package protocol is the wire protocol between Concerto's relay, its hosts and its apps,
// spec/relay.md (its API promises nothing). The envelope, the types of messages with what
// each carries, the limits, the error codes and the state machines are stated here once, as
// data. Validation, the JSON Schemas in spec/relay and the manual are made from it.
//
// A frame is read by Parse, which looks at the envelope alone; Check holds what a known
// type carries to its row of the table. Whatever the table does not know is kept: fields
// of any message, and types of events.
package protocol

// Version is the protocol that a hello announces. Who says none speaks 1, the seed's.
const Version = 2

// Kind is what a type of message is.
type Kind string

// The kinds.
const (
	Event    Kind = "event"    // of a run, by its host; with a seq it is stored
	Command  Kind = "command"  // of an app
	RPC      Kind = "rpc"      // of an app, answered by rpc.response
	Exchange Kind = "exchange" // between two ends of one connection
)

// Peer is who sends a type.
type Peer string

// The peers.
const (
	Host   Peer = "host"
	Server Peer = "server"
	App    Peer = "app"
)

// Message is a row of the table: a type, and all that is said of it.
type Message struct {
	Type string
	Kind Kind
	From []Peer
	Data any    // the zero value of the struct of its data; its fields are the data's
	Doc  string // what it says, a sentence
	// Since is the protocol that brought it: 1 for the seed's.
	Since int
	// Gated says of an RPC that it waits for an approval.
	Gated bool
	// OfHost says of an RPC that it names its host in its data, not its run.
	OfHost bool
	// Result is the zero value of what an RPC gives.
	Result any
}

// Find is the row of a type; nil when the table does not have it.
func Find(typ string) *Message { return byType[typ] }

var byType = func() map[string]*Message {
	all := make(map[string]*Message, len(Messages))
	for i := range Messages {
		all[Messages[i].Type] = &Messages[i]
	}
	return all
}()
