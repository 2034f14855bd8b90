package store

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// exceedsRequests reports whether the request in an event would exceed the limit on open requests.
func (r *Run) exceedsRequests(e *Event, open map[string]bool) bool {
	return e.Type == protocol.RunPermissionRequested && r.Status != protocol.StatusExited && len(open) >= protocol.MaxOpenRequests && !open[e.text("request_id")]
}

// requestChange describes how an event changes a request.
type requestChange struct {
	id    string
	data  json.RawMessage // the data of a new request
	state protocol.RequestState
}

// apply applies an event to a run and returns the changed requests. open is the set of the run's
// open and decided requests, which apply updates.
func (r *Run) apply(e *Event, open map[string]bool) (changes []requestChange) {
	if r.Status == protocol.StatusExited {
		return nil // a run has no events after its exit
	}
	end := func(id string, state protocol.RequestState) {
		if open[id] {
			delete(open, id)
			changes = append(changes, requestChange{id: id, state: state})
		}
	}
	r.LastActiveAt = e.ReceivedAt
	r.Sealed = r.Sealed || e.enc() != nil
	switch e.Type {
	case protocol.RunStarted:
		r.start(e)
	case protocol.RunPermissionRequested:
		if id := e.text("request_id"); id != "" && !open[id] && !r.exceedsRequests(e, open) {
			open[id] = true
			changes = append(changes, requestChange{id: id, data: e.request(), state: protocol.RequestOpen})
		}
	case protocol.RunPermissionResolved:
		state := protocol.RequestResolved
		if d := e.text("decision"); d == protocol.DecisionWithdrawn || d == protocol.DecisionExpired {
			state = protocol.RequestState(d)
		}
		end(e.text("request_id"), state)
	case protocol.RunAwaitingInput:
		r.Waits = true
	case protocol.RunInput:
		r.Waits = false
		end(e.text("input_id"), protocol.RequestResolved) // some machines send no run.permission_resolved for a request that an input answers
	case protocol.ToolResult:
		end(e.text("request_id"), protocol.RequestResolved)
	case protocol.RunMeta:
		r.mergeMeta(e.Data)
	case protocol.RunExited:
		r.exit(e)
		for id := range maps.Clone(open) {
			end(id, protocol.RequestWithdrawn)
		}
		return changes
	}
	switch {
	case len(open) > 0:
		r.Status = protocol.StatusAwaitingApproval
	case r.Waits:
		r.Status = protocol.StatusAwaitingInput
	default:
		r.Status = protocol.StatusRunning
	}
	return changes
}

func (r *Run) start(e *Event) {
	var d protocol.Started
	if json.Unmarshal(e.Data, &d) == nil { // the fields of a sealed event stay empty
		r.Tool, r.Cwd, r.Command = d.Tool, d.Cwd, d.Command
		if d.Title != "" {
			r.Title = d.Title
		}
	}
	r.StartedAt = e.ReceivedAt
}

func (r *Run) exit(e *Event) {
	var d protocol.Exited
	if json.Unmarshal(e.Data, &d) == nil {
		r.ExitCode = &d.ExitCode
	}
	r.Status, r.Waits, r.EndedAt = protocol.StatusExited, false, e.ReceivedAt
}

// enc returns the member enc of a sealed event, and nil for others.
func (e *Event) enc() json.RawMessage {
	if e.Extra == nil {
		return nil
	}
	var extra struct {
		Enc json.RawMessage `json:"enc"`
	}
	_ = json.Unmarshal(e.Extra, &extra) // the store has encoded it
	return extra.Enc
}

// IsSealed reports whether the server cannot read the event.
func (e *Event) IsSealed() bool { return e.enc() != nil }

// request returns the data of a request. Those of a sealed event also have its ts and enc, by which
// readers open them.
func (e *Event) request() json.RawMessage {
	enc := e.enc()
	if enc == nil {
		return e.Data
	}
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(e.Data, &all) // the protocol has checked that it is an object
	all["enc"], all["ts"] = enc, json.RawMessage(strconv.Quote(e.TS))
	text, err := json.Marshal(all)
	if err != nil {
		return e.Data // cannot happen: the members are JSON
	}
	return text
}

// mergeMeta merges the members of a run.meta into the metadata of the run.
func (r *Run) mergeMeta(data json.RawMessage) {
	var had, more map[string]json.RawMessage
	if json.Unmarshal(data, &more) != nil {
		return
	}
	if json.Unmarshal(r.Meta, &had) != nil || had == nil {
		had = map[string]json.RawMessage{}
	}
	maps.Copy(had, more)
	if text, err := json.Marshal(had); err == nil {
		r.Meta = text
	}
	var title string
	if json.Unmarshal(more["title"], &title) == nil {
		r.Title = title
	}
}

// text returns a string member of an event's data. It returns "" if there is none.
func (e *Event) text(name string) string {
	var all map[string]json.RawMessage
	var t string
	if json.Unmarshal(e.Data, &all) != nil || json.Unmarshal(all[name], &t) != nil {
		return ""
	}
	return t
}
