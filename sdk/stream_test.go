package sdk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// printed returns the notification of a session's event as JSON.
func printed(seq int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/event","params":{"session_id":"s1","seq":%d,"ts":"2026-01-01T00:00:00Z","type":"print","text":%q}}`, seq, text)
}

// stateOf returns the notification of the last event of a session.
func stateOf(seq int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/event","params":{"session_id":"s1","seq":%d,"ts":"2026-01-01T00:00:00Z","type":"state","state":"done"}}`, seq)
}

// streamOf returns a stream of events whose lines end with nl.
func streamOf(nl string, lines ...string) string { return strings.Join(append(lines, ""), nl) }

// eventServer plays a server whose streams of events are bytes. Each connection receives the next
// one of them in chunks of size bytes, and then ends.
type eventServer struct {
	*httptest.Server
	size    int
	streams []string

	mu    sync.Mutex
	after []string // Last-Event-ID of each connection
}

func newEventServer(t *testing.T, size int, streams ...string) *eventServer {
	s := &eventServer{size: size, streams: streams}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		result := `{}`
		if q.Method == "initialize" {
			result = `{"client_id":"c_1","cursor":0}`
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
	})
	mux.HandleFunc("GET /events", s.events)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *eventServer) events(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.after)
	s.after = append(s.after, r.Header.Get("Last-Event-ID"))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	stream := ""
	if n < len(s.streams) {
		stream = s.streams[n]
	}
	for len(stream) > 0 {
		k := min(s.size, len(stream))
		if _, err := w.Write([]byte(stream[:k])); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
		stream = stream[k:]
	}
	if n+1 >= len(s.streams) { // the client has everything, and ends the connection
		<-r.Context().Done()
	}
}

// TestEventStreams checks that an application reads server-sent events in every form that their
// specification allows, in chunks that end at any byte, and that an event without its blank line is
// not counted as received.
func TestEventStreams(t *testing.T) {
	all := []string{`[1,"print","é€😀"]`, `[2,"print","two\nlines"]`, `[3,"state",null]`}
	cut := func(nl string) []string {
		return []string{
			streamOf(nl, "id:1", "data:"+printed(1, "é€😀"), "", "id: 2", "data: "+printed(2, "lost")[:40]),
			streamOf(nl, "id: 2", "data: "+printed(2, "two\nlines"), "", "data: "+stateOf(3), "id: 3", ""),
		}
	}
	usual := func(nl string) []string {
		return []string{streamOf(nl, ": here", "", "id: 1", "data: "+printed(1, "é€😀"), "", ":", "retry: 10", "event: message", "data:"+printed(2, "two\nlines"),
			"id:2", "", "event", "", "data: "+stateOf(3), "id: 3", "unknown", "")}
	}
	head, tail, _ := strings.Cut(printed(2, "two\nlines"), `"params":`)
	cases := []struct {
		name    string
		streams []string
		after   []string // Last-Event-ID of each connection
	}{
		{"LF", usual("\n"), []string{"0"}},
		{"CRLF", usual("\r\n"), []string{"0"}},
		{"CR", usual("\r"), []string{"0"}},
		{"mark", []string{"\ufeff" + usual("\n")[0]}, []string{"0"}},
		{"mixed", []string{"id:1\rdata: " + printed(1, "é€😀") + "\r\n\r:\r\r\ndata: " + head + "\ndata: \"params\":" + tail + "\r\n\ndata:" + stateOf(3) + "\n\r"}, []string{"0"}},
		{"cut LF", cut("\n"), []string{"0", "1"}},
		{"cut CRLF", cut("\r\n"), []string{"0", "1"}},
		{"cut CR", cut("\r"), []string{"0", "1"}},
		{"no blank line", []string{
			"id: 1\ndata: " + printed(1, "é€😀") + "\n\nid: 2\ndata: " + printed(2, "lost") + "\n",
			"id: 2\ndata: " + printed(2, "two\nlines") + "\n\nid: 3\ndata: " + stateOf(3) + "\n\n",
		}, []string{"0", "1"}},
	}
	kitsOn(t, []transport{network[0]}, func(t *testing.T, k kit, _ transport) {
		a := k.starts(t, nil, "streams")
		for _, c := range cases {
			for _, size := range []int{1, 2, 7, 1 << 20} {
				s := newEventServer(t, size, c.streams...)
				fmt.Fprintln(a.in, s.URL)
				for _, want := range all {
					if got := a.next(); got != want {
						t.Fatalf("%s in chunks of %d: event = %s, want %s\n%s", c.name, size, got, want, a.errs.String())
					}
				}
				s.mu.Lock()
				if diff := cmp.Diff(c.after, s.after); diff != "" {
					t.Errorf("%s in chunks of %d: Last-Event-ID of the connections (-want +got):\n%s", c.name, size, diff)
				}
				s.mu.Unlock()
			}
		}
		a.in.Close()
		a.rest()
	})
}
