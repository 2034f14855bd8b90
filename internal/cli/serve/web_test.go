package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
)

const token = "a-long-secret"

// site is a server that listens for HTTP.
type site struct {
	url   string
	end   context.CancelCauseFunc
	ended chan error
}

func listen(t *testing.T, c serve.Config, w serve.Web) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	x := &site{"http://" + l.Addr().String(), cancel, make(chan error, 1)}
	done := make(chan struct{})
	go func() {
		x.ended <- serve.New(c).ServeHTTP(ctx, l, w)
		close(done)
	}()
	t.Cleanup(func() {
		cancel(errors.New("the test has ended"))
		<-done
	})
	return x
}

// TestConversationsOverHTTP plays conversations of testdata over WebSocket and HTTP. The
// conversation errors contains invalid messages and messages before `initialize`, so it is played
// only over WebSocket.
func TestConversationsOverHTTP(t *testing.T) {
	for _, name := range []string{"example", "tools", "sessions", "errors"} {
		for _, over := range []string{"ws", "http"} {
			if name == "errors" && over == "http" {
				continue
			}
			t.Run(name+"/"+over, func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
				if err != nil {
					t.Fatal(err)
				}
				files := map[string]string{}
				for _, f := range archive.Files {
					files[f.Name] = string(f.Data)
				}
				c := config(t, files)
				c.Source = true
				x := listen(t, c, serve.Web{Token: token, Loopback: true})
				before, after, _ := strings.Cut(string(archive.Comment), servetest.End)
				converse(t, x, over, before, after)
			})
		}
	}
}

func converse(t *testing.T, x *site, over, before, after string) {
	t.Helper()
	var wire servetest.Wire = servetest.NewHTTP(t.Context(), x.url, token)
	if over == "ws" {
		var conn *websocket.Conn
		var err error
		if wire, conn, err = servetest.WebSocket(t.Context(), x.url, token); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.CloseNow() }()
	}
	talk := servetest.New()
	if err := talk.Play(wire, before); err != nil {
		t.Fatal(err)
	}
	x.end(errors.New("the input has ended"))
	if err := talk.Play(wire, after); err != nil {
		t.Fatal(err)
	}
	if text, err := wire.Receive(); err != io.EOF {
		t.Errorf("unexpected message after the conversation: %s (error %v), want io.EOF", text, err)
	}
	if err := <-x.ended; err != nil {
		t.Error(err)
	}
}

