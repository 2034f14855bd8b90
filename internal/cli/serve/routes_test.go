package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/tool/tooltest"
)

// TestRoutes lets a client call its own tools through a session, over each transport. The results
// must be byte for byte those of a Go caller.
func TestRoutes(t *testing.T) {
	for name, connects := range map[string]func(*testing.T, serve.Config) []reads{"stdio": overLines, "ws": overWebSocket, "http": overHTTP} {
		tooltest.Run(t, tooltest.Route{Name: "serve " + name, Open: func(t *testing.T, app *tooltest.App) tooltest.Session {
			c := config(t, nil)
			c.Source, c.Message, c.Drain = true, 16<<20, time.Millisecond // Drain is short because the session does not end by itself
			return newRoute(t, app, connects(t, c))
		}, Lacks: map[string]string{
			"approval edit":   "a client gets the result, not the text for a model",
			"approval nobody": "a client that answers is there",
		}})
	}
}

// reads is a stream of messages from the server. The first stream of a connection also sends
// messages.
type reads struct {
	servetest.Wire
	receive func() ([]byte, error)
}

func overLines(t *testing.T, c serve.Config) []reads {
	p := connect(t, c)
	return []reads{{p, p.Receive}}
}

func overWebSocket(t *testing.T, c serve.Config) []reads {
	x := listen(t, c, serve.Web{Token: token, Loopback: true})
	w, _, err := servetest.WebSocket(t.Context(), x.url, token)
	if err != nil {
		t.Fatal(err)
	}
	return []reads{{w, w.Receive}}
}

func overHTTP(t *testing.T, c serve.Config) []reads {
	x := listen(t, c, serve.Web{Token: token, Loopback: true})
	w := servetest.NewHTTP(t.Context(), x.url, token)
	return []reads{{w, w.Receive}, {w, w.ReceiveAnswer}}
}

// route is a client with a session. The client owns the tools and calls them through the session.
type route struct {
	t       *testing.T
	app     *tooltest.App
	peer    *tooltest.Peer
	session string
	cursor  int64 // number of the session's last read event
	ready   bool  // the program has started to run
}

func newRoute(t *testing.T, app *tooltest.App, from []reads) *route {
	r := &route{t: t, app: app, peer: &tooltest.Peer{Send: from[0].Send}}
	r.peer.Asked = func(_ string, params json.RawMessage) (any, error) {
		var of struct{ Payload json.RawMessage }
		if err := json.Unmarshal(params, &of); err != nil {
			return nil, err
		}
		answer, ok := app.Approve(of.Payload)
		if !ok {
			return nil, errors.New("nobody answers")
		}
		return map[string]any{"value": answer}, nil
	}
	for _, x := range from {
		go func() {
			for text, err := x.receive(); err == nil; text, err = x.receive() {
				r.peer.Handle(text)
			}
		}()
	}
	r.ask("initialize", map[string]any{"protocol": 1, "client": map[string]any{"name": "x", "version": "1"}, "capabilities": map[string]any{"awaits": true}}, nil)
	var specs []tool.Spec
	for _, x := range tooltest.Tools() {
		specs = append(specs, x.Spec())
	}
	r.ask("tools/register", map[string]any{"tools": specs}, nil)
	var made struct {
		SessionID string `json:"session_id"`
	}
	r.ask("sessions/create", map[string]any{"program": map[string]any{"source": "use std::time; fn main() { emit(\"ready\", 1); time::sleep(86400000); }"}}, &made)
	r.session = made.SessionID
	for r.ready = false; !r.ready; {
		r.events()
	}
	return r
}

// ask makes a request that must succeed.
func (r *route) ask(method string, params, result any) {
	r.t.Helper()
	text, err := r.peer.Ask(context.Background(), method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// cancelledError is the error response to a call that the client has cancelled.
const cancelledError = `{"code":-32005,"message":"the client has cancelled the request"}`

func (r *route) Call(ctx context.Context, name string, args json.RawMessage) tooltest.Got {
	text, err := r.peer.Ask(ctx, "tools/call", map[string]any{"name": name, "args": args, "session_id": r.session})
	last := r.events()
	var refused *tooltest.RefusedError
	if errors.As(err, &refused) && string(refused.Text) == cancelledError {
		// The caller receives a protocol error, so the outcome is read from the session's event.
		return tooltest.Got{Text: "tool '" + name + "' was " + last, Failed: true, Outcome: tool.Outcome(last)}
	}
	var result struct {
		Metadata struct{ Concerto tool.Info }
	}
	var whole tool.Result
	if err := errors.Join(err, json.Unmarshal(text, &whole), json.Unmarshal(text, &result)); err != nil {
		return tooltest.Got{Text: err.Error(), Failed: true}
	}
	got, failed := whole.Text()
	if outcome := string(result.Metadata.Concerto.Outcome); last != outcome {
		r.t.Errorf("outcome of the call = %q in the session's event, %q in the result", last, outcome)
	}
	return tooltest.Got{Text: got, Failed: failed, Outcome: result.Metadata.Concerto.Outcome}
}

// events waits until the session has sent at least one event. It passes the events to the
// application and returns the outcome of the last call.
func (r *route) events() (outcome string) {
	var got struct {
		Events []struct {
			Type, Channel, Outcome string
			Payload                json.RawMessage
		}
		Cursor int64
	}
	r.ask("sessions/events", map[string]any{"session_id": r.session, "after": r.cursor, "wait_s": 60}, &got)
	r.cursor = got.Cursor
	for _, e := range got.Events {
		switch e.Type {
		case "emit":
			r.app.Emit(e.Channel, e.Payload)
			r.ready = r.ready || e.Channel == "ready"
		case "tool":
			outcome = e.Outcome
		}
	}
	return outcome
}

func (r *route) Unregister(name string) error {
	text, err := r.peer.Ask(context.Background(), "tools/unregister", map[string]any{"names": []string{name}})
	if err == nil && !strings.Contains(string(text), `"missing":[]`) {
		err = errors.New(string(text))
	}
	return err
}
