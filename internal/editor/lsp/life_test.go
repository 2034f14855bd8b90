package lsp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

func TestLifecycle(t *testing.T) {
	runInBubble(t, Options{}, func(e *editor) {
		e.expectError(e.request(protocol.MethodTextDocumentFormatting, nil, nil), codeNotInitialized)
		e.notify(protocol.MethodTextDocumentDidOpen, nil) // ignored before initialize
		e.start(t.TempDir(), struct{}{})
		e.expectError(e.request(protocol.MethodInitialize, map[string]any{"capabilities": struct{}{}}, nil), codeInvalidRequest)
		e.expectError(e.request("concerto/nothing", nil, nil), codeMethodNotFound)
		e.notify("concerto/nothing", nil)
		e.expectError(e.request(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": 5}, nil), codeInvalidParams)
		e.expectError(e.request(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": struct{}{}, "options": struct{}{}}, nil), codeInvalidParams)
		e.expectError(e.request(protocol.MethodTextDocumentFormatting, []int{1}, nil), codeInvalidParams)
		e.sendRaw(string(frame.Encode([]byte("{no json"))))
		e.expectError(e.await(null), codeParse)
		e.sendRaw(string(frame.Encode([]byte("[]"))))
		e.expectError(e.await(null), codeInvalidRequest)
		e.sendRaw(string(frame.Encode([]byte(`{"id": {}, "method": "x"}`))))
		e.expectError(e.await(null), codeInvalidRequest)
		if m := e.request(protocol.MethodShutdown, nil, nil); string(m.Result) != "null" {
			t.Errorf("result of shutdown = %s, want null", m.Result)
		}
		e.expectError(e.request(protocol.MethodShutdown, nil, nil), codeInvalidRequest)
		e.expectError(e.request(protocol.MethodTextDocumentFormatting, nil, nil), codeInvalidRequest)
		e.notify(protocol.MethodExit, nil)
		if code := <-e.code; code != 0 || e.stderr.Len() > 0 {
			t.Errorf("exit code %d, stderr %q", code, e.stderr.String())
		}
	})
}

// TestServerExitCodes checks the exit code for clients that disconnect. Without an exit
// notification the code is 1. An invalid frame is reported on stderr.
func TestServerExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		play    func(e *editor)
		message string
	}{
		"exit without shutdown": {func(e *editor) { e.notify(protocol.MethodExit, nil) }, ""},
		"end of input":          {func(e *editor) { e.in.Close() }, ""},
		"within a header":       {func(e *editor) { e.sendRaw("Content-Len"); e.in.Close() }, "concerto lsp: read from the client: unexpected EOF\n"},
		"within a message":      {func(e *editor) { e.sendRaw("Content-Length: 10\r\n\r\n{}"); e.in.Close() }, "concerto lsp: read from the client: unexpected EOF\n"},
		"no length":             {func(e *editor) { e.sendRaw("Content-Type: x\r\n\r\n{}") }, "concerto lsp: a header has no Content-Length\n"},
		"no number":             {func(e *editor) { e.sendRaw("Content-Length: -3\r\n\r\n{}") }, "concerto lsp: \"-3\" is not a length: Content-Length is the number of bytes that follow\n"},
		"no header":             {func(e *editor) { e.sendRaw("hello\r\n") }, "concerto lsp: \"hello\" is not a header; a message begins with `Content-Length: N`\n"},
		"too long":              {func(e *editor) { e.sendRaw("content-length: 67108865\r\n\r\n") }, "concerto lsp: a message has 67108865 bytes, more than the maximum of 67108864\n"},
		"an endless header":     {func(e *editor) { go e.in.Write([]byte(strings.Repeat("x", 2*frame.MaxHeader))) }, "concerto lsp: a header is longer than 8192 bytes; a message begins with `Content-Length: N`\n"},
	} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, Options{}, func(e *editor) {
				c.play(e)
				if code := <-e.code; code != 1 || e.stderr.String() != c.message {
					t.Errorf("exit code %d, stderr %q, want %q", code, e.stderr.String(), c.message)
				}
			})
		})
	}
}

// TestServerExitsWithoutClient checks that the server exits within a second after the client's
// process has exited.
func TestServerExitsWithoutClient(t *testing.T) {
	exited := make(chan struct{})
	runInBubble(t, Options{Alive: func(pid int) bool {
		select {
		case <-exited:
			return pid != 77
		default:
			return true
		}
	}}, func(e *editor) {
		e.request(protocol.MethodInitialize, map[string]any{"processId": 77, "rootUri": nil, "capabilities": struct{}{}}, nil)
		time.Sleep(10 * time.Second)
		close(exited)
		began := time.Now()
		if code := <-e.code; code != 1 || time.Since(began) > time.Second {
			t.Errorf("exit code = %d after %v", code, time.Since(began))
		}
	})
}

// TestUnexpectedResponses sends responses without a request and unusual ids. The server continues.
func TestUnexpectedResponses(t *testing.T) {
	runInBubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		e.sendRaw(string(frame.Encode([]byte(`{"id": 5, "result": 1}`))))
		e.sendRaw(string(frame.Encode([]byte(`{"id": null, "error": {"code": 1, "message": "x"}}`))))
		e.expectError(e.request("x", nil, nil), codeMethodNotFound)
		synctest.Wait()
	})
}