// TestGuard checks that the server rejects a caller without permission before it reads the message.
func TestGuard(t *testing.T) {
	c := config(t, nil)
	c.Message = 2000
	x := listen(t, c, serve.Web{Token: token, Loopback: true, Origins: []string{"https://shop.example"}})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, test := range []struct {
		name, method, path, body string
		header                   []string
		status                   int
		want                     string
	}{
		{"no token", "POST", "/rpc", ping, []string{"Authorization", ""}, 401, "bearer token"},
		{"another token", "POST", "/rpc", ping, []string{"Authorization", "Bearer a-long-secreT"}, 401, "bearer token"},
		{"no token for events", "GET", "/events", "", []string{"Authorization", "Basic a-long-secret"}, 401, "bearer token"},
		{"no token for a session", "GET", "/sessions/r_x/events", "", []string{"Authorization", ""}, 401, "bearer token"},
		{"no token for a socket", "GET", "/ws", "", []string{"Authorization", "", "Sec-WebSocket-Protocol", "concerto.v1, bearer.no"}, 401, "bearer token"},
		{"health without a token", "GET", "/healthz", "", []string{"Authorization", ""}, 200, "ok"},
		{"ready without a token", "GET", "/readyz", "", []string{"Authorization", ""}, 200, "ok"},
		{"a page of elsewhere", "POST", "/rpc", ping, []string{"Origin", "https://evil.example"}, 403, "https://evil.example may not call"},
		{"a page of a file", "GET", "/healthz", "", []string{"Origin", "null"}, 403, "null may not call"},
		{"a page that may", "POST", "/rpc", ping, []string{"Origin", "https://shop.example"}, 200, "-32001"},
		{"a page of its own", "POST", "/rpc", ping, []string{"Origin", x.url}, 200, "-32001"},
		{"a page asks before", "OPTIONS", "/rpc", "", []string{"Origin", "https://shop.example", "Authorization", ""}, 204, ""},
		{"another host", "POST", "/rpc", ping, []string{"Host", "evil.example:80"}, 403, "unknown host evil.example:80"},
		{"this machine", "POST", "/rpc", ping, []string{"Host", "localhost:1"}, 200, "-32001"},
		{"no content type", "POST", "/rpc", ping, []string{"Content-Type", ""}, 415, "application/json"},
		{"a form", "POST", "/rpc", ping, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"with its characters", "POST", "/rpc", ping, []string{"Content-Type", "application/json; charset=utf-8"}, 200, "-32001"},
		{"too large", "POST", "/rpc", strings.Repeat(" ", 3000), nil, 413, `"code":-32004,"message":"the message is longer than 2000 bytes","data":{"limit":"max_message"}`},
		{"no client", "POST", "/rpc", ping, nil, 200, "missing header Concerto-Client"},
		{"an unknown client", "POST", "/rpc", ping, []string{"Concerto-Client", "c_none"}, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"unknown client 'c_none'`},
		{"an unknown client's events", "GET", "/events", "", []string{"Concerto-Client", "c_none"}, 404, "-32001"},
		{"no JSON", "POST", "/rpc", "{", nil, 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700`},
		{"no session", "GET", "/sessions/r_none/events", "", nil, 404, "-32022"},
		{"another method", "GET", "/rpc", "", nil, 405, ""},
		{"another path", "GET", "/", "", nil, 404, ""},
		{"no subprotocol", "GET", "/ws", "", nil, 400, "concerto.v1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := servetest.NewHTTP(t.Context(), x.url, token).Request(test.method, test.path, test.body, test.header...)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Body.Close() }()
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != test.status || !strings.Contains(string(body), test.want) {
				t.Errorf("status %d, body %s, error %v", r.StatusCode, body, err)
			}
			if o := r.Header.Get("Access-Control-Allow-Origin"); (o != "") != (test.header != nil && test.header[0] == "Origin" && test.status < 300) {
				t.Errorf("header Access-Control-Allow-Origin = %q", o)
			}
		})
	}
}

// TestReady checks that a server that is stopping reports that it is not ready, and creates no
// sessions.
func TestReady(t *testing.T) {
	x := listen(t, config(t, map[string]string{"main.conc": `fn main() { println(await emit<String>("go", 1)?); }`}), serve.Web{Token: token})
	h := servetest.NewHTTP(t.Context(), x.url, token)
	talk := servetest.New()
	play(t, talk, h, `
→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"},"capabilities":{"awaits":true}}}
← {"jsonrpc":"2.0","id":1,"result":"…"}
→ {"jsonrpc":"2.0","id":2,"method":"sessions/create","params":{"program":{"path":"main.conc"}}}
← {"jsonrpc":"2.0","id":2,"result":{"session_id":"$session","state":"running","cursor":0}}
← {"jsonrpc":"2.0","method":"session/event","params":"…"}
← {"jsonrpc":"2.0","method":"session/event","params":"…"}
← {"jsonrpc":"2.0","id":"r1","method":"emit/await","params":"…"}
→ {"jsonrpc":"2.0","id":3,"method":"shutdown"}
← {"jsonrpc":"2.0","id":3,"result":{}}
`)
	for status := 200; status != 503; {
		r, err := h.Request("GET", "/readyz", "")
		if err != nil {
			t.Fatal(err)
		}
		status = r.StatusCode
		_ = r.Body.Close()
	}
	play(t, talk, h, `
→ {"jsonrpc":"2.0","id":4,"method":"sessions/create","params":{"program":{"path":"main.conc"}}}
← {"jsonrpc":"2.0","id":4,"error":{"code":-32003,"message":"the server is shutting down"}}
→ {"jsonrpc":"2.0","id":"r1","result":{"value":"on"}}
← {"jsonrpc":"2.0","method":"session/event","params":{"session_id":"$session","seq":3,"ts":"…","type":"print","text":"on\n"}}
← {"jsonrpc":"2.0","method":"session/event","params":{"session_id":"$session","seq":4,"ts":"…","type":"state","state":"done","result":null,"usage":"…"}}
← {"jsonrpc":"2.0","method":"server/stopping","params":{"reason":"requested by a client"}}
`)
	if err := <-x.ended; err != nil {
		t.Error(err)
	}
}

func play(t *testing.T, talk *servetest.Conversation, w servetest.Wire, part string) {
	t.Helper()
	if err := talk.Play(w, part); err != nil {
		t.Fatal(err)
	}
}
