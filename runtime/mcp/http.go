package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// httpClient returns a client that adds the manifest's headers to each request.
func (s *server) httpClient(login *access) (*http.Client, error) {
	u, err := url.Parse(s.config.URL)
	if err != nil {
		return nil, err
	}
	headers := http.Header{}
	for name, v := range s.config.Headers {
		headers.Set(name, v)
	}
	for name, variable := range s.config.HeadersEnv {
		v, ok := procgroup.LookupEnv(s.options.Environ, variable)
		if !ok {
			return nil, fmt.Errorf("environment variable %s, which contains the header %s, is not set", variable, name)
		}
		headers.Set(name, v)
	}
	return &http.Client{Transport: headerTransport{server: s, headers: headers, own: u, login: login}}, nil
}

// headerTransport is an http.RoundTripper that adds the headers of one server.
type headerTransport struct {
	server  *server
	headers http.Header
	own     *url.URL
	login   *access // nil if only headers give access
	asking  bool    // a person logs in, so no status is an error
}

// maxErrorBody is the number of bytes that are read of a response with an error status.
const maxErrorBody = 256 << 10

// statusError is the error for a response with status 401 or 403.
type statusError struct {
	status int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("it returned status %d %s: check the credentials in `headers_env`", e.status, http.StatusText(e.status))
}

func (x headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if refusal := x.server.options.Refused; refusal != nil {
		if why := refusal(r.URL.String()); why != "" {
			return nil, errors.New(why)
		}
	}
	r = r.Clone(r.Context())
	if x.own == nil || r.URL.Host != x.own.Host || r.URL.Scheme != x.own.Scheme {
		r.Header.Del("Authorization") // a request that was redirected elsewhere must not contain the secrets
	} else {
		for name, v := range x.headers {
			r.Header[name] = v
		}
		effect.SetTraceHeaders(r.Context(), r.Header)
	}
	if c, ok := r.Context().Value(callKey{}).(*call); ok && r.Method == http.MethodPost && r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			c.setRequestID(body)
			_ = body.Close()
		}
	}
	r, err := exactRequest(r)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := x.checkStatus(r, resp.StatusCode); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		if c, ok := r.Context().Value(callKey{}).(*call); ok && r.Method == http.MethodPost {
			c.unseen.Store(true)
		}
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 { // the SDK reads the whole body
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	}
	switch kind := resp.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "text/event-stream"):
		// Notifications are handled when they are read; progressTransport explains the reason.
		resp.Body = exactEvents(resp.Body, x.server.handleNotification)
	case strings.HasPrefix(kind, "application/json"):
		resp.Body, resp.ContentLength = exactBody(resp.Body), -1
	}
	return resp, nil
}

// checkStatus returns the error for a response that refuses the request's credentials. Responses
// for which the login can get other credentials are no error.
func (x headerTransport) checkStatus(r *http.Request, status int) error {
	switch {
	case x.asking:
		return nil
	case x.login != nil:
		return x.login.checkStatus(r, status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &statusError{status}
	}
	return nil
}

// exactRequest restores the numbers in the body of a request that answers the server.
func exactRequest(r *http.Request) (*http.Request, error) {
	if r.GetBody == nil {
		return r, nil
	}
	in, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(in)
	if err != nil || !bytes.Contains(body, []byte(numberMark())) {
		return r, err
	}
	body = exactOut(body)
	r = r.Clone(r.Context())
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody() // cannot fail
	r.ContentLength = int64(len(body))
	return r, nil
}

// setRequestID sets the id of the JSON-RPC request in a body.
func (c *call) setRequestID(body io.Reader) {
	data, err := io.ReadAll(body)
	if err != nil {
		return
	}
	if m, err := jsonrpc.DecodeMessage(data); err == nil {
		c.storeRequestID(m)
	}
}

// handleNotification delivers the notification that an event's data contains. It ignores other
// data.
func (s *server) handleNotification(data []byte) {
	if !slices.ContainsFunc([]string{progressed, visited, relisted}, func(method string) bool { return bytes.Contains(data, []byte(method)) }) {
		return
	}
	var m struct {
		Method string
		Params json.RawMessage
	}
	if json.Unmarshal(data, &m) == nil {
		s.deliver(m.Method, m.Params)
	}
}
