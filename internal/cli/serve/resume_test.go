package serve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/internal/cli/serve"
	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
)

const hello = `
→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"},"capabilities":{"awaits":true}}}
← {"jsonrpc":"2.0","id":1,"result":{"protocol":1,"server":"…","client_id":"$client","cursor":0,"limits":"…"}}
`

func dial(t *testing.T, x *site) (servetest.Wire, *websocket.Conn) {
	t.Helper()
	w, conn, err := servetest.WebSocket(t.Context(), x.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return w, conn
}

// TestResume checks that a client that reconnects receives the messages that it has missed: events,
// responses and requests, with their original numbers and ids.
func TestResume(t *testing.T) {
	x := listen(t, config(t, map[string]string{"main.conc": `fn main() {
	emit("a", dispatch_tool("t", {}));
	println(await emit<String>("go", 1)?);
}`}), serve.Web{Token: token})
	talk := servetest.New()
	w, conn := dial(t, x)
	play(t, talk, w, hello+`
→ {"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"t","description":"T"}]}}
← {"jsonrpc":"2.0","id":2,"result":{"registered":["t@1"]}}
→ {"jsonrpc":"2.0","id":3,"method":"sessions/create","params":{"program":{"path":"main.conc"}}}
← {"jsonrpc":"2.0","id":3,"result":{"session_id":"$session","state":"running","cursor":0}}
← {"jsonrpc":"2.0","method":"session/event","params":{"session_id":"$session","seq":1,"ts":"…","type":"state","state":"running"}}
← {"jsonrpc":"2.0","method":"session/event","params":{"session_id":"$session","seq":2,"ts":"…","type":"tool","phase":"start","call_id":"$call","tool":"t","by":"main","route":"dispatch"}}
← {"jsonrpc":"2.0","id":"r1","method":"tool/call","params":"…"}
→ {"jsonrpc":"2.0","id":4,"method":"sessions/events","params":{"session_id":"$session","after":2,"wait_s":60}}
→ {"jsonrpc":"2.0","id":5,"method":"ping"}
← {"jsonrpc":"2.0","id":5,"result":{}}
`) // the response to the ping shows that the server has read both requests
	_ = conn.CloseNow() // simulates a broken connection
	w, conn = dial(t, x)
	play(t, talk, w, `
→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"},"resume":{"client_id":"$client","after":4}}}
← {"jsonrpc":"2.0","id":1,"result":{"protocol":1,"server":"…","client_id":"$client","cursor":4,"limits":"…"}}
← {"jsonrpc":"2.0","id":"r1","method":"tool/call","params":"…"}
← {"jsonrpc":"2.0","id":5,"result":{}}
→ {"jsonrpc":"2.0","id":"r1","result":{"success":true,"output":5}}
`)
	h := servetest.NewHTTP(t.Context(), x.url, token)
	// This request returns when the tool call has ended, so the server has read the tool's answer.
	// Data that the server has not yet read from a connection would be lost when the next
	// connection replaces it.
	response, err := h.Request("POST", "/rpc", `{"jsonrpc":"2.0","id":9,"method":"sessions/events","params":{"session_id":"`+talk.Value("$session")+`","after":2,"limit":1,"wait_s":60}}`,
		"Concerto-Client", talk.Value("$client"))
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	if text, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(text), `"phase":"end"`) {
		t.Fatalf("sessions/events returned %s (error %v), want the end of the tool call", text, err)
	}
	w2, _ := dial(t, x)
	play(t, talk, w2, `
→ {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol":1,"client":{"name":"x","version":"1"},"resume":{"client_id":"$client","after":6}}}
← {"jsonrpc":"2.0","id":1,"result":{"protocol":1,"server":"…","client_id":"$client","cursor":6,"limits":"…"}}
← {"jsonrpc":"2.0","method":"session/event","params":{"session_id":"$session","seq":3,"ts":"…","type":"tool","phase":"end","call_id":"$call","tool":"t","by":"main","route":"dispatch","outcome":"ok","duration_ms":"…"}}
`)
	for err := error(nil); err == nil; { // the server has closed the previous connection
		_, _, err = conn.Read(t.Context())
	}
	events := []string{}
	r, err := h.Request("GET", "/events", "", "Concerto-Client", talk.Value("$client"), "Last-Event-ID", "7")
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r, err)
	}
	err = servetest.Events(r.Body, func(id string, data []byte) {
		events = append(events, id+" "+string(data))
		if strings.Contains(string(data), `"id":"r2"`) {
			_, _ = h.Request("POST", "/rpc", `{"jsonrpc":"2.0","id":"r2","result":{"value":"on"}}`, "Concerto-Client", talk.Value("$client"))
			x.end(fmt.Errorf("enough"))
		}
	})
	if err != io.EOF {
		t.Error(err)
	}
	text := strings.Join(events, "\n")
	for i, want := range []string{`"type":"emit","channel":"a","payload":5`, `"id":4,"result":{"events":[`, `"id":"r2","method":"emit/await"`, `"type":"print","text":"on\n"`, `"state":"done"`, `"reason":"enough"`} {
		if !strings.Contains(text, want) {
			t.Errorf("event %d: %s is missing in\n%s", i, want, text)
		}
	}
	if !strings.HasPrefix(events[0], "8 ") {
		t.Errorf("first event = %s, want number 8", events[0])
	}
}

