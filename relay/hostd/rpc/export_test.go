package rpc

import "github.com/concerto-lang/concerto/relay/protocol"

// Diff is diff, for tests.
var Diff = diff

// CutDiff is cutDiff, for tests.
var CutDiff = cutDiff

// HasHandler says whether a message is done.
func HasHandler(m *protocol.Message) bool { return handlers[m.Type] != nil }
