package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// httpClient returns a client that adds the manifest's headers to each request.
func (s *server) httpClient() (*http.Client, error) {
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
	return &http.Client{Transport: headerTransport{s, headers, u.Host}}, nil
}

// headerTransport is an http.RoundTripper that adds the headers of one server.
type headerTransport struct {
	server  *server
	headers http.Header
	host    string
}

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
	if r.URL.Host == x.host { // a request that was redirected to another host must not contain the secrets
		r = r.Clone(r.Context())
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
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		_ = resp.Body.Close()
		return nil, &statusError{resp.StatusCode}
	case http.StatusNotFound:
		if c, ok := r.Context().Value(callKey{}).(*call); ok && r.Method == http.MethodPost {
			c.unseen.Store(true)
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &progressStream{ReadCloser: resp.Body, server: x.server}
	}
	return resp, nil
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

// progressStream is an event stream. It handles progress notifications when they are read, like tap
// does; progressTransport explains the reason.
type progressStream struct {
	io.ReadCloser
	server *server
	line   []byte // the part of the current line that was read so far
	skip   bool   // the current line is too long for a notification
}

// maxNotification is the maximum length, in bytes, of the line of a progress notification.
const maxNotification = 64 << 10

func (o *progressStream) Read(b []byte) (int, error) {
	n, err := o.ReadCloser.Read(b)
	for rest := b[:n]; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		if o.skip = o.skip || len(o.line)+len(part) > maxNotification; !o.skip {
			o.line = append(o.line, part...)
		}
		if whole {
			if data, ok := bytes.CutPrefix(o.line, []byte("data:")); ok && !o.skip {
				o.server.handleProgress(data)
			}
			o.line, o.skip = o.line[:0], false
		}
		rest = after
	}
	return n, err
}

// handleProgress delivers the progress notification that an event's data contains. It ignores other
// data.
func (s *server) handleProgress(data []byte) {
	if !bytes.Contains(data, []byte("notifications/progress")) {
		return
	}
	var m struct {
		Method string
		Params sdk.ProgressNotificationParams
	}
	if json.Unmarshal(data, &m) == nil && m.Method == "notifications/progress" {
		s.deliverProgress(&m.Params)
	}
}
