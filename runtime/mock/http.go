package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/effect"
)

// web is what a test scripts of HTTP: the answers to a URL's requests in turn.
type web struct {
	answers  map[string][]*httpAnswer
	given    map[*effect.HTTP]*httpAnswer // taken by requests that wait for their time
	requests []httpRequest
}

func newWeb() web {
	return web{answers: map[string][]*httpAnswer{}, given: map[*effect.HTTP]*httpAnswer{}}
}

// take gives the answer to a request, nil when there is none. Asked again for
// the same request it gives the same.
func (b *web) take(r *effect.HTTP) *httpAnswer {
	a, ok := b.given[r]
	if queue := b.answers[r.URL]; !ok && len(queue) > 0 {
		a, b.answers[r.URL] = queue[0], queue[1:]
		b.given[r] = a
	}
	return a
}

// httpRequest is a request of the test, as test_requests shows it.
type httpRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body"`
}

type httpAnswer struct {
	response effect.HTTPResponse
	err      string // the request fails instead
	delayMS  int64
	raw      json.RawMessage
}

// mockHTTP adds an answer: a String is the body of a 200; a Map has status,
// headers, body (a String, or anything as JSON), delay_ms, or error.
func (w *World) mockHTTP(r *effect.MockHTTP) error {
	what := "the answer of " + r.URL
	a := &httpAnswer{raw: r.Answer, response: effect.HTTPResponse{Status: 200}}
	if s, ok := text(r.Answer); ok {
		a.response.Body = s
		w.web.answers[r.URL] = append(w.web.answers[r.URL], a)
		return nil
	}
	if len(r.Answer) == 0 || r.Answer[0] != '{' {
		return bad("%s is neither a String nor a Map", what)
	}
	m, err := fields(what, r.Answer, "status", "headers", "body", "delay_ms", "error")
	if err != nil {
		return err
	}
	headers := map[string]string{}
	for name, to := range map[string]any{"status": &a.response.Status, "headers": &headers, "delay_ms": &a.delayMS, "error": &a.err} {
		if v := m[name]; v != nil && json.Unmarshal(v, to) != nil {
			return bad("%s: `%s` cannot be %s", what, name, v)
		}
	}
	if body, given := m["body"]; given {
		var plain bool
		if a.response.Body, plain = text(body); !plain {
			a.response.Body = string(body)
			headers["content-type"] = "application/json"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		a.response.Headers = append(a.response.Headers, effect.Header{Name: strings.ToLower(name), Value: headers[name]})
	}
	w.web.answers[r.URL] = append(w.web.answers[r.URL], a)
	return nil
}

// request answers an HTTP request of the test.
func (w *World) request(ctx context.Context, r *effect.HTTP, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	q := httpRequest{Method: r.Method, URL: r.URL, Headers: map[string]string{}, Body: r.Body}
	for _, h := range r.Headers {
		q.Headers[h.Name] = h.Value
	}
	w.web.requests = append(w.web.requests, q)
	a := w.web.take(r)
	delete(w.web.given, r)
	w.mu.Unlock()
	switch {
	case a == nil && w.options.Live:
		return next.Perform(ctx, r)
	case a == nil:
		return nil, &Missing{What: r.Method + " " + r.URL, Mock: fmt.Sprintf("mock_http(%q, …)", r.URL)}
	case a.err != "":
		return nil, effect.Errorf("HttpError", "%s %s: %s", r.Method, r.URL, a.err).With("url", r.URL)
	case a.delayMS > r.Timeout:
		return nil, effect.Errorf("HttpError", "%s %s: no answer within %d ms", r.Method, r.URL, r.Timeout).With("url", r.URL)
	}
	response := a.response
	return &response, nil
}

// pause is how long the answer to a request takes.
func (b *web) pause(r *effect.HTTP) int64 {
	if a := b.take(r); a != nil {
		return min(a.delayMS, r.Timeout)
	}
	return 0
}

// leftovers says what was scripted and not used.
func (b *web) leftovers() []string {
	var out []string
	for _, url := range slices.Sorted(maps.Keys(b.answers)) {
		if q := b.answers[url]; len(q) > 0 {
			out = append(out, fmt.Sprintf("mock_http(%q, …) has %s left that no request asked for; the next is %s", url, plural(len(q), "answer"), q[0].raw))
		}
	}
	return out
}
