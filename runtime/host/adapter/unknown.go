package adapter

import (
	"slices"
	"strings"
)

// Message is a message that a vendor's agent may send.
type Message struct {
	Kind   string // "message", "request", "notification", "update", "item" or "block"
	Name   string
	Use    string // Handled, Quiet or Refused
	Reason string // why the program does not receive a quiet message, or why a request is refused
}

// The uses of messages.
const (
	Handled = "handled"
	Quiet   = "quiet"
	Refused = "refused"
)

// unused are messages of one kind that the program does not receive. Names are separated by white
// space.
type unused struct{ kind, use, reason, names string }

// Reasons that several messages have.
const (
	progressOnly = "another message reports the same"
	noFeature    = "Concerto does not use this feature"
	onlyClients  = "only clients send it"
)

// acpUnused are the session updates and the other messages of ACP agents.
var acpUnused = []unused{
	{"update", Quiet, "it is the state of the session", "available_commands_update current_mode_update config_option_update session_info_update"},
	{"update", Quiet, "it repeats the user's prompt", "user_message_chunk"},
	{"update", Quiet, progressOnly, "compaction_summary_chunk"},
}

// isQuiet reports whether a message is one that the program does not receive.
func isQuiet(all []unused, kind, name string) bool {
	return slices.ContainsFunc(all, func(u unused) bool {
		return u.kind == kind && u.use == Quiet && slices.Contains(strings.Fields(u.names), name)
	})
}

// unknownNames are the names of the messages that an adapter does not know and has reported.
type unknownNames map[string]bool

// report handles a message that the agent's version has, but not the adapter: the first one with a
// name is passed to the program.
func (u *unknownNames) report(s *Output, all []unused, kind, name string, line []byte) {
	if isQuiet(all, kind, name) || (*u)[name] {
		s.Quiet = name
		return
	}
	if *u == nil {
		*u = unknownNames{}
	}
	(*u)[name] = true
	s.other(name, line)
}
