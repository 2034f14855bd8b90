package llm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/agents/modelserver"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// open opens a stream. next returns its next piece, and end closes it.
func open(t *testing.T, c *Client) (next func(context.Context) (*effect.StreamPiece, error), end func()) {
	t.Helper()
	r, err := c.Perform(t.Context(), &effect.StreamOpen{AgentCall: effect.AgentCall{Agent: "A", Connection: "main",
		Messages: []effect.ChatMessage{{Role: "user", Content: "hello"}}}})
	if err != nil {
		t.Fatal(err)
	}
	id := r.(*effect.StreamOpened).ID
	next = func(ctx context.Context) (*effect.StreamPiece, error) {
		r, err := c.Perform(ctx, &effect.StreamNext{ID: id})
		p, _ := r.(*effect.StreamPiece)
		return p, err
	}
	return next, func() {
		if _, err := c.Perform(t.Context(), &effect.StreamClose{ID: id}); err != nil {
			t.Error(err)
		}
	}
}

// twoPieces is the number of events of a stream up to its second piece of text, by provider.
var twoPieces = map[string]int{"openai": 3, "anthropic": 5, "gemini": 2, "ollama": 2, "azure": 4, "responses": 4, "azure chat": 3, "vertex": 2, "bedrock": 3}

// TestStreamClosed closes a stream in the middle of the reply. The request must be aborted.
func TestStreamClosed(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Text: "a b c d", StreamEnd: modelserver.StreamEnd{HangAfter: twoPieces[provider]}})
		c, _ := client(t, conn)
		next, end := open(t, c)
		if p, err := next(t.Context()); err != nil || !strings.HasPrefix("a b c d", p.Text) {
			t.Fatal(p, err)
		}
		end()
		<-s.Disconnected
		end() // the stream is already closed
		if _, err := next(t.Context()); err == nil || err.Error() != "llm: there is no stream 1" {
			t.Error(err)
		}
	})
}

// TestStreamWaitEnds ends the context of a wait for the next piece. The wait must end, and the
// stream must continue.
func TestStreamWaitEnds(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Hang: true})
	c, _ := client(t, conn)
	next, end := open(t, c)
	<-s.Arrived
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, err := next(ctx); err != stop {
		t.Error(err)
	}
	end()
	<-s.Disconnected
}

// TestCloseEndsStreams checks that closing the client closes its open streams.
func TestCloseEndsStreams(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Hang: true})
	c := New(Config{Connections: []Connection{conn}, Getenv: func(string) (string, bool) { return key, true }})
	open(t, c)
	<-s.Arrived
	c.Close()
	<-s.Disconnected
}

// TestCutStream breaks off a streamed response. The text so far must be returned, followed by the
// error. There must be no retry, because a part of the reply was already passed on.
func TestCutStream(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Text: "a b c d", StreamEnd: modelserver.StreamEnd{CutAfter: twoPieces[provider]}})
		conn.Retry = &effect.Retry{MaxAttempts: 3}
		conn.Fallback = []string{"other"}
		c, _ := client(t, conn, Connection{Name: "other", Provider: "scripted"})
		text, _, err := streamed(t.Context(), c, effect.AgentCall{})
		e := agentError(t, err)
		if text != "a b " || e.Fields["reason"] != "connection" || e.Fields["retryable"] != false || len(s.Requests()) != 1 {
			t.Errorf("text = %q, error = %s, fields = %v after %d requests; want \"a b \" and a connection error without a retry", text, e.Message, e.Fields, len(s.Requests()))
		}
		if !strings.HasSuffix(e.Message, "closed the connection before the response was complete") {
			t.Error(e.Message)
		}
	})
}

// TestStreamRetries checks that a streamed call that fails before its first piece is retried like
// any call.
func TestStreamRetries(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Status: 500}, modelserver.Reply{Text: "x", StreamEnd: modelserver.StreamEnd{CutAfter: 1}}, modelserver.Reply{Text: "good"})
	conn.Retry = &effect.Retry{MaxAttempts: 3}
	c, _ := client(t, conn)
	if text, got, err := streamed(t.Context(), c, effect.AgentCall{}); err != nil || text != "good" || got.Text != "good" || len(s.Requests()) != 3 {
		t.Error(text, got, err)
	}
}

