package server

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Watcher is notified of changes of runs after they are stored. Its methods must not block.
type Watcher interface {
	// Changed reports runs with new events other than output.
	Changed(runs ...string)
	// Started reports that a user has started a run.
	Started(run, user string)
}

// notifyWatcher reports a commit.
func (s *Server) notifyWatcher(all []store.Incoming, out *store.Appended) {
	if s.config.Watch == nil {
		return
	}
	grown := map[string]bool{} // runs with events other than output, or with earlier events
	for run, after := range out.Prefixes {
		if before := out.Before[run]; after > before && !onlyOutput(run, before, after, all) {
			grown[run] = true
		}
	}
	for run := range grown {
		s.config.Watch.Changed(run)
	}
}

// onlyOutput reports whether all events of a run between two prefixes are in the batch and are
// output.
func onlyOutput(run string, before, after int64, all []store.Incoming) bool {
	n := int64(0)
	for i := range all {
		if e := all[i].Envelope; e.RunID == run && e.Type == protocol.RunOutput && e.Seq > before && e.Seq <= after {
			n++
		}
	}
	return n >= after-before
}

// reportStarted reports that a user's call has started a run, if its answer has a run id.
func (s *Server) reportStarted(user string, answer *protocol.Envelope) {
	if s.config.Watch == nil {
		return
	}
	var made protocol.StartRunResult
	d, err := protocol.Decode[protocol.Response](answer)
	if err == nil && d.OK && json.Unmarshal(d.Result, &made) == nil && protocol.IsID(made.RunID) {
		s.config.Watch.Started(made.RunID, user)
	}
}
