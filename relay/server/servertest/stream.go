package servertest

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Stream is a stream of server-sent events.
type Stream struct {
	Header http.Header
	t      testing.TB
	lines  *bufio.Scanner
}

// Stream opens a stream as a viewer. last is the value of the header Last-Event-ID; "" means none.
func (r *Relay) Stream(path, last string) *Stream {
	r.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, nil)
	if err != nil {
		r.T.Fatal(err)
	}
	q.Header.Set("Accept", "text/event-stream")
	q.Header.Set("Authorization", "Bearer "+Viewer)
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil || a.StatusCode != http.StatusOK {
		r.T.Fatalf("response = %v, error = %v", a, err)
	}
	r.T.Cleanup(func() { cancel(); _ = a.Body.Close() })
	s := &Stream{Header: a.Header, t: r.T, lines: bufio.NewScanner(a.Body)}
	s.lines.Buffer(nil, 2*protocol.MaxFrame)
	return s
}

// Event returns the next event.
func (s *Stream) Event() (id, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case line == "" && data != "":
			return id, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return "", ""
}

// Comment waits for the next comment.
func (s *Stream) Comment() {
	s.t.Helper()
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), ":") {
			return
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
}