// TestClientDisconnects checks what happens if a client does not reconnect. Requests to the client
// fail and its tools are removed. Its sessions are cancelled, unless they were created to continue.
func TestClientDisconnects(t *testing.T) {
	c := config(t, map[string]string{
		"main.conc": `fn main() {
	emit("before", 1);
	try { dispatch_tool("t", {}); } catch ToolError(e) { emit(e.reason, e.message); }
	match await emit<String>("go", 1) { Ok(v) => emit("no", v), Err(e) => emit(e.reason, e.message) }
}`,
		"waits.conc": `use std::time; fn main() { println("waiting"); time::sleep(86400000); }`,
	})
	c.Grace = time.Millisecond
	x := listen(t, c, serve.Web{Token: token})
	w, conn := dial(t, x)
	talk, other := servetest.New(), servetest.New()
	o, _ := dial(t, x)
	play(t, other, o, hello)
	play(t, talk, w, hello+`
→ {"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"t","description":"T"}]}}
← {"jsonrpc":"2.0","id":2,"result":{"registered":["t@1"]}}
→ {"jsonrpc":"2.0","id":3,"method":"sessions/create","params":{"program":{"path":"main.conc"},"linger_s":null}}
← {"jsonrpc":"2.0","id":3,"result":{"session_id":"$session","state":"running","cursor":0}}
← {"jsonrpc":"2.0","method":"session/event","params":"…"}
← {"jsonrpc":"2.0","method":"session/event","params":"…"}
← {"jsonrpc":"2.0","method":"session/event","params":"…"}
← {"jsonrpc":"2.0","id":"r1","method":"tool/call","params":"…"}
→ {"jsonrpc":"2.0","id":4,"method":"sessions/create","params":{"program":{"path":"waits.conc"},"subscribe":false,"linger_s":0.001}}
← {"jsonrpc":"2.0","id":4,"result":{"session_id":"$short","state":"running","cursor":0}}
`)
	session, short := talk.Value("$session"), talk.Value("$short")
	play(t, other, o, `
← {"jsonrpc":"2.0","method":"tools/changed","params":{"revision":1}}
`) // read this notification first, because of several unsent ones only the last is sent
	_ = conn.CloseNow()
	play(t, other, o, `
← {"jsonrpc":"2.0","method":"tools/changed","params":{"revision":2}}
`)
	events := sessionEvents(t, x, session, "")
	for _, want := range []string{`"outcome":"unavailable"`, `"channel":"unavailable","payload":"tool 't'`, `"channel":"no_listener"`, `"state":"done"`} {
		if !strings.Contains(events, want) {
			t.Errorf("%s is missing in the events\n%s", want, events)
		}
	}
	// Whether the session has printed before it was cancelled depends on timing.
	if got := sessionEvents(t, x, short, ""); !strings.Contains(got, `"state":"cancelled","error":{"kind":"cancelled","message":"its client has disconnected"`) {
		t.Errorf("events of the other session = %s, want that it is cancelled", got)
	}
	play(t, other, o, `
→ {"jsonrpc":"2.0","id":10,"method":"tools/list"}
← {"jsonrpc":"2.0","id":10,"result":{"tools":[]}}
`)
}

