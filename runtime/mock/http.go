package mock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// httpRequest is a recorded HTTP request of the test, in the form that test_requests returns.
type httpRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body"`
}

// answerTo returns the name of the queue that contains the answer to a request: the queue for its
// method and URL, or, if that queue is empty, the queue for its URL.
func (w *World) answerTo(r *effect.HTTP) string {
	if own := r.Method + " " + r.URL; len(w.web.queues[own]) > 0 {
		return own
	}
	return r.URL
}

// requestName returns the name of the queue for the argument of a mock, which is a URL, or a method
// and a URL.
func requestName(s string) (string, error) {
	method, url, ok := strings.Cut(s, " ")
	if !ok {
		return s, nil
	}
	letters := method != "" && strings.Trim(strings.ToUpper(method), "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == ""
	if url = strings.TrimSpace(url); !letters || url == "" || strings.Contains(url, " ") {
		return "", bad("mock_http takes a URL, or a method and a URL as in \"POST https://x.test/a\", not %q", s)
	}
	return strings.ToUpper(method) + " " + url, nil
}

// mockHTTP adds an answer to a queue. A String is the body of a response with status 200. A Map may
// contain status, headers, body (a String, or any value as JSON), delay_ms and error.
func (w *World) mockHTTP(r *effect.MockHTTP) error {
	what := "the answer of " + r.URL
	name, err := requestName(r.URL)
	if err != nil {
		return err
	}
	a := &scripted[effect.HTTPResponse]{raw: r.Answer, result: effect.HTTPResponse{Status: 200}}
	if s, ok := parseString(r.Answer); ok {
		a.result.Body = s
		w.web.addOutcome(name, a)
		return nil
	}
	headers := map[string]string{}
	m, err := a.parseOutcome(what, []string{"status", "headers", "body"}, map[string]any{"status": &a.result.Status, "headers": &headers})
	if err != nil {
		return err
	}
	if body, hasBody := m["body"]; hasBody {
		var plain bool
		if a.result.Body, plain = parseString(body); !plain {
			a.result.Body = string(body)
			headers["content-type"] = "application/json"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		a.result.Headers = append(a.result.Headers, effect.Header{Name: strings.ToLower(name), Value: headers[name]})
	}
	w.web.addOutcome(name, a)
	return nil
}

// answerHTTP answers an HTTP request of the test with the mock.
func (w *World) answerHTTP(ctx context.Context, r *effect.HTTP, next effect.Performer) (effect.Result, error) {
	w.mu.Lock()
	w.note(r)
	a := w.web.finalOutcome(r)
	w.mu.Unlock()
	switch {
	case a == nil:
		return w.performUnmocked(ctx, r, next, &Missing{What: r.Method + " " + r.URL, Mock: fmt.Sprintf("mock_http(%q, …)", r.URL)})
	case a.err != "":
		return nil, effect.Errorf("HttpError", "%s %s: %s", r.Method, r.URL, a.err).With("url", r.URL)
	case a.delayMS > r.Timeout:
		return nil, effect.Errorf("HttpError", "%s %s: no response within %d ms", r.Method, r.URL, r.Timeout).With("url", r.URL)
	}
	response := a.result
	return &response, nil
}
