package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/store"
)

// message is a message of a conversation, made from one or several events.
type message struct {
	ID        string          `json:"id"`
	Seq       int64           `json:"seq"`
	TS        string          `json:"ts"`
	Role      string          `json:"role"` // user, assistant or system
	Kind      string          `json:"kind"` // the type of the event without the prefix "run."
	Actor     *string         `json:"actor"`
	RequestID *string         `json:"request_id"`
	Text      string          `json:"text"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// messageForms maps event types to forms of messages: the role, the members of the event's data
// that may contain the text, and whether the message includes the data. Events of other types are
// omitted.
var messageForms = map[string]struct {
	role string
	text []string // the first existing member is used
	data bool     // the message includes the event's data
}{
	protocol.RunStarted:             {"system", []string{"command"}, true},
	protocol.RunOutput:              {"assistant", []string{"text"}, false},
	protocol.RunInput:               {"user", []string{"text_redacted"}, false},
	protocol.RunAwaitingInput:       {"system", []string{"prompt", "reason"}, true},
	protocol.RunPermissionRequested: {"assistant", []string{"prompt"}, true},
	protocol.RunPermissionResolved:  {"system", []string{"decision"}, true},
	protocol.RunEmit:                {"assistant", []string{"payload"}, true},
	protocol.ToolCall:               {"assistant", []string{"tool"}, true},
	protocol.ToolResult:             {"system", []string{"error", "tool"}, true},
	protocol.RunExited:              {"system", []string{"exit_code"}, true},
	protocol.RunGap:                 {"system", []string{"reason"}, true},
}

// outputText is the maximum length of a merged output message in bytes.
const outputText = 32 << 10

func (s *Server) messages(w http.ResponseWriter, r *http.Request, who *auth.Identity) {
	_, q, f := s.parsePage(r, who, 1000, 10_000)
	if f != nil {
		httpguard.Fail(w, f)
		return
	}
	limit := q.Limit
	q.Limit = 1000
	for t := range messageForms {
		q.Types = append(q.Types, t)
	}
	all := []*message{}
	for more := true; more && len(all) < limit; {
		var events []*store.Event
		var err error
		if events, more, err = s.store.Page(r.Context(), q); err != nil {
			httpguard.Fail(w, s.failed(err, protocol.Internal))
			return
		}
		for _, e := range events {
			if e.IsSealed() {
				continue // the server cannot read it
			}
			all = add(all, e)
			q.After = e.Seq
		}
	}
	httpguard.Answer(w, http.StatusOK, all[:min(len(all), limit)])
}

// add appends the message of an event. It merges output with the preceding output.
func add(all []*message, e *store.Event) []*message {
	as := messageForms[e.Type]
	m := &message{ID: fmt.Sprintf("%s:%d", e.RunID, e.Seq), Seq: e.Seq, TS: e.TS, Role: as.role, Kind: strings.TrimPrefix(e.Type, "run.")}
	var data map[string]json.RawMessage
	_ = json.Unmarshal(e.Data, &data) // the store has checked that it is an object
	for _, name := range as.text {
		if v, there := data[name]; there {
			m.Text = plain(v)
			break
		}
	}
	if n := len(all); n > 0 && e.Type == protocol.RunOutput && all[n-1].Kind == m.Kind && len(all[n-1].Text)+len(m.Text) <= outputText {
		all[n-1].Text += m.Text
		return all
	}
	for name, at := range map[string]**string{"actor": &m.Actor, "request_id": &m.RequestID} {
		if t := store.Text(e.Data, name); t != "" {
			*at = &t
		}
	}
	if as.data {
		m.Data = e.Data
	}
	return append(all, m)
}

// plain returns a JSON string as text and any other value as JSON.
func plain(v json.RawMessage) string {
	var t string
	if json.Unmarshal(v, &t) == nil {
		return t
	}
	return string(v)
}
