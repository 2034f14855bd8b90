package connect

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestLink connects to a server and subscribes to a run. Run must pass the welcome and the
// subscribed events to the handler. It must return the error of the handler, and a refusedError
// when the token is revoked.
func TestLink(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("desk", protocol.HelloData{Protocol: 2, Agent: "t/1", Instance: "i", Epoch: new(int64)})
	h.Begin("run_a")
	var c *ServerLink
	c = newLink(linkOptions{Server: r.URL, Token: servertest.Operator, Agent: "t/1", Begin: func(ctx context.Context) error {
		return c.Send(ctx, protocol.RunSubscribe, "", "s", protocol.Subscribe{Cursor: map[string]int64{"run_a": 0}, Rest: "none"})
	}})
	if err := c.Send(t.Context(), protocol.RunSubscribe, "", "", protocol.Subscribe{}); !errors.Is(err, errAway) {
		t.Errorf("send without a connection: error = %v, want errAway", err)
	}
	enough := errors.New("enough")
	var types []string
	err := c.Run(t.Context(), func(e protocol.Envelope) error {
		if types = append(types, e.Type); e.Type == protocol.CaughtUp && e.Re == "s" {
			return enough
		}
		return nil
	})
	if got := strings.Join(types, " "); err != enough || got != "welcome run.started run.caught_up" {
		t.Errorf("error = %v, messages = %s", err, got)
	}

	err = c.Run(t.Context(), func(e protocol.Envelope) error {
		if e.Type == protocol.CaughtUp {
			r.Auth.End(servertest.Operator)
		}
		return nil
	})
	var refused *refusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "has ended, or was revoked") {
		t.Errorf("error when the token is revoked = %v, want a refusedError", err)
	}
	err = c.Run(t.Context(), func(protocol.Envelope) error { return nil })
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "did not accept the access token") {
		t.Errorf("error of a new connection with a revoked token = %v, want a refusedError", err)
	}
}

// TestLinkElsewhere connects to addresses where no relay's server is. Run must return an error and
// not retry.
func TestLinkElsewhere(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{200: "check that it is a relay's server", 404: "check that it is a relay's server", 403: "refuses", 502: "answered 502"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		err := newLink(linkOptions{Server: s.URL}).Run(t.Context(), nil)
		s.Close()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error for a server with status %d = %v, want it to contain %q", status, err, want)
		}
	}
	// Port 1 has no server. The port of a closed test server could already be in use by another
	// test.
	if err := newLink(linkOptions{Server: "http://127.0.0.1:1"}).Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error at an address without a server = %v, want connection refused", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := errors.New("gone")
	cancel(cancelled)
	if err := newLink(linkOptions{Server: "http://127.0.0.1:1"}).Run(ctx, nil); err != cancelled {
		t.Errorf("error with a cancelled context = %v, want its cause", err)
	}
}
