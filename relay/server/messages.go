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

// message is an event in the form of a conversation.
type message struct {
	ID        string          `json:"id"`
	Seq       int64           `json:"seq"`
	TS        string          `json:"ts"`
	Role      string          `json:"role"` // user, assistant or system
	Kind      string          `json:"kind"` // the event's type without "run."
	Actor     *string         `json:"actor"`
	RequestID *string         `json:"request_id"`
	Text      string          `json:"text"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// messageForms defines how events become messages: the role, and the members of the data that
// contain the text. Other events are omitted.
var messageForms = map[string]struct {
	role string
	text []string // the first that exists
	data bool     // include the data
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

// outputText limits the text of a merged output message, in bytes.
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
			all = add(all, e)
			q.After = e.Seq
		}
	}
	httpguard.Answer(w, http.StatusOK, all[:min(len(all), limit)])
}

// add adds an event; output is merged with preceding output.
func add(all []*message, e *store.Event) []*message {
	as := messageForms[e.Type]
	m := &message{ID: fmt.Sprintf("%s:%d", e.RunID, e.Seq), Seq: e.Seq, TS: e.TS, Role: as.role, Kind: strings.TrimPrefix(e.Type, "run.")}
	var data map[string]json.RawMessage
	_ = json.Unmarshal(e.Data, &data) // encrypted data cannot be read
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

// plain returns a string as it is and other values as JSON.
func plain(v json.RawMessage) string {
	var t string
	if json.Unmarshal(v, &t) == nil {
		return t
	}
	return string(v)
}
