package lsp

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// editor is a test client in the same synctest bubble as the server. The clock of the bubble only
// advances while all goroutines wait.
type editor struct {
	t           *testing.T
	in          *io.PipeWriter
	client      *lsptest.Client
	received    []*lsptest.Message // notifications and requests of the server, in order
	code        chan int
	stderr, log strings.Builder
}

// runInBubble runs a test with a server in a synctest bubble.
func runInBubble(t *testing.T, o Options, play func(e *editor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		r, out := io.Pipe()
		e := &editor{t: t, in: w, code: make(chan int, 1)}
		o.In, o.Out, o.Err, o.Log, o.CheckSync = in, out, &e.stderr, &e.log, true
		go func() {
			e.code <- Serve(t.Context(), o)
			in.Close()
			out.Close()
		}()
		e.client = lsptest.New(w, r)
		e.client.OnMessage = func(m *lsptest.Message) { e.received = append(e.received, m) }
		play(e)
		w.Close()
		synctest.Wait()
	})
}

func (e *editor) sendRaw(text string) {
	if _, err := io.WriteString(e.in, text); err != nil {
		e.t.Errorf("write: %v", err)
	}
}

// notify sends a notification.
func (e *editor) notify(method string, params any) {
	if err := e.client.Notify(method, params); err != nil {
		e.t.Errorf("write: %v", err)
	}
}

// startRequest sends a request and returns its id.
func (e *editor) startRequest(method string, params any) json.RawMessage {
	id, err := e.client.Begin(method, params)
	if err != nil {
		e.t.Errorf("write: %v", err)
	}
	return id
}

// await returns the response to a request.
func (e *editor) await(id json.RawMessage) *lsptest.Message {
	e.t.Helper()
	m, err := e.client.Await(id)
	if err != nil {
		e.t.Fatalf("no response to %s: %v", id, err)
	}
	return m
}

// drain handles the server's messages until the server sends no more.
func (e *editor) drain() {
	for before := -1; before != len(e.received); {
		before = len(e.received)
		synctest.Wait()
		if _, err := e.client.Drain(); err != nil {
			e.t.Errorf("write: %v", err)
		}
	}
}

// request sends a request and decodes its result into into, unless into is nil.
func (e *editor) request(method string, params, into any) *lsptest.Message {
	e.t.Helper()
	m := e.await(e.startRequest(method, params))
	if into != nil {
		if m.Error != nil {
			e.t.Fatalf("%s: %v", method, m.Error)
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			e.t.Fatalf("%s: %v", method, err)
		}
	}
	return m
}

// expectError checks that a response is an error with this code.
func (e *editor) expectError(m *lsptest.Message, code int) {
	e.t.Helper()
	if m.Error == nil || m.Error.Code != code {
		e.t.Errorf("response = %s, error %v; want error code %d", m.Result, m.Error, code)
	}
}

// start initializes the server for a directory and returns the result of initialize.
func (e *editor) start(dir string, capabilities any) (result map[string]any) {
	e.t.Helper()
	e.request(protocol.MethodInitialize, map[string]any{"processId": nil, "rootUri": fileURI(dir), "capabilities": capabilities}, &result)
	e.notify(protocol.MethodInitialized, struct{}{})
	e.drain()
	return result
}

func (e *editor) open(uri protocol.DocumentURI, text string) {
	e.notify(protocol.MethodTextDocumentDidOpen, map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": "concerto", "version": 1, "text": text}})
}

// edit replaces the whole text of a document.
func (e *editor) edit(uri protocol.DocumentURI, version int, text string) {
	e.notify(protocol.MethodTextDocumentDidChange, map[string]any{"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": []any{map[string]any{"text": text}}})
}

// published removes and returns, in order, the received diagnostics of a document.
func (e *editor) published(uri protocol.DocumentURI) (all []protocol.PublishDiagnosticsParams) {
	e.t.Helper()
	e.drain()
	var rest []*lsptest.Message
	for _, m := range e.received {
		var p protocol.PublishDiagnosticsParams
		if m.Method != protocol.MethodTextDocumentPublishDiagnostics {
			rest = append(rest, m)
			continue
		}
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.t.Fatal(err)
		}
		if p.URI == uri {
			all = append(all, p)
		} else {
			rest = append(rest, m)
		}
	}
	e.received = rest
	return all
}

// countReceived returns the number of received messages with a method.
func (e *editor) countReceived(method string) (n int) {
	e.drain()
	for _, m := range e.received {
		if m.Method == method {
			n++
		}
	}
	return n
}