// TestUnstreamedStream checks that a complete response to a streaming request is accepted. Servers
// that do not stream send one.
func TestUnstreamedStream(t *testing.T) {
	raw := `{"choices":[{"message":{"content":"all at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	_, conn := server(t, "openai", modelserver.Reply{Raw: &raw, Headers: map[string]string{"Content-Type": "application/json; charset=utf-8"}})
	c, _ := client(t, conn)
	text, got, err := streamed(t.Context(), c, effect.AgentCall{})
	if err != nil || text != "all at once" || got.TokensOut != 2 {
		t.Error(text, got, err)
	}
}

// TestErrorsInStreams checks the errors for error events in the middle of a stream, for each
// provider.
func TestErrorsInStreams(t *testing.T) {
	for name, c := range map[string]struct {
		provider, raw, want string
		class               Class
	}{
		"anthropic": {"anthropic", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			"the provider returned an error: Overloaded", ClassOverloaded},
		"openai":  {"openai", "data: {\"error\":{\"message\":\"boom\",\"code\":\"rate_limit_exceeded\"}}\n\n", "the provider returned an error: boom", ClassRate},
		"ollama":  {"ollama", "{\"error\":\"out of memory\"}\n", "the provider returned an error: out of memory", ClassServer},
		"gemini":  {"gemini", "data: {\"error\":{\"message\":\"boom\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n", "the provider returned an error: boom", ClassOverloaded},
		"no JSON": {"openai", "data: oops\n\n", "the provider returned text that is not JSON: oops (check", ClassBadAnswer},
		"HTML":    {"ollama", "<html>\n", "the provider returned HTML instead of JSON: <html> (check", ClassBadAnswer},
		"empty":   {"openai", "", "the provider returned an empty body (check", ClassBadAnswer},
		"tool call out of order": {"openai", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":3}]}}]}\n\n",
			"the provider's response continues a tool call that has not begun (check", ClassBadAnswer},
		"part out of order": {"anthropic", "data: {\"type\":\"content_block_delta\",\"index\":1}\n\n",
			"the provider's response continues part 1, which has not begun (check", ClassBadAnswer},
	} {
		_, conn := server(t, c.provider, modelserver.Reply{Raw: &c.raw, Headers: map[string]string{"Content-Type": "text/event-stream"}})
		cl, _ := client(t, conn)
		_, _, err := streamed(t.Context(), cl, effect.AgentCall{})
		e := agentError(t, err)
		if !strings.Contains(e.Message, c.want) || e.Fields["reason"] != string(c.class) {
			t.Errorf("%s: error %s with fields %v, want %q", name, e.Message, e.Fields, c.want)
		}
	}
}

// TestHTMLStream checks that an HTML page instead of a stream is recognised by its content type.
func TestHTMLStream(t *testing.T) {
	raw := "<!doctype html>\n\n<p>Sign in</p>"
	_, conn := server(t, "openai", modelserver.Reply{Raw: &raw, Headers: map[string]string{"Content-Type": "text/html"}})
	c, _ := client(t, conn)
	_, _, err := streamed(t.Context(), c, effect.AgentCall{})
	if e := agentError(t, err); !strings.Contains(e.Message, "HTML instead of JSON: <!doctype html>") {
		t.Error(e.Message)
	}
}

// TestEndlessStream checks that an endless stream is ended by the timeout of the call or by the
// limit on its size. If the program reads slowly, the provider must wait, and the unread text must
// not use much memory.
func TestEndlessStream(t *testing.T) {
	randtest.RacedElsewhere(t)
	for _, provider := range []string{"openai", "ollama"} { // one of each framing
		s, conn := server(t, provider, modelserver.Reply{Text: strings.Repeat("x", 100_000), StreamEnd: modelserver.StreamEnd{Endless: true}})
		c, _ := client(t, conn)
		text, _, err := streamed(t.Context(), c, effect.AgentCall{})
		e := agentError(t, err)
		if len(text) < 16<<20 || len(text) > maxAnswer || !strings.HasSuffix(e.Message, "the response is longer than 33554432 bytes (request less, or set max_tokens)") {
			t.Errorf("got %d bytes and error %s, want the error of a too long response", len(text), e.Message)
		}
		<-s.Disconnected
	}
}

func TestSlowReader(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Text: strings.Repeat("x", 100_000), StreamEnd: modelserver.StreamEnd{Endless: true}})
	c, _ := client(t, conn)
	next, end := open(t, c)
	if _, err := next(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The stream's goroutine blocks after it has stored a piece beyond the limit.
	str := c.streams.get(1)
	for full := false; !full; {
		str.mu.Lock()
		full = str.size >= maxWaiting
		str.mu.Unlock()
		if !full {
			<-str.more
		}
	}
	str.mu.Lock()
	if n := str.size; n > maxWaiting+200_000 {
		t.Errorf("%d unread bytes are stored, want about maxWaiting at most", n)
	}
	str.mu.Unlock()
	end()
	<-s.Disconnected
}

// TestSilentStream checks that a silent stream and a stream that arrives byte by byte end with the
// timeout. The error must contain the number of bytes that arrived.
func TestSilentStream(t *testing.T) {
	eachRemote(t, func(t *testing.T, provider string) {
		s, conn := server(t, provider, modelserver.Reply{Text: "a b c", StreamEnd: modelserver.StreamEnd{HangAfter: 3}, Chunk: 1})
		conn.Timeout = 0.4
		c, _ := client(t, conn)
		_, _, err := streamed(t.Context(), c, effect.AgentCall{})
		e := agentError(t, err)
		if !strings.HasPrefix(e.Message, "agent 'A' timed out after 0.4 seconds (connection 'main', model m); ") ||
			!strings.HasSuffix(e.Message, " bytes of the response had arrived: raise the timeout, or request less") || e.Fields["reason"] != "timeout" {
			t.Error(e.Message)
		}
		<-s.Disconnected
	})
}

// TestFirstTokenTimeout checks that the next connection is called if a reply does not begin in
// time, even if the reply is not streamed to the program.
func TestFirstTokenTimeout(t *testing.T) {
	s, conn := server(t, "openai", modelserver.Reply{Hang: true, Repeat: true})
	conn.FirstTokenTimeout = 0.05
	alone := conn
	alone.Name = "alone"
	conn.Fallback = []string{"other"}
	c, _ := client(t, conn, alone, Connection{Name: "other", Provider: "scripted"})
	got, err := ask(c, effect.AgentCall{})
	wantReply(t, got, err, &effect.AgentReply{Text: "scripted reply to: hello", TokensIn: 2, TokensOut: 6, Model: "scripted", Provider: "other", StopReason: "end"})
	aborted(s)
	_, err = ask(c, effect.AgentCall{Connection: "alone"})
	e := agentError(t, err)
	if want := "agent 'A' (connection 'alone', model m): the reply did not start within 0.05 seconds (raise first_token_timeout, or give the connection a fallback)"; e.Message != want {
		t.Error(e.Message)
	}
	if d := cmp.Diff(map[string]any{"model": "m", "provider": "alone", "reason": "timeout", "retryable": true}, e.Fields); d != "" {
		t.Error(d)
	}
}

// TestFirstTokenInTime checks that the first-token timeout does not end a reply that has begun in
// time.
func TestFirstTokenInTime(t *testing.T) {
	_, conn := server(t, "openai", modelserver.Reply{Text: "x y", Chunk: 1})
	conn.FirstTokenTimeout = 60
	c, _ := client(t, conn)
	if got, err := ask(c, effect.AgentCall{}); err != nil || got.Text != "x y" {
		t.Error(got, err)
	}
}

// TestBigReply checks that a reply of ten megabytes is read completely.
func TestBigReply(t *testing.T) {
	randtest.RacedElsewhere(t)
	eachRemote(t, func(t *testing.T, provider string) {
		_, conn := server(t, provider, modelserver.Reply{Big: 10 << 20, Repeat: true})
		c, _ := client(t, conn)
		got, err := ask(c, effect.AgentCall{})
		if err != nil || len(got.Text) != 10<<20/10*10 {
			t.Error(err)
		}
	})
}

// TestScriptedStream checks that scripted streams arrive word by word, and use the replies in the
// order of the script.
func TestScriptedStream(t *testing.T) {
	c, _ := script(t, `[{"text": "one two"}, {"error": {"status": 500}}]`)
	next, _ := open(t, c)
	var text strings.Builder
	for {
		p, err := next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(p.Text)
		if p.Reply != nil {
			break
		}
	}
	if text.String() != "one two" {
		t.Error(text.String())
	}
	_, _, err := streamed(t.Context(), c, effect.AgentCall{})
	if e := agentError(t, err); e.Fields["status"] != int64(500) {
		t.Error(e)
	}
}

// TestStreamOfUnknownConnection checks that the first wait for a piece reports an unknown
// connection.
func TestStreamOfUnknownConnection(t *testing.T) {
	c, _ := client(t)
	_, _, err := streamed(t.Context(), c, effect.AgentCall{})
	if e := agentError(t, err); e.Fields["reason"] != "config" {
		t.Error(e)
	}
}
