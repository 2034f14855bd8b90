package server

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// Watcher hears what happens to runs, once it is stored. It must not wait.
type Watcher interface {
	// Changed is told of runs of which there is more than output.
	Changed(runs ...string)
	// Started is told that a user has started a run.
	Started(run, user string)
}

// watched tells of a commit.
func (s *Server) watched(all []store.Incoming, out *store.Appended) {
	if s.config.Watch == nil {
		return
	}
	grown := map[string]bool{} // by what is no output, or by what came before
	for run, after := range out.Prefixes {
		if before := out.Before[run]; after > before && !onlyOutput(run, before, after, all) {
			grown[run] = true
		}
	}
	for run := range grown {
		s.config.Watch.Changed(run)
	}
}

// onlyOutput says whether all events of a run between two prefixes are in a batch, and output.
func onlyOutput(run string, before, after int64, all []store.Incoming) bool {
	n := int64(0)
	for i := range all {
		if e := all[i].Envelope; e.RunID == run && e.Type == protocol.RunOutput && e.Seq > before && e.Seq <= after {
			n++
		}
	}
	return n >= after-before
}

// startedBy tells that a user's call has started a run, when its answer says so.
func (s *Server) startedBy(user string, answer *protocol.Envelope) {
	if s.config.Watch == nil {
		return
	}
	var made protocol.StartRunResult
	d, err := protocol.Decode[protocol.Response](answer)
	if err == nil && d.OK && json.Unmarshal(d.Result, &made) == nil && protocol.IsID(made.RunID) {
		s.config.Watch.Started(made.RunID, user)
	}
}