// sessionEvents returns the complete event stream of a session.
func sessionEvents(t *testing.T, x *site, id, after string) string {
	t.Helper()
	r, err := servetest.NewHTTP(t.Context(), x.url, token).Request("GET", "/sessions/"+id+"/events?after="+after, "")
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r, err)
	}
	defer func() { _ = r.Body.Close() }()
	var b strings.Builder
	if err := servetest.Events(r.Body, func(id string, data []byte) { fmt.Fprintf(&b, "%s %s\n", id, data) }); err != io.EOF {
		t.Error(err)
	}
	return b.String()
}

// TestSlowReader checks that the server disconnects a client that does not read. The program does
// not wait for the client. Events that are no longer stored are replaced by a gap event.
func TestSlowReader(t *testing.T) {
	c := config(t, map[string]string{"main.conc": `fn main() {
	let text = "x".repeat(20000);
	for i in 0..1500 { emit("a", text); }
	emit("last", 1);
}`})
	c.Slow = time.Millisecond
	cut := make(chan string, 10)
	c.Log = func(_, message string) { cut <- message }
	x := listen(t, c, serve.Web{Token: token})
	w, conn := dial(t, x)
	talk := servetest.New()
	play(t, talk, w, hello+`
→ {"jsonrpc":"2.0","id":3,"method":"sessions/create","params":{"program":{"path":"main.conc"},"linger_s":null}}
← {"jsonrpc":"2.0","id":3,"result":{"session_id":"$session","state":"running","cursor":0}}
`)
	o, _ := dial(t, x)
	other := servetest.New()
	play(t, other, o, hello)
	// The program finishes although no client reads.
	events := sessionEvents(t, x, talk.Value("$session"), "1501")
	if !strings.Contains(events, `"channel":"last"`) || !strings.HasSuffix(strings.TrimSpace(events), "}}") {
		t.Errorf("last events of the session = %.300s", events)
	}
	all := sessionEvents(t, x, talk.Value("$session"), "0")
	first, _, _ := strings.Cut(all, "\n")
	if !strings.Contains(first, `"type":"gap","from":1,"to":`) {
		t.Errorf("first event = %.300s, want a gap", first)
	}
	if why := <-cut; !strings.Contains(why, "does not read") {
		t.Error(why)
	}
	var err error
	n := 0
	for ; err == nil; n++ {
		_, _, err = conn.Read(t.Context())
	}
	// The server sends the reason for closing only if the client begins to read within five
	// seconds.
	if status := websocket.CloseStatus(err); status != websocket.StatusTryAgainLater && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		t.Errorf("the connection was closed after %d messages with status %v: %v", n, status, err)
	}
}

// TestFlood checks that the number of a client's running requests is limited.
func TestFlood(t *testing.T) {
	c := config(t, nil)
	x := listen(t, c, serve.Web{Token: token})
	w, _ := dial(t, x)
	talk := servetest.New()
	play(t, talk, w, hello+`
→ {"jsonrpc":"2.0","id":2,"method":"tools/register","params":{"tools":[{"name":"t","description":"T"}]}}
← {"jsonrpc":"2.0","id":2,"result":{"registered":["t@1"]}}
`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range 1001 {
		if err := w.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"a%d","method":"tools/call","params":{"name":"t"}}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < 1001 && ctx.Err() == nil; i++ {
		text, err := w.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"id":"a1000","error":{"code":-32004,"message":"this client has 1000 running requests`) {
			return
		}
	}
	t.Error("the server did not reject the request beyond the limit")
}
