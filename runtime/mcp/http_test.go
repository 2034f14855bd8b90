package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// TestProgressInStream checks that progress notifications are found in an event stream, and that
// the SDK receives its events, however the stream is split into reads and its lines end.
func TestProgressInStream(t *testing.T) {
	const notification = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-7","progress":1,"message":"half"}}`
	text := "\xef\xbb\xbfevent: message\ndata: " + notification + "\n\ndata:" + strings.Repeat("x", 100_000) + "notifications/progress\n\ndata:\n\n" +
		": alive\n\nid: 5\ndata:\n\ndata: {\"method\":\"notifications/progress\"\ndata: ,\"a\":1}\r\n\r\n" +
		"data: " + strings.Replace(notification, "call-7", "call-8", 1) + "\r\rdata: " + strings.Replace(notification, `"progress":1`, `"progress":2`, 1) + "\n: the end is cut"
	want := "event: message\ndata: " + notification + "\n\ndata: " + strings.Repeat("x", 100_000) + "notifications/progress\n\n\nid: 5\n\n" +
		"data: {\"method\":\"notifications/progress\"\ndata: ,\"a\":1}\n\n" +
		"data: " + strings.Replace(notification, "call-7", "call-8", 1) + "\n\ndata: " + strings.Replace(notification, `"progress":1`, `"progress":2`, 1) + "\n\n"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)),
		"by halves": iotest.HalfReader(strings.NewReader(text))} {
		t.Run(name, func(t *testing.T) {
			s := &server{config: mcpport.Config{Name: "S"}}
			c, _ := newCall(t.Context(), 7, s, &effect.MCPOpen{Tool: "t"})
			defer c.clock.stopClock()
			s.registerCall(c)
			got, err := io.ReadAll(exactEvents(io.NopCloser(r), s.handleNotification))
			if err != nil || string(got) != want {
				t.Errorf("the stream is %q (error %v), want %q", got, err, want)
			}
			var seen []string
			for _, e := range c.events {
				seen = append(seen, string(e.Data))
			}
			want := `{"message":"half","progress":1,"server":"S","tool":"t"} {"message":"half","progress":2,"server":"S","tool":"t"}`
			if strings.Join(seen, " ") != want {
				t.Errorf("delivered progress = %s", seen)
			}
		})
	}
}

// TestRefusedRedirection checks that a server cannot redirect to an address that the run may not
// call.
func TestRefusedRedirection(t *testing.T) {
	far := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the target of the redirect was called") }))
	defer far.Close()
	near := httptest.NewServer(http.RedirectHandler(far.URL, http.StatusTemporaryRedirect))
	defer near.Close()
	refused := func(address string) string {
		if strings.HasPrefix(address, far.URL) {
			return "calling it is not permitted"
		}
		return ""
	}
	s := newServers(mcpport.Options{Configs: []mcpport.Config{{Name: "S", Transport: "http", URL: near.URL}}, Refused: refused})
	defer s.Close(t.Context())
	opened, err := s.Perform(t.Context(), &effect.MCPOpen{Server: "S", Tool: "t"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Perform(t.Context(), &effect.MCPNext{ID: opened.(*effect.MCPOpened).ID})
	if err == nil || !strings.Contains(err.Error(), "calling it is not permitted") {
		t.Error(err)
	}
}

// TestEndlessErrors checks that only the first part of an error's body is read, whatever its type.
func TestEndlessErrors(t *testing.T) {
	for _, kind := range []string{"text/plain", "application/json", "text/event-stream"} {
		endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(http.StatusInternalServerError)
			part := []byte(strings.Repeat("data: "+strings.Repeat("x", 4000)+"\n\n", 100))
			for sent := 0; sent < 32*maxErrorBody; sent += len(part) {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endless.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := headerTransport{server: &server{}}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if len(body) == 0 || len(body) > maxErrorBody+10 { // events are written in another form
			t.Errorf("%s: %d bytes of the body were read, want at most %d", kind, len(body), maxErrorBody)
		}
		_ = resp.Body.Close()
		endless.Close()
	}
}
