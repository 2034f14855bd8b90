package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// protocol is the version of the protocol that the server implements.
const protocol = 1

// hello contains the parameters of initialize.
type hello struct {
	Protocol     int            `json:"protocol"`
	Client       map[string]any `json:"client"`
	Capabilities map[string]any `json:"capabilities,omitempty"`
	Resume       *struct {
		ClientID string `json:"client_id"`
		After    int64  `json:"after"`
	} `json:"resume,omitempty"`
}

var helloForm = sync.OnceValue(func() form { return formOf(reflect.TypeFor[hello]()) })

// welcome is the result of initialize.
type welcome struct {
	Protocol int `json:"protocol"`
	Server   struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"server"`
	ClientID string `json:"client_id"`
	Cursor   int64  `json:"cursor"`
	Limits   struct {
		Message  int `json:"max_message"`
		Sessions int `json:"max_sessions"`
	} `json:"limits"`
}

// initialize creates a client, or returns the client that the message resumes. resumes is true if
// the transport supports resuming.
func (s *Server) initialize(m *message, resumes bool) (c *client, w *welcome, err *Error) {
	if m.kind() != isRequest || *m.Method != "initialize" {
		return nil, nil, failure(codeNotInitialized, "the first request must be `initialize`")
	}
	var h hello
	if err := helloForm().read(m.Params, &h); err != nil {
		return nil, nil, err
	}
	if h.Protocol != protocol {
		return nil, nil, badParam("protocol", "unsupported version %d; this server supports %d", h.Protocol, protocol)
	}
	awaits, render, err := h.capabilities()
	if err != nil {
		return nil, nil, err
	}
	if h.Resume == nil {
		c, err = s.newClient(awaits, render, resumes)
	} else if c = s.client(h.Resume.ClientID); c == nil || !resumes {
		return nil, nil, failure(codeNotInitialized, "unknown client '%s': call `initialize` without `resume`", h.Resume.ClientID)
	}
	if err != nil {
		return nil, nil, err
	}
	w = &welcome{Protocol: protocol, ClientID: c.id}
	if h.Resume != nil {
		w.Cursor = c.resumed(h.Resume.After)
	}
	w.Server.Name, w.Server.Version = "concerto", s.config.Version
	w.Limits.Message, w.Limits.Sessions = s.config.Message, s.config.Sessions
	return c, w, nil
}

// resumed sets the number of the message after which the client's next stream begins. It returns
// that number.
func (c *client) resumed(after int64) int64 {
	at := max(0, min(after, c.out.Last()))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begins = at
	return at
}

// capabilities returns the capabilities that this version knows. It ignores all others.
func (h *hello) capabilities() (awaits bool, render []string, err *Error) {
	for _, x := range []struct {
		name string
		to   any
		want string
	}{{"awaits", &awaits, "boolean"}, {"render", &render, "array of strings"}} {
		v, isSet := h.Capabilities[x.name]
		if isSet && json.Unmarshal(encode(v), x.to) != nil {
			return false, nil, badParam("capabilities."+x.name, "expected %s, got %s", x.want, encode(v))
		}
	}
	return awaits, render, nil
}

func (s *Server) newClient(awaits bool, render []string, resumes bool) (*client, *Error) {
	if s.Stopping() {
		return nil, errStopping()
	}
	c := &client{srv: s, id: "c_" + newID(), awaits: awaits, render: render, out: newOutbox(resumes), closing: make(chan struct{}), questions: map[string]*question{},
		working: map[string]context.CancelCauseFunc{}, serving: map[string]*tool.Context{}, subs: map[*session]*subscription{}}
	var err error
	c.tools, err = s.config.Tools.OpenWith(s.ctx, tool.Context{SessionID: c.id, Cwd: s.config.Roots[0], Caller: c.owner(), Route: tool.RouteClient, Render: render}, tool.Hooks{
		World: tool.World{Environ: slices.Concat([]string{}, s.config.Environ), Run: s.run, Stderr: func(tool, line string) { s.log("info", tool+": "+line) }},
		Log:   func(level, message string) { s.log(level, c.owner()+": "+message) }, Approve: c.approve, Audit: s.auditor(), Emit: c.dropEvent})
	if err != nil {
		return nil, failure(codeInternal, "%v", err)
	}
	if err := s.enter(c); err != nil {
		_ = c.tools.Close() // the client's tools have no running calls
		return nil, err
	}
	return c, nil
}

// approve asks the client to approve a call that the client made outside a session.
func (c *client) approve(ctx context.Context, q *tool.Question) (json.RawMessage, audit.Actor, error) {
	if !c.awaits {
		return nil, audit.Actor{}, tool.ErrNoApprover
	}
	payload, err := json.Marshal(q)
	if err != nil {
		return nil, audit.Actor{}, err
	}
	value, err := c.askAwaited(ctx, "", 0, tool.ApprovalChannel, payload)
	return value, audit.Actor{Type: "application", Name: c.owner()}, err
}

// dropEvent drops an event of a tool that was called outside a session, because such a call has no
// subscribers.
func (c *client) dropEvent(channel string, payload json.RawMessage) {
	c.srv.log("debug", fmt.Sprintf("%s: [%s] %s", c.owner(), channel, payload))
}
