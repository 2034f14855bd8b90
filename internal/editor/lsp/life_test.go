package lsp

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/editor/lsp/frame"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

func TestLife(t *testing.T) {
	bubble(t, Options{}, func(e *editor) {
		e.refused(e.ask(protocol.MethodTextDocumentFormatting, nil, nil), codeNotInitialized)
		e.tell(protocol.MethodTextDocumentDidOpen, nil) // passed over
		e.start(t.TempDir(), struct{}{})
		e.refused(e.ask(protocol.MethodInitialize, map[string]any{"capabilities": struct{}{}}, nil), codeInvalidRequest)
		e.refused(e.ask("concerto/nothing", nil, nil), codeMethodNotFound)
		e.tell("concerto/nothing", nil)
		e.refused(e.ask(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": 5}, nil), codeInvalidParams)
		e.refused(e.ask(protocol.MethodTextDocumentFormatting, map[string]any{"textDocument": struct{}{}, "options": struct{}{}}, nil), codeInvalidParams)
		e.refused(e.ask(protocol.MethodTextDocumentFormatting, []int{1}, nil), codeInvalidParams)
		e.raw(string(frame.Of([]byte("{no json"))))
		e.refused(e.await(null), codeParse)
		e.raw(string(frame.Of([]byte("[]"))))
		e.refused(e.await(null), codeInvalidRequest)
		e.raw(string(frame.Of([]byte(`{"id": {}, "method": "x"}`))))
		e.refused(e.await(null), codeInvalidRequest)
		if m := e.ask(protocol.MethodShutdown, nil, nil); string(m.Result) != "null" {
			t.Errorf("shutdown gives %s", m.Result)
		}
		e.refused(e.ask(protocol.MethodShutdown, nil, nil), codeInvalidRequest)
		e.refused(e.ask(protocol.MethodTextDocumentFormatting, nil, nil), codeInvalidRequest)
		e.tell(protocol.MethodExit, nil)
		if code := <-e.code; code != 0 || e.stderr.Len() > 0 {
			t.Errorf("it ends with %d and says %q", code, e.stderr.String())
		}
	})
}

// If a client disconnects without exit, the server exits with 1; it reports an invalid frame.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		play func(e *editor)
		says string
	}{
		"exit without shutdown": {func(e *editor) { e.tell(protocol.MethodExit, nil) }, ""},
		"end of input":          {func(e *editor) { e.in.Close() }, ""},
		"within a header":       {func(e *editor) { e.raw("Content-Len"); e.in.Close() }, "concerto lsp: read from the client: unexpected EOF\n"},
		"within a message":      {func(e *editor) { e.raw("Content-Length: 10\r\n\r\n{}"); e.in.Close() }, "concerto lsp: read from the client: unexpected EOF\n"},
		"no length":             {func(e *editor) { e.raw("Content-Type: x\r\n\r\n{}") }, "concerto lsp: a header has no Content-Length\n"},
		"no number":             {func(e *editor) { e.raw("Content-Length: -3\r\n\r\n{}") }, "concerto lsp: \"-3\" is no length: Content-Length is the number of bytes that follow\n"},
		"no header":             {func(e *editor) { e.raw("hello\r\n") }, "concerto lsp: \"hello\" is no header; a message begins with `Content-Length: N`\n"},
		"too long":              {func(e *editor) { e.raw("content-length: 67108865\r\n\r\n") }, "concerto lsp: a message of 67108865 bytes is announced; 67108864 are the most\n"},
		"an endless header":     {func(e *editor) { go e.in.Write([]byte(strings.Repeat("x", 2*frame.MostHeader))) }, "concerto lsp: a header is longer than 8192 bytes; a message begins with `Content-Length: N`\n"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Options{}, func(e *editor) {
				c.play(e)
				if code := <-e.code; code != 1 || e.stderr.String() != c.says {
					t.Errorf("it ends with %d and says %q, want %q", code, e.stderr.String(), c.says)
				}
			})
		})
	}
}

// The server checks every second whether its client's process exists.
func TestClientGone(t *testing.T) {
	gone := make(chan struct{})
	bubble(t, Options{Alive: func(pid int) bool {
		select {
		case <-gone:
			return pid != 77
		default:
			return true
		}
	}}, func(e *editor) {
		e.ask(protocol.MethodInitialize, map[string]any{"processId": 77, "rootUri": nil, "capabilities": struct{}{}}, nil)
		time.Sleep(10 * time.Second)
		close(gone)
		began := time.Now()
		if code := <-e.code; code != 1 || time.Since(began) > time.Second {
			t.Errorf("it ends with %d after %v", code, time.Since(began))
		}
	})
}

// Unexpected responses and unusual ids are harmless.
func TestOddAnswers(t *testing.T) {
	bubble(t, Options{}, func(e *editor) {
		e.start(t.TempDir(), struct{}{})
		e.raw(string(frame.Of([]byte(`{"id": 5, "result": 1}`))))
		e.raw(string(frame.Of([]byte(`{"id": null, "error": {"code": 1, "message": "x"}}`))))
		e.refused(e.ask("x", nil, nil), codeMethodNotFound)
		synctest.Wait()
	})
}
