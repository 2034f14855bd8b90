package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestProgressInStream checks that progress notifications are found in an event stream, however the
// stream is split into reads.
func TestProgressInStream(t *testing.T) {
	const notification = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-7","progress":1,"message":"half"}}`
	text := "event: message\ndata: " + notification + "\n\ndata:" + strings.Repeat("x", 2*maxNotification) + "notifications/progress\n\n" +
		"data: {\"method\":\"notifications/progress\"\ndata: {\"result\":\"notifications/progress\"}\r\ndata: " +
		strings.Replace(notification, "call-7", "call-8", 1) + "\r\n\ndata: " + strings.Replace(notification, `"progress":1`, `"progress":2`, 1) + "\n: the end is cut"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)),
		"by halves": iotest.HalfReader(strings.NewReader(text))} {
		t.Run(name, func(t *testing.T) {
			s := &server{config: Config{Name: "S"}}
			c, _ := newCall(t.Context(), 7, s, &effect.MCPOpen{Tool: "t"})
			defer c.clock.stopClock()
			s.registerCall(c)
			got, err := io.ReadAll(&progressStream{ReadCloser: io.NopCloser(r), server: s})
			if err != nil || string(got) != text {
				t.Errorf("the stream returned other bytes (error %v)", err)
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
	s := New(Options{Configs: []Config{{Name: "S", Transport: "http", URL: near.URL}}, Refused: refused})
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
