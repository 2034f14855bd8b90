package server

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Watcher is notified of changes of runs after the changes are stored. Its methods must not block.
type Watcher interface {
	// Changed is called with the runs that have new events other than output.
	Changed(runs ...string)
	// Started reports that a user has started a run.
	Started(run, user string)
}

// notifyWatcher notifies the watcher of a commit.
func (s *Server) notifyWatcher(all []store.Incoming, out *store.Appended) {
	if s.config.Watch == nil {
		return
	}
	grown := map[string]bool{} // runs with new events that are not all output
	for run, after := range out.Prefixes {
		if before := out.Before[run]; after > before && !onlyOutput(run, before, after, all) {
			grown[run] = true
		}
	}
	for run := range grown {
		s.config.Watch.Changed(run)
	}
}

// onlyOutput reports whether the batch contains all events of a run after sequence number before up
// to after, and all of them are output.
func onlyOutput(run string, before, after int64, all []store.Incoming) bool {
	n := int64(0)
	for i := range all {
		if e := all[i].Envelope; e.RunID == run && e.Type == protocol.RunOutput && e.Seq > before && e.Seq <= after {
			n++
		}
	}
	return n >= after-before
}

// reportStarted notifies the watcher that a user's call has started a run, if the answer contains a
// run id. That of a sealed answer is in the envelope.
func (s *Server) reportStarted(user string, answer *protocol.Envelope) {
	if s.config.Watch == nil {
		return
	}
	if answer.Enc != nil {
		if protocol.IsID(answer.RunID) {
			s.config.Watch.Started(answer.RunID, user)
		}
		return
	}
	var made protocol.StartRunResult
	d, err := protocol.Decode[protocol.Response](answer)
	if err == nil && d.OK && json.Unmarshal(d.Result, &made) == nil && protocol.IsID(made.RunID) {
		s.config.Watch.Started(made.RunID, user)
	}
}
