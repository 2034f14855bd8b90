package rpc

import "github.com/concerto-lang/concerto/relay/protocol"

// Diff exports diff for tests.
var Diff = diff

// HasHandler reports whether a message has a handler.
func HasHandler(m *protocol.Message) bool { return handlers[m.Type] != nil }
